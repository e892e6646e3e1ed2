/** One job: what happened when, why it does not move, its failures, data, saved steps and log lines. */
import { ListChecks, Play, RotateCw } from 'lucide-react'
import { useState } from 'react'
import { Link, useParams } from 'wouter'
import type { Answer } from '../../api/client.ts'
import { useApi } from '../../api/query.ts'
import { useCan } from '../../api/session.ts'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { Explanation } from '../../components/explanation.tsx'
import { EmptyState, ErrorState, Skeleton } from '../../components/states.tsx'
import { type Tab, Tabs } from '../../components/tabs.tsx'
import { useMessages } from '../../i18n/messages.ts'
import { PageHeader } from '../../layout/page-header.tsx'
import { useFilters } from '../../lib/filters.ts'
import { Gantt } from './gantt.tsx'
import { JobCheckpoints } from './job-checkpoints.tsx'
import { JobData } from './job-data.tsx'
import { JobDialog } from './job-dialogs.tsx'
import { JobFailures } from './job-failures.tsx'
import { JobHeader } from './job-header.tsx'
import { JobLogs } from './job-logs.tsx'
import { actionsOf, isFinal, type JobActionName, type JobDetail } from './job-model.ts'
import { JobMoments } from './job-moments.tsx'
import { jobMessages } from './messages.ts'
import { useJob } from './use-job.ts'

const explainEveryMs = 5000
const tabNames = ['tab'] as const
const tabs = ['data', 'failures', 'checkpoints', 'logs', 'moments'] as const
type TabName = (typeof tabs)[number]

export default function JobPage() {
  const { id = '' } = useParams()
  const words = useMessages(jobMessages)
  const read = useJob(id)
  if (read.data !== undefined) return <Found key={id} job={read.data} />
  if (read.error === null) return <Skeleton lines={8} />
  if (read.error.status !== 404) return <ErrorState error={read.error} onRetry={() => void read.refetch()} />
  return (
    <>
      <PageHeader title={words.notFound} parent={{ href: '/jobs', name: words.title }} />
      <EmptyState
        icon={ListChecks}
        title={words.notFound}
        action={
          <Link href="/jobs" class="font-medium text-accent hover:underline">
            {words.backToList}
          </Link>
        }
      >
        {words.notFoundHint}
      </EmptyState>
    </>
  )
}

function Found({ job }: { job: JobDetail }) {
  const words = useMessages(jobMessages)
  const [asked, ask] = useState<JobActionName>()
  const [{ tab }, change] = useFilters(tabNames)
  const { data: explanation } = useApi(
    'GET /api/v1/jobs/{id}/explain',
    { params: { id: job.id } },
    { every: isFinal(job.state) ? false : explainEveryMs, keepPrevious: true },
  )
  const selected = tabs.find(each => each === tab) ?? (job.history.length > 0 ? 'failures' : 'data')
  const all: Tab<TabName>[] = [
    { id: 'data', label: words.data },
    { id: 'failures', label: words.failures, count: job.history.length },
    { id: 'checkpoints', label: words.checkpoints, count: job.checkpoints.length },
    { id: 'logs', label: words.logs },
    { id: 'moments', label: words.moments, count: job.timeline.length },
  ]
  return (
    <div class="flex flex-col gap-4">
      <div class="-mb-4">
        <JobHeader job={job} advised={explanation?.advice.action} onAsk={ask} />
      </div>
      <JobExplanation job={job} explanation={explanation} onAsk={ask} onFailures={() => change({ tab: 'failures' })} />
      <Gantt job={job} provider={providerOf(explanation)} />
      <Card>
        <Tabs label={words.details} tabs={all} selected={selected} onSelect={next => change({ tab: next })}>
          {selected === 'data' && <JobData job={job} />}
          {selected === 'failures' && <JobFailures job={job} />}
          {selected === 'checkpoints' && <JobCheckpoints job={job} />}
          {selected === 'logs' && <JobLogs job={job} />}
          {selected === 'moments' && <JobMoments job={job} />}
        </Tabs>
      </Card>
      {asked !== undefined && <JobDialog job={job} action={asked} onClose={() => ask(undefined)} />}
    </div>
  )
}

type JobExplanationData = Answer<'GET /api/v1/jobs/{id}/explain'>

/** The provider that waits or has stopped, as the explanation of a job names it. */
function providerOf(explanation: JobExplanationData | undefined): string | null {
  const provider = explanation?.facts.provider as { name?: unknown } | null | undefined
  return typeof provider?.name === 'string' ? provider.name : null
}

interface JobExplanationProps {
  job: JobDetail
  explanation: JobExplanationData | undefined
  onAsk(action: JobActionName): void
  onFailures(): void
}

function JobExplanation({ job, explanation: data, onAsk, onFailures }: JobExplanationProps) {
  const words = useMessages(jobMessages)
  const canAct = useCan('operator')
  if (data === undefined) return null
  const { action } = data.advice
  const possible = actionsOf(job.state)
  const button =
    action === 'resume' || action === 'retry' ? (
      canAct && possible.includes(action) ? (
        <Button look="primary" icon={action === 'retry' ? RotateCw : Play} onClick={() => onAsk(action)}>
          {words[action]}
        </Button>
      ) : undefined
    ) : action === 'look_at_failures' ? (
      <Button onClick={onFailures}>{words.seeFailures}</Button>
    ) : data.verdict === 'waiting' && providerOf(data) !== null ? (
      <Link href="/providers" class="font-medium text-accent hover:underline">
        {words.seeProvider}
      </Link>
    ) : undefined
  return <Explanation of={data} {...(button === undefined ? {} : { action: button })} />
}
