/** The workers: heartbeat, event loop, memory, jobs that run. Workers that are in trouble come first. */
import { CircleCheck, CircleX, Cpu, OctagonAlert, TriangleAlert } from 'lucide-react'
import { Link, useParams } from 'wouter'
import type { ItemOf } from '../../api/query.ts'
import { useApiList } from '../../api/query.ts'
import { Badge } from '../../components/badge.tsx'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { CodeBlock } from '../../components/code-block.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { Sentence } from '../../components/sentence.tsx'
import { EmptyState, Loading } from '../../components/states.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { useFormat } from '../../i18n/format.ts'
import { useMessages } from '../../i18n/messages.ts'
import { PageHeader } from '../../layout/page-header.tsx'
import { useFilters } from '../../lib/filters.ts'
import { workersMessages } from './messages.ts'
import { RunningJobs, WorkerFacts } from './worker-facts.tsx'

type Worker = ItemOf<'GET /api/v1/workers'>

const refreshMs = 2000
const filterNames = ['dead'] as const

export default function WorkersPage() {
  const words = useMessages(workersMessages)
  const workers = useApiList('GET /api/v1/workers', { query: { limit: 500 } }, { every: refreshMs })
  const [{ dead: deadFilter }, change] = useFilters(filterNames)
  const showsDead = deadFilter === 'shown'
  const { id } = useParams()
  if (id !== undefined) return <OneWorker id={id} workers={workers} />
  return (
    <>
      <PageHeader title={words.title} subtitle={words.subtitle} />
      <Loading of={workers} lines={6}>
        {({ items }) => {
          const alive = items.filter(each => !each.dead).sort((a, b) => troubleOf(b) - troubleOf(a))
          const dead = items.filter(each => each.dead)
          return (
            <div class="flex flex-col gap-4">
              {alive.flatMap(each => (each.blocked === null ? [] : [<Blocked key={each.id} worker={each} />]))}
              <Card flush>
                <Workers rows={showsDead ? [...alive, ...dead] : alive} />
              </Card>
              {dead.length > 0 && (
                <div>
                  <Button look="quiet" size="sm" onClick={() => change({ dead: showsDead ? undefined : 'shown' })}>
                    {showsDead ? words.hideDead : words.showDead(dead.length)}
                  </Button>
                </div>
              )}
            </div>
          )
        }}
      </Loading>
    </>
  )
}

function OneWorker({ id, workers }: { id: string; workers: ReturnType<typeof useApiList<'GET /api/v1/workers'>> }) {
  const words = useMessages(workersMessages)
  const parent = { href: '/workers', name: words.title }
  return (
    <Loading of={workers} lines={6}>
      {({ items }) => {
        const worker = items.find(each => each.id === id)
        if (worker === undefined)
          return (
            <>
              <PageHeader title={words.notFound} parent={parent} />
              <EmptyState icon={Cpu} title={words.notFound}>
                {words.notFoundHint}
              </EmptyState>
            </>
          )
        return (
          <>
            <PageHeader
              title={words.process(worker.host, worker.pid)}
              parent={parent}
              mark={<WorkerState worker={worker} />}
            />
            <div class="flex flex-col gap-4">
              {worker.blocked !== null && <Blocked worker={worker} />}
              <WorkerFacts worker={worker} />
            </div>
          </>
        )
      }}
    </Loading>
  )
}

const troubleOf = ({ blocked, suspected }: Worker): number => (blocked === null ? 0 : 2) + (suspected ? 1 : 0)

