/** A bordered part of a page with an optional heading and actions. */
import type { ComponentChildren } from 'preact'
import { classes } from '../lib/classes.ts'

interface CardProps {
  title?: ComponentChildren
  /** A short text beside the title. */
  hint?: ComponentChildren
  actions?: ComponentChildren
  /** The level of the heading: h3 inside a part that has an h2. Default: h2. */
  heading?: 'h2' | 'h3'
  /** Content up to the border: for tables. */
  flush?: boolean
  class?: string
  children: ComponentChildren
}

export function Card({
  title,
  hint,
  actions,
  heading: Heading = 'h2',
  flush = false,
  class: more,
  children,
}: CardProps) {
  return (
    <section class={classes('min-w-0 rounded-lg border bg-surface', more)}>
      {title !== undefined && (
        <header class="flex min-h-11 flex-wrap items-center gap-x-3 gap-y-1 border-b px-4 py-1.5">
          <Heading class="text-base font-semibold">{title}</Heading>
          {hint !== undefined && <span class="text-sm text-muted">{hint}</span>}
          {actions !== undefined && <div class="ml-auto flex flex-wrap items-center gap-1">{actions}</div>}
        </header>
      )}
      <div class={flush ? '' : 'p-4'}>{children}</div>
    </section>
  )
}
