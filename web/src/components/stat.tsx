/** One number with its name. */
import type { ComponentChildren } from 'preact'
import { classes } from '../lib/classes.ts'
import type { Tone } from './badge.tsx'

const inks: Record<Tone, string> = {
  good: 'text-good',
  busy: 'text-busy',
  warn: 'text-warn',
  bad: 'text-bad',
  idle: 'text-ink',
  accent: 'text-accent',
}

interface StatProps {
  label: ComponentChildren
  value: ComponentChildren
  hint?: ComponentChildren
  tone?: Tone
}

export function Stat({ label, value, hint, tone = 'idle' }: StatProps) {
  return (
    <div class="min-w-0">
      <div class="truncate text-sm text-muted">{label}</div>
      <div class={classes('truncate text-xl font-semibold tracking-tight', inks[tone])}>{value}</div>
      {hint !== undefined && <div class="truncate text-sm text-faint">{hint}</div>}
    </div>
  )
}
