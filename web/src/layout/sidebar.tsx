/** The main navigation: pages of the engine, then pages of the systems that the server runs. */
import { FlaskConical } from 'lucide-react'
import { Link, useLocation } from 'wouter'
import { useCan, useSession } from '../api/session.ts'
import { componentMessages } from '../components/messages.ts'
import { SimulatedMark } from '../components/simulated-mark.tsx'
import { Tooltip } from '../components/tooltip.tsx'
import { useMessages } from '../i18n/messages.ts'
import { classes } from '../lib/classes.ts'
import { type NavEntry, navigation } from '../router.tsx'
import { isSystemPath, systemMessages, systemPages } from '../systems/index.ts'
import { Logo } from './logo.tsx'
import { shellMessages } from './messages.ts'

export function Sidebar({ onNavigate }: { onNavigate?: () => void }) {
  const words = useMessages(shellMessages)
  const names = useMessages(systemMessages)
  const { data: session } = useSession()
  const systems = (session?.systems ?? []).flatMap(({ page, simulated }) =>
    isSystemPath(page) ? [{ page, simulated }] : [],
  )
  return (
    <div class="flex h-full flex-col gap-5 overflow-y-auto px-3 py-3">
      <div class="flex h-8 items-center px-2">
        <Logo />
      </div>
      <nav aria-label={words.navigation} class="flex flex-col gap-5">
        {navigation.map(({ title, entries }) => (
          <Group key={title ?? 'work'} title={title && words[title]}>
            {entries.map(entry => (
              <Entry key={entry.path} entry={entry} {...(onNavigate === undefined ? {} : { onNavigate })} />
            ))}
          </Group>
        ))}
        {systems.length > 0 && (
          <Group title={words.groupSystems}>
            {systems.map(({ page, simulated }) => (
              <NavLink
                key={page}
                path={page}
                icon={systemPages[page].icon}
                label={names[page]}
                simulated={simulated}
                {...(onNavigate === undefined ? {} : { onNavigate })}
              />
            ))}
          </Group>
        )}
      </nav>
      {session !== undefined && (
        <div class="mt-auto flex flex-col items-start gap-2 px-2">
          {session.simulated.length > 0 && <SimulatedMark names={session.simulated} />}
          <p class="text-xs text-faint">retoma {session.version}</p>
        </div>
      )}
    </div>
  )
}

function Group({ title, children }: { title: string | undefined; children: preact.ComponentChildren }) {
  return (
    <div>
      {title !== undefined && <h2 class="px-2 pb-1 text-xs font-medium text-faint">{title}</h2>}
      <ul class="flex flex-col gap-px">{children}</ul>
    </div>
  )
}

function Entry({
  entry: { path, label, icon, role = 'viewer' },
  onNavigate,
}: {
  entry: NavEntry
  onNavigate?: () => void
}) {
  const words = useMessages(shellMessages)
  const may = useCan(role)
  if (!may) return null
  return <NavLink path={path} icon={icon} label={words[label]} {...(onNavigate === undefined ? {} : { onNavigate })} />
}

interface NavLinkProps {
  path: string
  icon: NavEntry['icon']
  label: string
  simulated?: readonly string[]
  onNavigate?: () => void
}

function NavLink({ path, icon: Icon, label, simulated = [], onNavigate }: NavLinkProps) {
  const [location] = useLocation()
  const words = useMessages(componentMessages)
  const first = (text: string) => text.split('/')[1] ?? ''
  const isCurrent = first(location) === first(path)
  return (
    <li>
      <Link
        href={path}
        aria-current={isCurrent ? 'page' : undefined}
        class={classes(
          'flex h-8 items-center gap-2 rounded-md px-2 font-medium',
          isCurrent ? 'bg-hover text-ink' : 'text-muted hover:bg-hover hover:text-ink',
        )}
        onClick={() => onNavigate?.()}
      >
        <Icon size={16} aria-hidden="true" className={isCurrent ? 'text-accent' : ''} />
        <span class="truncate">{label}</span>
        {simulated.length > 0 && (
          <Tooltip text={words.simulatedHint(simulated.join(', '))}>
            <span class="ml-auto text-faint">
              <FlaskConical size={13} aria-label={words.simulated} />
            </span>
          </Tooltip>
        )}
      </Link>
    </li>
  )
}
