/** Says whether the numbers of the page are live; if not, since when. */
import { useReadHealth } from '../api/read-health.ts'
import { useFormat } from '../i18n/format.ts'
import { useMessages } from '../i18n/messages.ts'
import { classes } from '../lib/classes.ts'
import { useLiveStatus } from '../live/live-provider.tsx'
import { shellMessages } from './messages.ts'

export function LiveMark() {
  const live = useLiveStatus()
  const reads = useReadHealth()
  const state = reads.isFailing ? 'lost' : live.state
  const lastAt = reads.isFailing ? reads.lastAt : live.lastAt
  const words = useMessages(shellMessages)
  const format = useFormat()
  const isLost = state === 'lost'
  const text = { live: words.live, connecting: words.connecting, lost: words.lost }[state]
  const last = isLost && lastAt !== null ? ` · ${words.lastNumber(format.time(lastAt))}` : ''
  return (
    <span
      role="status"
      data-live={state}
      class={classes(
        'flex min-w-0 items-center gap-1.5 text-sm',
        isLost ? 'rounded-md bg-warn-soft px-2 py-1 font-medium text-warn' : 'text-muted',
      )}
    >
      <span
        aria-hidden="true"
        class={classes(
          'size-2 shrink-0 rounded-full',
          state === 'live' ? 'bg-good-fill' : isLost ? 'bg-warn-fill' : 'animate-pulse-soft bg-idle-fill',
        )}
      />
      <span class={isLost ? 'min-w-0' : 'max-sm:sr-only'}>{`${text}${last}`}</span>
    </span>
  )
}
