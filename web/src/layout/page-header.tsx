/** The head of a page: its title (also of the window), a line below, and its actions. */
import { ChevronLeft } from 'lucide-react'
import type { ComponentChildren } from 'preact'
import { useEffect } from 'react'
import { Link } from 'wouter'
import { setPageTitle } from './window-title.ts'

interface PageHeaderProps {
  title: string
  /** Beside the title: a state, a mark. */
  mark?: ComponentChildren
  subtitle?: ComponentChildren
  actions?: ComponentChildren
  /** The list that the page belongs to, as a link above the title. */
  parent?: { href: string; name: string }
}

export function PageHeader({ title, mark, subtitle, actions, parent }: PageHeaderProps) {
  useEffect(() => setPageTitle(title), [title])
  return (
    <header class="mb-4 flex flex-wrap items-start gap-x-4 gap-y-2">
      <div class="min-w-0 flex-1 basis-56">
        {parent !== undefined && (
          <nav aria-label={parent.name} class="flex h-5">
            <Link href={parent.href} class="inline-flex items-center gap-0.5 text-sm text-muted hover:text-ink">
              <ChevronLeft size={14} aria-hidden="true" className="-ml-1" />
              {parent.name}
            </Link>
          </nav>
        )}
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
