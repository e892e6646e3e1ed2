/** Terms with their values, one below the other. */
import type { ComponentChildren } from 'preact'

export const Facts = ({ children }: { children: ComponentChildren }) => <dl class="flex flex-col gap-2">{children}</dl>

export const Fact = ({ term, children }: { term: string; children: ComponentChildren }) => (
  <div class="flex flex-col sm:flex-row sm:gap-3">
    <dt class="shrink-0 text-muted first-letter:uppercase sm:w-44">{term}</dt>
    <dd class="min-w-0 break-words">{children}</dd>
  </div>
)
