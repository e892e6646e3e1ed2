/** The frame of every page: navigation, top bar, content. Shows the log-in page while nobody is logged in. */
import { X } from 'lucide-react'
import { Component, type ComponentChildren } from 'preact'
import { Suspense, useRef, useState } from 'react'
import { Route, Switch, useLocation } from 'wouter'
import { useLoggedOut, useSession } from '../api/session.ts'
import { Button, IconButton } from '../components/button.tsx'
import { useModal } from '../components/modal.ts'
import { EmptyState, ErrorState, Skeleton } from '../components/states.tsx'
import { useMessages } from '../i18n/messages.ts'
import { LiveProvider } from '../live/live-provider.tsx'
import { LogInPage } from '../pages/login/login-page.tsx'
import { pages } from '../router.tsx'
import { isSystemPath, systemPages } from '../systems/index.ts'
import { CommandPalette, useCommandKey } from './command-palette.tsx'
import { shellMessages } from './messages.ts'
import { NotFound } from './not-found.tsx'
import { useNavigationFocus } from './page-header.tsx'
import { Sidebar } from './sidebar.tsx'
import { TopBar } from './top-bar.tsx'
import { TroubleWatch } from './trouble-watch.tsx'

export function Shell() {
  const isLoggedOut = useLoggedOut()
  const session = useSession()
  if (isLoggedOut) return <LogInPage />
  if (session.data === undefined) {
    if (session.error !== null) return <ErrorState error={session.error} onRetry={() => void session.refetch()} />
    return <Skeleton />
  }
  return (
    <LiveProvider>
      <TroubleWatch />
      <Frame />
    </LiveProvider>
  )
}

function Frame() {
  const words = useMessages(shellMessages)
  const [menuIsOpen, setMenuOpen] = useState(false)
  const [searchIsOpen, setSearchOpen] = useState(false)
  useCommandKey(() => setSearchOpen(true))
  useNavigationFocus()
  return (
    <div class="flex min-h-dvh">
      <a
        href="#content"
        class="sr-only focus:not-sr-only focus:fixed focus:top-2 focus:left-2 focus:z-60 focus:rounded-md focus:bg-raised focus:p-2"
        onClick={event => {
          event.preventDefault()
          document.getElementById('content')?.focus()
        }}
      >
        {words.skip}
      </a>
      <aside class="sticky top-0 h-dvh w-56 shrink-0 border-r bg-sunken max-nav:hidden">
        <Sidebar />
      </aside>
      {menuIsOpen && <Drawer onClose={() => setMenuOpen(false)} />}
      <div class="flex min-w-0 flex-1 flex-col">
        <TopBar onMenu={() => setMenuOpen(true)} onSearch={() => setSearchOpen(true)} />
        <main id="content" tabIndex={-1} class="min-w-0 flex-1 px-4 py-5 outline-none nav:px-6 wide:px-10">
          <Pages />
        </main>
      </div>
      {searchIsOpen && <CommandPalette onClose={() => setSearchOpen(false)} />}
    </div>
  )
}

function Pages() {
  const { data: session } = useSession()
  const [location] = useLocation()
  const systems = (session?.systems ?? []).flatMap(({ page }) => (isSystemPath(page) ? [page] : []))
  return (
    <PageBoundary key={location.split('/')[1]} path={location}>
      <Suspense fallback={<Skeleton lines={6} />}>
        <Switch>
          {pages.map(({ path, Page }) => (
            <Route key={path} path={path}>
              <Page />
            </Route>
          ))}
          {systems.map(path => {
            const { Page } = systemPages[path]
            return (
              <Route key={path} path={`${path}*?`}>
                <Page />
              </Route>
            )
          })}
          <Route>
            <NotFound />
          </Route>
        </Switch>
      </Suspense>
    </PageBoundary>
  )
}

function Drawer({ onClose }: { onClose(): void }) {
  const words = useMessages(shellMessages)
  const element = useRef<HTMLDialogElement>(null)
  const closed = useModal(element, onClose)
  return (
    <dialog
      ref={element}
      aria-label={words.navigation}
      class="m-0 h-dvh max-h-none w-64 border-r bg-sunken p-0 text-ink backdrop:bg-overlay nav:hidden"
      onClose={closed}
      onClick={event => event.target === element.current && onClose()}
    >
      <div class="absolute top-3 right-2">
        <IconButton icon={X} label={words.closeMenu} onClick={onClose} />
      </div>
      <Sidebar onNavigate={onClose} />
    </dialog>
  )
}

/** A page that throws does not take the shell with it. Another address shows its page again. */
class PageBoundary extends Component<{ children: ComponentChildren; path: string }, { error: Error | null }> {
  override state: { error: Error | null } = { error: null }

  override componentDidUpdate(before: { path: string }): void {
    if (before.path !== this.props.path && this.state.error !== null) this.setState({ error: null })
  }

  override componentDidCatch(error: Error): void {
    this.setState({ error })
  }

  override render() {
    return this.state.error === null ? this.props.children : <Crashed error={this.state.error} />
  }
}

function Crashed({ error }: { error: Error }) {
  const words = useMessages(shellMessages)
  return (
    <EmptyState title={words.crashed} action={<Button onClick={() => window.location.reload()}>{words.reload}</Button>}>
      {error.message}
    </EmptyState>
  )
}
