/** The failures of a batch by cause: how many, one example, and the button that retries exactly these. */
import { ListFilter, RotateCw } from 'lucide-react'
import { useApi } from '../../api/query.ts'
import { useCan } from '../../api/session.ts'
import { Badge } from '../../components/badge.tsx'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { Loading } from '../../components/states.tsx'
import { useFormat } from '../../i18n/format.ts'
import { useMessages } from '../../i18n/messages.ts'
import type { Asked } from './batch-dialogs.tsx'
import { type BatchView, isOpen } from './batch-model.ts'
import { batchMessages } from './messages.ts'

interface FailureGroupsProps {
  batch: BatchView
  onAsk(asked: Asked): void
  onCause(cause: string): void
}

const readEveryMs = 5000

export function FailureGroups({ batch, onAsk, onCause }: FailureGroupsProps) {
  const words = useMessages(batchMessages)
  const format = useFormat()
  const canAct = useCan('operator') && batch.state !== 'cancelled'
  const read = useApi(
    'GET /api/v1/batches/{id}/failures/causes',
    { params: { id: batch.id } },
    { every: isOpen(batch) ? readEveryMs : false },
  )
  return (
    <Card
      flush
      title={words.causes}
      {...(read.data === undefined ? {} : { hint: words.causesHint(read.data.items.length) })}
    >
      <Loading of={read}>
        {({ items }) => (
          <ul>
            {items.map(({ cause, count, more, code, message, refs, last_at }) => (
              <li key={cause} class="flex flex-wrap items-center gap-x-4 gap-y-2 border-b px-4 py-2.5 last:border-b-0">
                <span class="min-w-8 shrink-0 text-md font-semibold text-bad">
                  {more ? `> ${format.number(count)}` : format.number(count)}
                </span>
                <div class="min-w-48 flex-1">
                  <p class="line-clamp-2">{message === null || message === '' ? words.noMessage : message}</p>
                  <p class="mt-0.5 flex flex-wrap items-center gap-x-2 text-sm text-muted">
                    {code !== null && <Badge>{code}</Badge>}
                    {refs.length > 0 && (
                      <span class="max-w-80 truncate">{words.refs(refs.slice(0, 3).join(', '))}</span>
                    )}
                    {last_at !== null && (
                      <span>
                        {words.lastAt} <RelativeTime at={last_at} />
                      </span>
                    )}
                  </p>
                </div>
                <div class="ml-auto flex gap-1">
                  <Button size="sm" look="quiet" icon={ListFilter} onClick={() => onCause(cause)}>
                    {words.showItems}
                  </Button>
                  {canAct && (
                    <Button
                      size="sm"
                      icon={RotateCw}
                      onClick={() => onAsk({ do: 'retry', cause: { id: cause, count, more } })}
                    >
                      {words.retryThese}
                    </Button>
                  )}
                </div>
              </li>
            ))}
          </ul>
        )}
      </Loading>
    </Card>
  )
}
