/** The batches under way with their progress. */
import { Layers } from 'lucide-react'
import { Link } from 'wouter'
import { Card } from '../../components/card.tsx'
import { Progress } from '../../components/progress.tsx'
import { StateBadge } from '../../components/state-badge.tsx'
import { EmptyState } from '../../components/states.tsx'
import { useFormat } from '../../i18n/format.ts'
import { useMessages } from '../../i18n/messages.ts'
import { stateMessages } from '../../i18n/states.ts'
import { overviewMessages } from './messages.ts'
import type { Overview } from './use-overview.ts'

export function BatchesCard({ batches }: { batches: Overview['running'] }) {
  const words = useMessages(overviewMessages)
  return (
    <Card
      title={words.batches}
      flush
      actions={
        <Link href="/batches" class="text-sm font-medium text-accent hover:underline">
          {words.allBatches}
        </Link>
      }
    >
      {batches.length === 0 ? (
        <EmptyState icon={Layers} title={words.noBatches} small />
      ) : (
        <ul>
          {batches.map(batch => (
            <BatchRow key={batch.id} batch={batch} />
          ))}
        </ul>
      )}
    </Card>
  )
}

function BatchRow({ batch }: { batch: Overview['running'][number] }) {
  const words = useMessages(overviewMessages)
  const states = useMessages(stateMessages)
  const format = useFormat()
  const { id, name, state, total, succeeded, failed, skipped, cancelled, eta_seconds: left } = batch
  const done = succeeded + failed + skipped + cancelled
  return (
    <li class="border-b last:border-b-0">
      <Link href={`/batches/${id}`} class="flex flex-col gap-1.5 px-4 py-2.5 hover:bg-hover">
        <span class="flex flex-wrap items-center gap-x-2 gap-y-1">
          <span class="truncate font-medium">{name}</span>
          <span class="text-sm text-faint">#{id}</span>
          {(state === 'stalled' || state === 'paused') && <StateBadge state={state} />}
          <span class="ml-auto text-sm whitespace-nowrap text-muted">
            {words.itemsOf(format.number(done), format.number(total))}
            {left !== null && ` · ${words.left(format.duration(left * 1000))}`}
          </span>
        </span>
        <Progress
          label={`${name} ${id}`}
          total={total}
          parts={[
            { value: succeeded, tone: 'good', label: states.succeeded },
            { value: failed, tone: 'bad', label: states.failed },
            { value: skipped + cancelled, tone: 'idle', label: states.skipped },
          ]}
        />
      </Link>
    </li>
  )
}
