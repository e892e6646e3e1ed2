/** Each queue with its counts, its slots and the line of its last hour. */
import { CirclePause, Rows3 } from 'lucide-react'
import { Link, useLocation } from 'wouter'
import { type History, type HistoryPoint, useHistory } from '../../api/history.ts'
import { Badge } from '../../components/badge.tsx'
import { Card } from '../../components/card.tsx'
import { CodeBlock } from '../../components/code-block.tsx'
import { Sparkline } from '../../components/sparkline.tsx'
import { EmptyState } from '../../components/states.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { type Format, useFormat } from '../../i18n/format.ts'
import { useMessages } from '../../i18n/messages.ts'
import { classes } from '../../lib/classes.ts'
import { type OverviewWords, overviewMessages } from './messages.ts'
import type { Overview } from './use-overview.ts'

interface Row {
  queue: string
  paused: boolean
  /** null: only an admin sees the counts of the queue. */
  ready: number | null
  running: number | null
  scheduled: number | null
  stalled: number | null
  slots: number
  oldestSeconds: number | null
  points: readonly (HistoryPoint | undefined)[] | undefined
}

/** Nothing waits, runs or is stalled. Idle queues are muted. */
const isIdle = (row: Pick<Row, 'ready' | 'running' | 'scheduled' | 'stalled'>) =>
  [row.ready, row.running, row.scheduled, row.stalled].every(count => count === 0)

const ended = (point: HistoryPoint | undefined) =>
  point === undefined ? 0 : point.succeeded + point.skipped + point.failed
const sum = (points: Row['points'], value: (point: HistoryPoint | undefined) => number) =>
  (points ?? []).reduce((total, point) => total + value(point), 0)

function rowsOf({ stats, queues, workers }: Overview, history: History | undefined): Row[] {
  const alive = workers.filter(each => !each.dead)
  const oldest = new Map(stats.queues.map(each => [each.queue, each.oldest_ready_seconds]))
  return queues.map(each => ({
    queue: each.queue,
    paused: each.paused,
    ready: each.ready,
    running: each.running,
    scheduled: each.scheduled,
    stalled: each.stalled,
    oldestSeconds: oldest.get(each.queue) ?? null,
    slots: alive.reduce((slots, worker) => slots + (worker.queues[each.queue] ?? 0), 0),
    points: history?.queues.get(each.queue),
  }))
}

function columnsOf(words: OverviewWords, format: Format, hasHistory: boolean): Column<Row>[] {
  const number = (value: number | null, ink = '') =>
    value === 0 || value === null ? <span class="text-faint">–</span> : <span class={ink}>{format.number(value)}</span>
  const right = { align: 'right', width: '5.5rem' } as const
  const columns: Column<Row>[] = [
    {
      id: 'queue',
      header: words.queue,
      cell: ({ queue, paused, ...row }) => (
        <span class="flex min-w-0 flex-wrap items-center gap-x-2 gap-y-1">
          <Link
            href={`/queues/${encodeURIComponent(queue)}`}
            class={classes('truncate hover:underline', isIdle(row) ? 'text-muted' : 'font-medium')}
          >
            {queue}
          </Link>
          {paused && (
            <Badge tone="accent" icon={CirclePause}>
              {words.paused}
            </Badge>
          )}
        </span>
      ),
    },
    { id: 'ready', header: words.ready, ...right, width: '4.5rem', cell: row => number(row.ready) },
    { id: 'running', header: words.runningShort, ...right, cell: row => number(row.running, 'text-busy') },
    { id: 'scheduled', header: words.scheduled, ...right, hide: 'nav', cell: row => number(row.scheduled) },
    {
      id: 'stalled',
      header: words.stalled,
      ...right,
      hide: 'sm',
      cell: row => number(row.stalled, 'font-medium text-warn'),
    },
  ]
  columns.push({
    id: 'oldest',
    header: words.oldest,
    ...right,
    width: '7rem',
    hide: 'nav',
    cell: ({ oldestSeconds }) =>
      oldestSeconds === null ? <span class="text-faint">–</span> : format.duration(oldestSeconds * 1000),
  })
  columns.push({
    id: 'slots',
    header: words.slots,
    ...right,
    hide: 'sm',
    cell: ({ running, slots }) => (
      <span class="whitespace-nowrap text-muted">
        {format.number(running)} / {format.number(slots)}
      </span>
    ),
  })
  if (hasHistory)
    columns.push(
      {
        id: 'failed',
        header: words.failed,
        ...right,
        width: '6.5rem',
        hide: 'lg',
        cell: ({ points }) =>
          number(
            sum(points, point => point?.failed ?? 0),
            'font-medium text-bad',
          ),
      },
      {
        id: 'throughput',
        header: words.throughput,
        width: '9rem',
        align: 'right',
        hide: 'nav',
        cell: ({ queue, points }) => (
          <span class="flex justify-end">
            <Sparkline label={words.throughputLabel(queue, sum(points, ended))} values={(points ?? []).map(ended)} />
          </span>
        ),
      },
    )
  return columns
}

const tryIt = `npx retoma jobs enqueue hello '{"name":"Ana"}' --wait`

export function QueueTable({ overview }: { overview: Overview }) {
  const words = useMessages(overviewMessages)
  const format = useFormat()
  const [, navigate] = useLocation()
  const { history } = useHistory('hour')
  const rows = rowsOf(overview, history)
  return (
    <Card title={words.queues} flush>
      <Table
        label={words.queues}
        columns={columnsOf(words, format, history !== undefined)}
        rows={rows}
        keyOf={row => row.queue}
        onRow={row => navigate(`/queues/${encodeURIComponent(row.queue)}`)}
        empty={
          <EmptyState
            icon={Rows3}
            title={words.noQueues}
            action={<CodeBlock text={tryIt} label={words.commandLabel} />}
          >
            {words.noQueuesHint}
          </EmptyState>
        }
      />
    </Card>
  )
}
