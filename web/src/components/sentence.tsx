/** One sentence that says how things are, with its mark and the button that helps beside it. */
import { CircleCheck, CircleX, Info, type LucideIcon, TriangleAlert } from 'lucide-react'
import type { ComponentChildren } from 'preact'
import { classes } from '../lib/classes.ts'

type Kind = 'good' | 'info' | 'warn' | 'bad'

const looks: Record<Kind, { icon: LucideIcon; ink: string; frame: string }> = {
  good: { icon: CircleCheck, ink: 'text-good', frame: 'border-line bg-surface' },
  info: { icon: Info, ink: 'text-busy', frame: 'border-line bg-surface' },
  warn: { icon: TriangleAlert, ink: 'text-warn', frame: 'border-transparent bg-warn-soft' },
  bad: { icon: CircleX, ink: 'text-bad', frame: 'border-transparent bg-bad-soft' },
}

interface SentenceProps {
  kind: Kind
  children: ComponentChildren
  /** The advice below the sentence. */
  hint?: ComponentChildren
  /** The button that helps. */
  action?: ComponentChildren
}

export function Sentence({ kind, children, hint, action }: SentenceProps) {
  const { icon: Icon, ink, frame } = looks[kind]
  return (
    <div class={classes('flex flex-wrap items-center gap-x-4 gap-y-2 rounded-lg border px-4 py-3', frame)}>
      <div class="flex min-w-60 flex-1 items-start gap-2.5">
        <Icon size={18} className={classes('mt-px shrink-0', ink)} aria-hidden="true" />
        <div class="min-w-0">
          <p class="text-md font-medium first-letter:uppercase">{children}</p>
          {hint !== undefined && <p class="mt-0.5 text-muted first-letter:uppercase">{hint}</p>}
        </div>
      </div>
      {action !== undefined && action !== false && <div class="flex shrink-0 flex-wrap gap-2">{action}</div>}
    </div>
  )
}
