/** One job of the planner: state, progress, and its result as a grid, a map or a picture. */
import { CalendarRange, Download, RotateCw, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import type { Answer } from '../../api/client.ts'
import { useAction, useApi } from '../../api/query.ts'
import { useCan } from '../../api/session.ts'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { Confirm } from '../../components/dialog.tsx'
import { JsonTree } from '../../components/json-tree.tsx'
import { Age } from '../../components/relative-time.tsx'
import { Sentence } from '../../components/sentence.tsx'
import { EmptyState, Loading } from '../../components/states.tsx'
import { useToast } from '../../components/toast.tsx'
import { type Format, useFormat } from '../../i18n/format.ts'
import { useMessages } from '../../i18n/messages.ts'
import { PageHeader } from '../../layout/page-header.tsx'
import { useAct } from '../../layout/use-act.ts'
import { withBase } from '../../lib/base-path.ts'
import { StatusBadge } from '../shared/status-badge.tsx'
import { DemandMap } from './demand-map.tsx'
import { plannerMessages } from './messages.ts'
import { isDemand, isSchedule } from './results.ts'
import { ScheduleGrid } from './schedule-grid.tsx'

type Job = Answer<'GET /api/planner/jobs/{id}'>

const refreshMs = 1500
const isOver = ({ status }: Job) => status === 'COMPLETED' || status === 'FAILED'

export function PlannerJobView({ id }: { id: string }) {
  const words = useMessages(plannerMessages)
  const [isFinal, setIsFinal] = useState(false)
  const job = useApi('GET /api/planner/jobs/{id}', { params: { id } }, { every: isFinal ? false : refreshMs })
  if (job.data !== undefined && isOver(job.data) !== isFinal) setIsFinal(isOver(job.data))
  if (job.error?.status === 404)
    return (
      <EmptyState
        icon={CalendarRange}
        title={words.notFound}
        action={
          <Link href="/planejador/" class="font-medium text-accent hover:underline">
            {words.back}
          </Link>
        }
      />
    )
  return <Loading of={job}>{data => <OneJob job={data} />}</Loading>
}

/** A schedule by its days; anything else by its number. */
function titleOf({ id, kind, result }: Job, words: (typeof plannerMessages)['en'], format: Format): string {
  if (!isSchedule(result) || result.assignments.length === 0) return `${words.kind[kind]} ${id}`
  const days = result.assignments.map(({ date }) => date).sort()
  const day = (text: string) => format.date(new Date(`${text}T12:00:00`))
  return words.scheduleOf(day(days[0]!), day(days.at(-1)!))
}

function OneJob({ job }: { job: Job }) {
  const words = useMessages(plannerMessages)
  const format = useFormat()
  const { status, error_message, last_heartbeat_at, progress } = job
  return (
    <>
      <PageHeader
        title={titleOf(job, words, format)}
        parent={{ href: '/planejador/', name: words.title }}
        mark={<StatusBadge status={status} />}
        actions={<Actions job={job} />}
      />
      <div class="flex flex-col gap-4">
        {status === 'PENDING' && <Waiting id={job.id} />}
        {error_message !== null && <Failed id={job.id} reason={error_message} />}
        {status === 'RUNNING' && (
          <Sentence
            kind="info"
            {...(last_heartbeat_at !== null && {
              hint: (
                <>
                  {words.heartbeat} <Age since={last_heartbeat_at} />
                </>
              ),
            })}
          >
            {words.running}
          </Sentence>
        )}
        {status === 'RUNNING' && progress !== null && (
          <Card>
            <JsonTree value={progress} />
          </Card>
        )}
        <Result job={job} />
      </div>
    </>
  )
}

/** Why the job waits, in the words of the engine: a job of the planner is a job of the engine. */
function Waiting({ id }: { id: string }) {
  const { data } = useApi('GET /api/v1/jobs/{id}/explain', { params: { id } }, { every: refreshMs })
  return data === undefined ? null : <Sentence kind="info">{data.sentence}</Sentence>
}

function Failed({ id, reason }: { id: string; reason: string }) {
  const words = useMessages(plannerMessages)
  const may = useCan('operator')
  const retry = useAct('POST /api/v1/jobs/{id}/retry', () => words.retried)
  return (
    <Sentence
      kind="bad"
      hint={
        <Link href={`/jobs/${id}`} class="underline decoration-line-strong underline-offset-2 hover:decoration-current">
          {words.history}
        </Link>
      }
      action={
        may && (
          <Button look="primary" icon={RotateCw} busy={retry.busy} onClick={() => void retry.run({ params: { id } })}>
            {words.retry}
          </Button>
        )
      }
    >
      {reason}
    </Sentence>
  )
}

function Result({ job: { id, kind, status, result } }: { job: Job }) {
  const words = useMessages(plannerMessages)
  if (status !== 'COMPLETED') return null
  if (isSchedule(result)) return <ScheduleGrid schedule={result} />
  if (isDemand(result)) return <DemandMap demand={result} />
  return (
    <>
      {kind === 'generate-thumbnail' && (
        <Card title={words.thumbnail}>
          <img
            src={withBase(`/api/planner/jobs/${encodeURIComponent(id)}/thumbnails/large`)}
            alt={words.thumbnail}
            class="max-h-96 max-w-full rounded-md border"
          />
        </Card>
      )}
      <Card title={words.raw}>
        <JsonTree value={result} />
      </Card>
    </>
  )
}

function Actions({ job: { id, kind, status } }: { job: Job }) {
  const words = useMessages(plannerMessages)
  const may = useCan('operator')
  const toast = useToast()
  const [, navigate] = useLocation()
  const [asks, setAsks] = useState(false)
  const erase = useAction('DELETE /api/planner/jobs/{id}')
  const hasTable = status === 'COMPLETED' && kind !== 'generate-thumbnail'
  const run = () =>
    erase.mutate(
      { params: { id } },
      {
        onSuccess: () => {
          toast.show('good', words.erased)
          navigate('/planejador/')
        },
        onError: error => toast.show('bad', error.message),
      },
    )
  return (
    <>
      {hasTable && (
        <Button
          icon={Download}
          onClick={() => location.assign(withBase(`/api/planner/jobs/${encodeURIComponent(id)}/result.csv`))}
        >
          {words.csv}
        </Button>
      )}
      {may && (
        <Button look="danger" icon={Trash2} onClick={() => setAsks(true)}>
          {words.erase}
        </Button>
      )}
      {asks && (
        <Confirm
          title={words.eraseTitle}
          action={words.erase}
          danger
          busy={erase.isPending}
          onConfirm={run}
          onClose={() => setAsks(false)}
        >
          {words.eraseText}
        </Confirm>
      )}
    </>
  )
}
