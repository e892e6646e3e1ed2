/** The bar above each page: menu on narrow screens, search, the state of the connection, language, theme, account. */
import { CircleUser, Languages, LogOut, Menu as MenuIcon, Monitor, Moon, Search, Sun } from 'lucide-react'
import { logOut, useSession } from '../api/session.ts'
import { IconButton } from '../components/button.tsx'
import { Menu } from '../components/menu.tsx'
import { SimulatedMark } from '../components/simulated-mark.tsx'
import { useToast } from '../components/toast.tsx'
import { language } from '../i18n/language.ts'
import { useMessages } from '../i18n/messages.ts'
import { type Theme, theme, useTheme } from '../lib/theme.ts'
import { LiveMark } from './live-mark.tsx'
import { shellMessages } from './messages.ts'

const themeIcons = { system: Monitor, light: Sun, dark: Moon }

interface TopBarProps {
  onMenu(): void
  onSearch(): void
}

export function TopBar({ onMenu, onSearch }: TopBarProps) {
  const words = useMessages(shellMessages)
  const { data: session } = useSession()
  const toast = useToast()
  const report = (error: unknown) => toast.show('bad', error instanceof Error ? error.message : String(error))
  return (
    <header class="sticky top-0 z-30 flex h-12 items-center gap-2 border-b bg-canvas px-4 nav:px-6">
      <span class="nav:hidden">
        <IconButton icon={MenuIcon} label={words.openMenu} onClick={onMenu} />
      </span>
      <button
        type="button"
        class="flex h-8 min-w-0 flex-1 items-center gap-2 rounded-md border bg-surface px-2.5 text-faint hover:border-line-strong nav:max-w-80"
        onClick={onSearch}
      >
        <Search size={14} aria-hidden="true" className="shrink-0" />
        <span class="truncate">{words.search}</span>
        <kbd class="ml-auto rounded-sm border px-1 font-sans text-xs max-sm:hidden">Ctrl K</kbd>
      </button>
      <div class="ml-auto flex min-w-0 items-center gap-1">
        {session !== undefined && session.simulated.length > 0 && (
          <span class="nav:hidden">
            <SimulatedMark names={session.simulated} />
          </span>
        )}
        <LiveMark />
        <IconButton
          icon={Languages}
          label={words.switchLanguage}
          onClick={() => language.set(language.get() === 'en' ? 'pt-BR' : 'en')}
        />
        <ThemeMenu />
        {session?.via === 'cookie' && (
          <Menu
            icon={CircleUser}
            label={words.account(session.user)}
            items={[{ label: words.logOut, icon: LogOut, onSelect: () => void logOut().catch(report) }]}
          />
        )}
      </div>
    </header>
  )
}

function ThemeMenu() {
  const words = useMessages(shellMessages)
  const chosen = useTheme()
  const names: Record<Theme, string> = { system: words.themeSystem, light: words.themeLight, dark: words.themeDark }
  return (
    <Menu
      icon={themeIcons[chosen]}
      label={words.theme}
      items={(['system', 'light', 'dark'] as const).map(each => ({
        label: names[each],
        icon: themeIcons[each],
        checked: each === chosen,
        onSelect: () => theme.set(each),
      }))}
    />
  )
}
