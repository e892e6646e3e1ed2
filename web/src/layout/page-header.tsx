/** The head of a page: its title (also of the window), a line below, and its actions. */
import { ChevronLeft } from 'lucide-react'
import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef } from 'react'
import { Link, useLocation } from 'wouter'
import { focusReturnedTo } from '../components/modal.ts'
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

let navigation: { path: string; before: Element | null } | undefined
let isTitleDue = false

/** Notes each change of the address with the element that has the focus then. */
export function useNavigationFocus(): void {
  const [path] = useLocation()
  useLayoutEffect(() => {
    isTitleDue = navigation !== undefined && navigation.path !== path
    navigation = { path, before: document.activeElement }
  }, [path])
}

/**
 * After a change of the address the title of the new page gets the focus, so that a screen reader reads the title. A page may load late:
 * a focus that the user has moved in the meantime stays.
 */
function useTitleFocus() {
  const [path] = useLocation()
  const title = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    if (!isTitleDue) return undefined
    // After the drawer or the palette that led here has closed: an open dialog keeps the focus.
    const soon = setTimeout(() => {
      isTitleDue = false
      const active = document.activeElement
      if ([document.body, navigation?.before, focusReturnedTo()].includes(active))
        title.current?.focus({ preventScroll: true })
    })
    return () => clearTimeout(soon)
  }, [path])
  return title
}

export function PageHeader({ title, mark, subtitle, actions, parent }: PageHeaderProps) {
  const heading = useTitleFocus()
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
          <h1 ref={heading} tabIndex={-1} class="text-lg font-semibold tracking-tight outline-none">
            {title}
          </h1>
          {mark}
        </div>
        {subtitle !== undefined && <p class="text-muted">{subtitle}</p>}
      </div>
      {actions !== undefined && <div class="flex flex-wrap items-center gap-2">{actions}</div>}
    </header>
  )
}
