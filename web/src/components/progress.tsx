/** A progress bar of one or several parts, such as succeeded and failed items. Announced as a number, not as a colour. */
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

export interface ProgressPart {
  value: number
  tone: Tone
  label: string
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
            class={`h-full transition-[width] ${fills[part.tone]}`}
            style={{ width: `${(part.value / total) * 100}%` }}
          />
        ))}
    </div>
  )
}
