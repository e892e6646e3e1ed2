/** The actions of people on a batch and its items, the newest first. */
import { History } from 'lucide-react'
import { Link } from 'wouter'
import { useLongList } from '../../api/long-list.ts'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { EmptyState } from '../../components/states.tsx'
import { StillMark } from '../../components/still-mark.tsx'
import { actionMessages } from '../../i18n/actions.ts'
import { useMessages } from '../../i18n/messages.ts'
import type { BatchView } from './batch-model.ts'
import { batchMessages } from './messages.ts'

const readEveryMs = 5000
const pageSize = 20

export function BatchActionsList({ batch }: { batch: BatchView }) {
  const words = useMessages(batchMessages)
  const did = useMessages(actionMessages)
  const list = useLongList(
    'GET /api/v1/batches/{id}/actions',
    { params: { id: batch.id }, query: { limit: pageSize } },
    { every: readEveryMs },
  )
  const wordOf = (what: string) => (what in did ? did[what as keyof typeof did] : what)
  return (
    <Card title={words.actions} flush>
      <StillMark since={list.stillSince} isReading={list.isReading} onRefresh={list.refetch} />
      {list.items === undefined || list.items.length === 0 ? (
        <EmptyState icon={History} title={words.noActions} small>
          {words.noActionsHint}
        </EmptyState>
      ) : (
        <ol>
          {list.items.map(({ id, at, who, what, job_id }) => (
            <li key={id} class="flex flex-wrap items-baseline gap-x-2 border-b px-4 py-2 last:border-b-0">
              <span class="font-medium">{who ?? words.someone}</span>
              <span>{wordOf(what)}</span>
              {job_id !== null && (
                <Link href={`/jobs/${job_id}`} class="text-muted hover:underline">
                  #{job_id}
                </Link>
              )}
              <span class="ml-auto text-sm text-muted">
                <RelativeTime at={at} />
              </span>
            </li>
          ))}
        </ol>
      )}
      {list.hasMore && (
        <div class="flex justify-center border-t p-2">
          <Button size="sm" look="quiet" onClick={list.more} busy={list.isReading}>
            {words.more}
          </Button>
        </div>
      )}
    </Card>
  )
}
