/** The head of a page: its title (also of the window), a line below, and its actions. */
import type { ComponentChildren } from 'preact'
import { useEffect } from 'react'
import { setPageTitle } from './window-title.ts'

interface PageHeaderProps {
  title: string
  /** Beside the title: a state, a mark. */
  mark?: ComponentChildren
  subtitle?: ComponentChildren
  actions?: ComponentChildren
}

export function PageHeader({ title, mark, subtitle, actions }: PageHeaderProps) {
  useEffect(() => setPageTitle(title), [title])
  return (
    <header class="mb-4 flex flex-wrap items-start gap-x-4 gap-y-2">
      <div class="min-w-0 flex-1 basis-72">
        <div class="flex flex-wrap items-center gap-2">
          <h1 class="text-lg font-semibold tracking-tight">{title}</h1>
          {mark}
        </div>
        {subtitle !== undefined && <p class="text-muted">{subtitle}</p>}
      </div>
      {actions !== undefined && <div class="flex flex-wrap items-center gap-2">{actions}</div>}
    </header>
  )
}
