/** A button that opens a list of actions: arrow keys move, Escape closes, the focus returns to the button. */
import { EllipsisVertical, type LucideIcon } from 'lucide-react'
import { useLayoutEffect, useRef, useState } from 'react'
import { createPortal } from 'react-dom'
import { useMessages } from '../i18n/messages.ts'
import { classes } from '../lib/classes.ts'
import { IconButton } from './button.tsx'
import { componentMessages } from './messages.ts'

export interface MenuItem {
  label: string
  icon?: LucideIcon
  danger?: boolean
  disabled?: boolean
  /** The chosen one of several. */
  checked?: boolean
  onSelect(): void
}

interface MenuProps {
  items: readonly MenuItem[]
  /** Default: "Mais ações". */
  label?: string
  icon?: LucideIcon
}

export function Menu({ items, label, icon = EllipsisVertical }: MenuProps) {
  const words = useMessages(componentMessages)
  const [place, setPlace] = useState<{ right: number; top: number }>()
  const anchor = useRef<HTMLSpanElement>(null)
  const list = useRef<HTMLDivElement>(null)
  const close = () => {
    setPlace(undefined)
    anchor.current?.querySelector('button')?.focus()
  }
  const open = () => {
    const box = anchor.current?.getBoundingClientRect()
    if (box === undefined) return
    const top = Math.min(box.bottom + 4, innerHeight - items.length * 32 - 16)
    setPlace({ right: Math.max(8, innerWidth - box.right), top })
  }
  // With the list, not after the next paint: a key that follows the click at once belongs to the list.
  useLayoutEffect(() => {
    if (place !== undefined) list.current?.querySelector<HTMLElement>('[role^=menuitem]')?.focus()
  }, [place])
  const move = (event: KeyboardEvent) => {
    const all = [...(list.current?.querySelectorAll<HTMLElement>('[role^=menuitem]') ?? [])]
    const at = all.indexOf(document.activeElement as HTMLElement)
    const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key]
    if (event.key === 'Escape' || event.key === 'Tab') close()
    else if (next !== undefined) all.at(next % all.length)?.focus()
    else return
    event.preventDefault()
  }
  return (
    <>
      <span ref={anchor} class="inline-flex">
        <IconButton
          icon={icon}
          label={label ?? words.more}
          aria-haspopup="menu"
          aria-expanded={place !== undefined}
          onClick={place === undefined ? open : close}
        />
      </span>
      {place !== undefined &&
        createPortal(
          <>
            <div class="fixed inset-0 z-50" onClick={close} aria-hidden="true" />
            <div
              ref={list}
              role="menu"
              tabIndex={-1}
              class="fixed z-50 min-w-44 rounded-lg border border-line-strong bg-raised p-1"
              style={{ right: `${place.right}px`, top: `${place.top}px` }}
              onKeyDown={move}
            >
              {items.map(({ label, icon: Icon, danger, disabled, checked, onSelect }) => (
                <button
                  key={label}
                  type="button"
                  role={checked === undefined ? 'menuitem' : 'menuitemradio'}
                  aria-checked={checked}
                  disabled={disabled}
                  class={classes(
                    'flex h-8 w-full items-center gap-2 rounded-md px-2 text-left hover:bg-hover focus-visible:bg-hover disabled:opacity-50',
                    danger && 'text-bad',
                    checked && 'font-semibold',
                  )}
                  onClick={() => {
                    close()
                    onSelect()
                  }}
                >
                  {Icon !== undefined && <Icon size={14} aria-hidden="true" />}
                  {label}
                </button>
              ))}
            </div>
          </>,
          document.body,
        )}
    </>
  )
}
