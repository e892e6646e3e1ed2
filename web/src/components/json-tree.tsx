/** A JSON value as a tree that opens branch by branch. Everything is shown as text: markup inside a value stays text. */
import { ChevronRight } from 'lucide-react'
import { useState } from 'react'
import { useMessages } from '../i18n/messages.ts'
import { componentMessages } from './messages.ts'

const entriesAtOnce = 100
const longestText = 500

interface JsonTreeProps {
  value: unknown
  /** Branches up to this depth are open at first. */
  open?: number
}

export function JsonTree({ value, open = 1 }: JsonTreeProps) {
  return (
    <div class="font-mono text-sm">
      <Node value={value} depth={0} open={open} />
    </div>
  )
}

interface NodeProps {
  name?: string | undefined
  value: unknown
  depth: number
  open: number
}

function Node({ name, value, depth, open }: NodeProps) {
  if (typeof value === 'object' && value !== null) return <Branch name={name} value={value} depth={depth} open={open} />
  return (
    <div class="pl-4">
      <Name name={name} />
      <Leaf value={value} />
    </div>
  )
}

const Name = ({ name }: { name: string | undefined }) =>
  name === undefined ? null : <span class="text-muted">{name}: </span>

function Leaf({ value }: { value: unknown }) {
  const words = useMessages(componentMessages)
  const [whole, setWhole] = useState(false)
  if (typeof value !== 'string')
    return <span class={value === null || value === undefined ? 'text-faint' : 'text-busy'}>{String(value)}</span>
  const text = whole ? value : value.slice(0, longestText)
  return (
    <>
      <span class="whitespace-pre-wrap text-good">"{text}"</span>
      {text.length < value.length && (
        <button type="button" class="ml-1 text-accent" onClick={() => setWhole(true)}>
          {words.showMore}
        </button>
      )}
    </>
  )
}

function Branch({ name, value, depth, open }: NodeProps & { value: object }) {
  const words = useMessages(componentMessages)
  const [isOpen, setOpen] = useState(depth < open)
  const [shown, setShown] = useState(entriesAtOnce)
  const entries = Object.entries(value)
  const size = Array.isArray(value) ? words.items(entries.length) : words.fields(entries.length)
  return (
    <div>
      <button
        type="button"
        class="flex min-h-6 items-center gap-0.5 rounded-sm"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        <ChevronRight size={14} className={`text-faint ${isOpen ? 'rotate-90' : ''}`} aria-hidden="true" />
        <Name name={name} />
        <span class="text-faint">{Array.isArray(value) ? `[ ${size} ]` : `{ ${size} }`}</span>
      </button>
      {isOpen && (
        <div class="ml-1.5 border-l pl-2">
          {entries.slice(0, shown).map(([key, each]) => (
            <Node key={key} name={key} value={each} depth={depth + 1} open={open} />
          ))}
          {entries.length > shown && (
            <button type="button" class="pl-4 text-accent" onClick={() => setShown(shown + entriesAtOnce)}>
              {words.showMore}
            </button>
          )}
        </div>
      )}
    </div>
  )
}
