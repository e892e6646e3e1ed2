/** The addresses of the planner: the list of its jobs, and one job. */
import { Route, Switch } from 'wouter'
import { PlannerJobView } from './planner-job-view.tsx'
import { PlannerJobs } from './planner-jobs.tsx'

export default function PlannerPage() {
  return (
    <Switch>
      <Route path="/planejador/:id">{({ id }) => <PlannerJobView id={id} />}</Route>
      <Route>
        <PlannerJobs />
      </Route>
    </Switch>
  )
}
