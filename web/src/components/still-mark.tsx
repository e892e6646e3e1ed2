/** Says that the rows of a long list stand still, since when, and reads the rows again on request. */
import { RotateCw } from 'lucide-react'
import { useFormat } from '../i18n/format.ts'
import { useMessages } from '../i18n/messages.ts'
import { Button } from './button.tsx'
import { componentMessages } from './messages.ts'

interface StillMarkProps {
  /** In milliseconds since 1970; undefined: the list is live, and nothing is shown. */
  since: number | undefined
  isReading: boolean
  onRefresh(): void
}

export function StillMark({ since, isReading, onRefresh }: StillMarkProps) {
  const words = useMessages(componentMessages)
  const format = useFormat()
  if (since === undefined) return null
  return (
    <div role="status" class="flex flex-wrap items-center gap-2 border-b bg-warn-soft px-4 py-1 text-sm text-warn">
      {words.still(format.time(since))}
      <Button size="sm" look="quiet" icon={RotateCw} busy={isReading} onClick={onRefresh}>
        {words.refresh}
      </Button>
    </div>
  )
}