function Workers({ rows }: { rows: readonly Worker[] }) {
  const words = useMessages(workersMessages)
  const format = useFormat()
  const columns: Column<Worker>[] = [
    {
      id: 'worker',
      header: words.worker,
      cell: ({ id, host, pid, queues, version, loop_lag_ms }) => (
        <div class="min-w-0">
          <Link
            href={`/workers/${encodeURIComponent(id)}`}
            class="block truncate font-medium hover:underline"
            title={id}
          >
            {words.process(host, pid)}
          </Link>
          <div class="text-sm text-muted lg:hidden">
            {[version, loop_lag_ms === null ? null : `${words.lag} ${format.duration(loop_lag_ms)}`]
              .filter(Boolean)
              .join(' · ')}
          </div>
          <div class="line-clamp-2 text-sm text-muted" title={words.slots}>
            {Object.entries(queues)
              .map(([queue, count]) => `${queue}\u00a0${count}`)
              .join(', ')}
          </div>
        </div>
      ),
    },
    { id: 'state', header: words.state, width: '6.5rem', cell: worker => <WorkerState worker={worker} /> },
    {
      id: 'heartbeat',
      header: words.heartbeat,
      width: '6.5rem',
      align: 'right',
      hide: 'sm',
      cell: ({ heartbeat_age_seconds }) => format.duration(heartbeat_age_seconds * 1000),
    },
    {
      id: 'running',
      header: words.running,
      width: '6.5rem',
      align: 'right',
      cell: worker => <RunningJobs worker={worker} />,
    },
    {
      id: 'memory',
      header: words.memory,
      width: '6.5rem',
      align: 'right',
      hide: 'nav',
      cell: ({ memory_bytes }) => (memory_bytes === null ? '–' : format.bytes(memory_bytes)),
    },
    {
      id: 'lag',
      header: words.lag,
      width: '8rem',
      align: 'right',
      hide: 'lg',
      cell: ({ loop_lag_ms }) => (loop_lag_ms === null ? '–' : format.duration(loop_lag_ms)),
    },
    { id: 'version', header: words.version, width: '6rem', hide: 'lg', cell: ({ version }) => version },
    {
      id: 'started',
      header: words.started,
      width: '8rem',
      hide: 'nav',
      cell: ({ started_at }) => <RelativeTime at={started_at} />,
    },
  ]
  return (
    <Table
      label={words.title}
      columns={columns}
      rows={rows}
      keyOf={({ id }) => id}
      empty={
        <EmptyState icon={Cpu} title={words.none}>
          <p class="mb-3">{words.noneHint}</p>
          <CodeBlock text="npx retoma worker" label="npx retoma worker" />
        </EmptyState>
      }
    />
  )
}

function WorkerState({ worker: { dead, suspected, blocked, abandoned } }: { worker: Worker }) {
  const words = useMessages(workersMessages)
  if (dead)
    return (
      <Badge tone="bad" icon={CircleX}>
        {words.dead}
      </Badge>
    )
  if (blocked !== null)
    return (
      <Badge tone="warn" icon={OctagonAlert}>
        {words.blocked}
      </Badge>
    )
  if (suspected)
    return (
      <Badge tone="warn" icon={TriangleAlert}>
        {words.suspected}
      </Badge>
    )
  return (
    <Badge
      tone="good"
      icon={CircleCheck}
      {...(abandoned !== null && abandoned > 0 && { title: words.abandoned(abandoned) })}
    >
      {words.alive}
    </Badge>
  )
}

function Blocked({ worker: { host, pid, blocked } }: { worker: Worker }) {
  const words = useMessages(workersMessages)
  const format = useFormat()
  if (blocked === null) return null
  const { seconds, job, stack } = blocked
  return (
    <div class="flex flex-col gap-2">
      <Sentence
        kind="warn"
        hint={words.blockedHint}
        {...(job !== null && {
          action: (
            <Link href={`/jobs/${encodeURIComponent(job)}`} class="font-medium text-accent hover:underline">
              {words.blockedJob(job)}
            </Link>
          ),
        })}
      >
        {words.process(host, pid)}: {words.blockedFor(format.duration(seconds * 1000))}
      </Sentence>
      {stack !== null && <CodeBlock text={stack} label={words.stack} maxHeight="10rem" />}
    </div>
  )
}
