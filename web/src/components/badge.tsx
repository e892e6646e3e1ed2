/** Small labels. A state always has an icon and a text, so that a state is readable without colour. */
import type { LucideIcon } from 'lucide-react'
import type { ComponentChildren } from 'preact'
import { classes } from '../lib/classes.ts'

export type Tone = 'good' | 'busy' | 'warn' | 'bad' | 'idle' | 'accent'

const tones: Record<Tone, string> = {
  good: 'bg-good-soft text-good',
  busy: 'bg-busy-soft text-busy',
  warn: 'bg-warn-soft text-warn',
  bad: 'bg-bad-soft text-bad',
  idle: 'bg-idle-soft text-idle',
  accent: 'bg-accent-soft text-accent',
}

interface BadgeProps {
  tone?: Tone
  icon?: LucideIcon
  title?: string
  children: ComponentChildren
}

export function Badge({ tone = 'idle', icon: Icon, title, children }: BadgeProps) {
  return (
    <span
      title={title}
      class={classes(
        'inline-flex h-5 max-w-full items-center gap-1 rounded-sm px-1.5 text-sm font-medium whitespace-nowrap',
        tones[tone],
      )}
    >
      {Icon !== undefined && <Icon size={12} aria-hidden="true" className="shrink-0" />}
      <span class="truncate">{children}</span>
    </span>
  )
}
