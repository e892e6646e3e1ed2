/** Ctrl-K: go to any page, or straight to a job or a batch by its id. */
import { ArrowRight, Layers, ListChecks, type LucideIcon } from 'lucide-react'
import { useEffect, useMemo, useRef, useState } from 'react'
import { useLocation } from 'wouter'
import { useSession } from '../api/session.ts'
import { useMessages } from '../i18n/messages.ts'
import { classes } from '../lib/classes.ts'
import { navigation } from '../router.tsx'
import { isSystemPath, systemMessages, systemPages } from '../systems/index.ts'
import { shellMessages } from './messages.ts'

interface Command {
  id: string
  label: string
  icon: LucideIcon
  path: string
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

function useCommands(text: string): Command[] {
  const words = useMessages(shellMessages)
  const systems = useMessages(systemMessages)
  const { data: session } = useSession()
  return useMemo(() => {
    const places: Command[] = [
      ...navigation.flatMap(({ entries }) =>
        entries.map(({ path, label, icon }) => ({ id: path, label: words[label], icon, path })),
      ),
      ...(session?.systems ?? []).flatMap(({ page }) =>
        isSystemPath(page) ? [{ id: page, label: systems[page], icon: systemPages[page].icon, path: page }] : [],
      ),
    ]
    const wanted = plain(text.trim())
    const id = /^#?(\w{1,40})$/.exec(text.trim())?.[1]
    const byId: Command[] =
      id === undefined || !/\d/.test(id)
        ? []
        : [
            { id: 'job', label: `${words.jobs} › ${id}`, icon: ListChecks, path: `/jobs/${id}` },
            { id: 'batch', label: `${words.batches} › ${id}`, icon: Layers, path: `/batches/${id}` },
          ]
    return [...byId, ...places.filter(({ label }) => plain(label).includes(wanted))]
  }, [text, words, systems, session])
}

export function CommandPalette({ onClose }: { onClose(): void }) {
  const words = useMessages(shellMessages)
  const [, navigate] = useLocation()
  const [text, setText] = useState('')
  const [at, setAt] = useState(0)
  const element = useRef<HTMLDialogElement>(null)
  const commands = useCommands(text)
  useEffect(() => element.current?.showModal(), [])
  const go = (command: Command | undefined) => {
    if (command === undefined) return
    onClose()
    navigate(command.path)
  }
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
      onClose={onClose}
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
