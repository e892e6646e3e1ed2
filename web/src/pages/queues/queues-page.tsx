/** The queues: waiting, running and stalled jobs, limits, and a button that pauses or resumes. */
import { CirclePause, Rows3 } from 'lucide-react'
import { Link } from 'wouter'
import { useApiList } from '../../api/query.ts'
import { useCan } from '../../api/session.ts'
import { Badge } from '../../components/badge.tsx'
import { Card } from '../../components/card.tsx'
import { EmptyState, Loading } from '../../components/states.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { useFormat } from '../../i18n/format.ts'
import { useMessages } from '../../i18n/messages.ts'
import { PageHeader } from '../../layout/page-header.tsx'
import { limitTexts, type Queue } from './limits-text.ts'
import { queuesMessages } from './messages.ts'
import { PauseButton } from './queue-actions.tsx'
import { useQueueFacts } from './use-queue-facts.ts'

const refreshMs = 3000

export default function QueuesPage() {
  const words = useMessages(queuesMessages)
  const queues = useApiList('GET /api/v1/queues', { query: { limit: 500 } }, { every: refreshMs })
  return (
    <>
      <PageHeader title={words.title} subtitle={words.subtitle} />
      <Card flush>
        <Loading of={queues}>{({ items }) => <Queues rows={items} />}</Loading>
      </Card>
    </>
  )
}

function Queues({ rows }: { rows: readonly Queue[] }) {
  const words = useMessages(queuesMessages)
  const format = useFormat()
  const may = useCan('operator')
  const facts = useQueueFacts(refreshMs)
  const pathOf = ({ queue }: Queue) => `/queues/${encodeURIComponent(queue)}`
  const number = (id: 'ready' | 'scheduled' | 'running' | 'stalled', hide?: 'sm' | 'nav'): Column<Queue> => ({
    id,
    header: words[id],
    width: '5.5rem',
    align: 'right',
    ...(hide && { hide }),
    cell: queue => (
      <span
        class={
          id === 'stalled' && (queue.stalled ?? 0) > 0
            ? 'font-medium text-warn'
            : (queue[id] ?? 0) === 0
              ? 'text-faint'
              : ''
        }
      >
        {format.number(queue[id])}
      </span>
    ),
  })
  const columns: Column<Queue>[] = [
    {
      id: 'queue',
      header: words.queue,
      cell: queue => (
        <div class="flex min-w-0 flex-wrap items-center gap-x-2 gap-y-1">
          <Link href={pathOf(queue)} class="truncate font-medium hover:underline">
            {queue.queue}
          </Link>
          {queue.paused && (
            <Badge tone="accent" icon={CirclePause}>
              {words.paused}
            </Badge>
          )}
        </div>
      ),
    },
    number('ready'),
    number('scheduled', 'nav'),
    number('running'),
    number('stalled', 'sm'),
    {
      id: 'oldest',
      header: words.oldest,
      width: '6.5rem',
      align: 'right',
      hide: 'nav',
      cell: ({ queue }) => {
        const oldest = facts.oldestSeconds(queue)
        return oldest === null ? <span class="text-faint">–</span> : format.duration(oldest * 1000)
      },
    },
    {
      id: 'slots',
      header: words.slotsShort,
      width: '4.5rem',
      align: 'right',
      hide: 'lg',
      cell: ({ queue, running }) => (
        <span class="text-muted">
          {format.number(running)} / {format.number(facts.slots(queue))}
        </span>
      ),
    },
    {
      id: 'limits',
      header: words.limits,
      width: 'clamp(9rem, 15vw, 30rem)',
      hide: 'lg',
      cell: ({ limits }) => (
        <span class="text-muted">{limitTexts(limits, words, format).join(', ') || words.noLimits}</span>
      ),
    },
    ...(may
      ? [
          {
            id: 'pause',
            header: <span class="sr-only">{words.pause}</span>,
            width: '7.5rem',
            align: 'right' as const,
            hide: 'sm' as const,
            cell: (queue: Queue) => <PauseButton queue={queue} size="sm" />,
          },
        ]
      : []),
  ]
  return (
    <Table
      label={words.title}
      columns={columns}
      rows={rows}
      keyOf={({ queue }) => queue}
      empty={
        <EmptyState icon={Rows3} title={words.none}>
          {words.noneHint}
        </EmptyState>
      }
    />
  )
}
