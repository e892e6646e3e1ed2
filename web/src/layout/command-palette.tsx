/** Ctrl-K: go to any page or queue, straight to a job or a batch by its id, to the jobs of a ref or a kind, or run an action of the shell. */
import { ArrowRight, Languages, Layers, ListChecks, type LucideIcon, Moon, Rows3, Sun } from 'lucide-react'
import { useEffect, useMemo, useRef, useState } from 'react'
import { useLocation } from 'wouter'
import { useApi } from '../api/query.ts'
import { mayAs, useSession } from '../api/session.ts'
import { useModal } from '../components/modal.ts'
import { language } from '../i18n/language.ts'
import { useMessages } from '../i18n/messages.ts'
import { classes } from '../lib/classes.ts'
import { theme, useShownTheme } from '../lib/theme.ts'
import { navigation } from '../router.tsx'
import { isSystemPath, systemMessages, systemPages } from '../systems/index.ts'
import { shellMessages } from './messages.ts'

interface Command {
  id: string
  label: string
  icon: LucideIcon
  run(): void
}

export function useCommandKey(open: () => void): void {
  const latest = useRef(open)
  latest.current = open
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey)) return
      event.preventDefault()
      latest.current()
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [])
}

const plain = (text: string) => text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase()

/** Queues among the commands. */
const mostQueues = 8

function useCommands(text: string): Command[] {
  const [, navigate] = useLocation()
  const isDark = useShownTheme() === 'dark'
  const queues = useApi('GET /api/v1/queues', { query: { limit: 500 } }).data
  const words = useMessages(shellMessages)
  const systems = useMessages(systemMessages)
  const { data: session } = useSession()
  return useMemo(() => {
    const places: Command[] = [
      ...navigation.flatMap(({ entries }) =>
        entries
          .filter(({ role = 'viewer' }) => mayAs(session, role))
          .map(({ path, label, icon }) => ({ id: path, label: words[label], icon, run: () => navigate(path) })),
      ),
      ...(session?.systems ?? []).flatMap(({ page }) =>
        isSystemPath(page)
          ? [{ id: page, label: systems[page], icon: systemPages[page].icon, run: () => navigate(page) }]
          : [],
      ),
    ]
    const wanted = plain(text.trim())
    const id = /^#?(\w{1,40})$/.exec(text.trim())?.[1]
    const byId: Command[] =
      id === undefined || !/\d/.test(id)
        ? []
        : [
            { id: 'job', label: `${words.jobs} › ${id}`, icon: ListChecks, run: () => navigate(`/jobs/${id}`) },
            { id: 'batch', label: `${words.batches} › ${id}`, icon: Layers, run: () => navigate(`/batches/${id}`) },
          ]
    const actions: Command[] = [
      {
        id: 'theme',
        label: `${words.theme} › ${isDark ? words.themeLight : words.themeDark}`,
        icon: isDark ? Sun : Moon,
        run: () => theme.set(isDark ? 'light' : 'dark'),
      },
      {
        id: 'language',
        label: words.switchLanguage,
        icon: Languages,
        run: () => language.set(language.get() === 'en' ? 'pt-BR' : 'en'),
      },
    ]
    const named = (queues?.items ?? [])
      .filter(({ queue }) => wanted !== '' && plain(queue).includes(wanted))
      .slice(0, mostQueues)
      .map(({ queue }) => ({
        id: `queue ${queue}`,
        label: `${words.queues} › ${queue}`,
        icon: Rows3,
        run: () => navigate(`/queues/${encodeURIComponent(queue)}`),
      }))
    const jobsBy = (['ref', 'kind'] as const).map(field => ({
      id: field,
      label: words.jobsBy[field](text.trim()),
      icon: ListChecks,
      run: () => navigate(`/jobs?${field}=${encodeURIComponent(text.trim())}`),
    }))
    return [
      ...byId,
      ...[...places, ...actions].filter(({ label }) => plain(label).includes(wanted)),
      ...named,
      ...(wanted === '' ? [] : jobsBy),
    ]
  }, [text, words, systems, session, queues, isDark, navigate])
}

export function CommandPalette({ onClose }: { onClose(): void }) {
  const words = useMessages(shellMessages)
  const [text, setText] = useState('')
  const [at, setAt] = useState(0)
  const element = useRef<HTMLDialogElement>(null)
  const commands = useCommands(text)
  const closed = useModal(element, onClose)
  const go = (command: Command | undefined) => {
    if (command === undefined) return
    onClose()
    command.run()
  }
  useEffect(() => document.getElementById(`command-${at}`)?.scrollIntoView({ block: 'nearest' }), [at])
  const press = (event: KeyboardEvent) => {
    if (event.key === 'ArrowDown') setAt(Math.min(at + 1, commands.length - 1))
    else if (event.key === 'ArrowUp') setAt(Math.max(at - 1, 0))
    else if (event.key === 'Enter') go(commands[at])
    else return
    event.preventDefault()
  }
  return (
    <dialog
      ref={element}
      aria-label={words.search}
      class="mx-auto mt-[12vh] w-[min(36rem,calc(100vw-2rem))] overflow-hidden rounded-lg border border-line-strong bg-raised p-0 text-ink backdrop:bg-overlay"
      onClose={closed}
      onClick={event => event.target === element.current && onClose()}
    >
      <input
        type="text"
        role="combobox"
        aria-label={words.search}
        aria-expanded="true"
        aria-controls="commands"
        aria-activedescendant={commands[at] === undefined ? undefined : `command-${at}`}
        autocomplete="off"
        placeholder={words.search}
        value={text}
        class="h-11 w-full border-b bg-transparent px-4 text-md outline-none"
        onInput={event => {
          setText(event.currentTarget.value)
          setAt(0)
        }}
        onKeyDown={press}
      />
      <div id="commands" role="listbox" aria-label={words.search} class="max-h-80 overflow-y-auto p-1">
        {commands.map((command, index) => (
          <div
            key={command.id}
            id={`command-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === at}
            class={classes('flex h-9 cursor-pointer items-center gap-2.5 rounded-md px-3', index === at && 'bg-hover')}
            onMouseMove={() => setAt(index)}
            onClick={() => go(command)}
            onKeyDown={press}
          >
            <command.icon size={15} className="text-muted" aria-hidden="true" />
            <span class="truncate">{command.label}</span>
            {index === at && <ArrowRight size={14} className="ml-auto text-faint" aria-hidden="true" />}
          </div>
        ))}
      </div>
    </dialog>
  )
}
