/** The pages of the classifier: executions, projects, a new execution, and one execution. */
import { Route, Switch } from 'wouter'
import { NotFound } from '../../layout/not-found.tsx'
import { ExecutionPage } from './execution-page.tsx'
import { HomePage } from './home-page.tsx'
import { NewExecutionPage } from './new-execution-page.tsx'
import { paths } from './paths.ts'

export default function ClassifierPage() {
  return (
    <Switch>
      <Route path={paths.home}>
        <HomePage tab="executions" />
      </Route>
      <Route path={paths.projects}>
        <HomePage tab="projects" />
      </Route>
      <Route path={paths.create}>
        <NewExecutionPage />
      </Route>
      <Route path="/classificador/execucoes/:id">{({ id }) => <ExecutionPage key={id} id={id} />}</Route>
      <Route>
        <NotFound />
      </Route>
    </Switch>
  )
}
