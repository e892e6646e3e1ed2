/**
 * A progress bar of one or several parts, such as succeeded and failed items. Announced as a number, not as a colour. Parts under way are
 * pale with stripes: a bar whose items all run is not full.
 */
import { useFormat } from '../i18n/format.ts'
import type { Tone } from './badge.tsx'

const fills: Record<Tone, string> = {
  good: 'bg-good-fill',
  busy: 'bg-busy-fill',
  warn: 'bg-warn-fill',
  bad: 'bg-bad-fill',
  idle: 'bg-idle-fill',
  accent: 'bg-accent-fill',
}

const underWay: Record<Tone, string> = {
  good: 'bg-good-soft text-good-fill',
  busy: 'bg-busy-soft text-busy-fill',
  warn: 'bg-warn-soft text-warn-fill',
  bad: 'bg-bad-soft text-bad-fill',
  idle: 'bg-idle-soft text-idle-fill',
  accent: 'bg-accent-soft text-accent-fill',
}

export interface ProgressPart {
  value: number
  tone: Tone
  label: string
  /** The part has begun and is not done. */
  isUnderWay?: boolean
}

interface ProgressProps {
  /** Read aloud as the name of the bar. */
  label: string
  parts: readonly ProgressPart[]
  total: number
  /** Parts that count as done; default: all parts. */
  done?: number
  size?: 'sm' | 'md'
}

export function Progress({ label, parts, total, done, size = 'sm' }: ProgressProps) {
  const format = useFormat()
  const finished = done ?? parts.reduce((sum, part) => sum + part.value, 0)
  const percent = total === 0 ? 0 : (finished / total) * 100
  return (
    <div
      role="progressbar"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.floor(percent)}
      aria-valuetext={`${format.percent(Math.floor(percent))}: ${parts.map(part => `${part.label} ${format.number(part.value)}`).join(', ')}`}
      class={`flex w-full gap-px overflow-hidden rounded-full bg-idle-soft ${size === 'sm' ? 'h-1.5' : 'h-2.5'}`}
    >
      {parts
        .filter(part => part.value > 0 && total > 0)
        .map(part => (
          <div
            key={part.label}
            title={`${part.label}: ${format.number(part.value)}`}
            class={`h-full transition-[width] ${part.isUnderWay ? `stripes ${underWay[part.tone]}` : fills[part.tone]}`}
            style={{ width: `${(part.value / total) * 100}%` }}
          />
        ))}
    </div>
  )
}
