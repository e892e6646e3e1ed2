/** An instant as an age that ticks ("há 12 s"), with the whole instant on hover. */
import { type Instant, useFormat } from '../i18n/format.ts'
import { useMessages } from '../i18n/messages.ts'
import { useNow } from '../lib/now.ts'
import { componentMessages } from './messages.ts'

export function RelativeTime({ at }: { at: Instant | null | undefined }) {
  const format = useFormat()
  const words = useMessages(componentMessages)
  const now = useNow()
  if (at === null || at === undefined) return <span class="text-faint">{words.never}</span>
  return (
    <time dateTime={new Date(at).toISOString()} title={format.dateTimeZone(at)} class="whitespace-nowrap">
      {format.relative(at, now)}
    </time>
  )
}

/** The time since an instant as a duration that ticks ("1 min 12 s"): for heartbeats and running attempts. */
export function Age({ since }: { since: Instant }) {
  const format = useFormat()
  const now = useNow()
  return (
    <time dateTime={new Date(since).toISOString()} title={format.dateTimeZone(since)} class="whitespace-nowrap">
      {format.duration(Math.max(0, Math.floor((now - new Date(since).getTime()) / 1000) * 1000))}
    </time>
  )
}
