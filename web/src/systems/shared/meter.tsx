/** A share of a whole with its number beside the bar, such as a confidence: `value` is 0 to 1. */
import type { Tone } from '../../components/badge.tsx'
import { useFormat } from '../../i18n/format.ts'

const fills: Partial<Record<Tone, string>> = { good: 'bg-good-fill', warn: 'bg-warn-fill', bad: 'bg-bad-fill' }

export function Meter({ value, tone }: { value: number; tone?: Tone }) {
  const format = useFormat()
  const share = Math.min(1, Math.max(0, value))
  return (
    <span class="inline-flex w-full items-center gap-2">
      <span class="h-1 min-w-6 flex-1 overflow-hidden rounded-full bg-idle-soft max-sm:hidden" aria-hidden="true">
        <span
          class={`block h-full rounded-full ${fills[tone ?? 'idle'] ?? 'bg-accent-fill'}`}
          style={{ width: `${share * 100}%` }}
        />
      </span>
      <span class="w-9 sm:text-right">{format.percent(share * 100)}</span>
    </span>
  )
}
