/** Tabs with the arrow keys, as WAI-ARIA describes. The page keeps the chosen tab, usually in the URL. */
import type { ComponentChildren } from 'preact'
import { useId, useRef } from 'react'
import { classes } from '../lib/classes.ts'

export interface Tab<Name extends string> {
  id: Name
  label: ComponentChildren
  count?: number
}

interface TabsProps<Name extends string> {
  label: string
  tabs: readonly Tab<Name>[]
  selected: Name
  onSelect(id: Name): void
  children: ComponentChildren
}

export function Tabs<Name extends string>({ label, tabs, selected, onSelect, children }: TabsProps<Name>) {
  const id = useId()
  const list = useRef<HTMLDivElement>(null)
  const move = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
    const at = tabs.findIndex(each => each.id === selected)
    const next = step === undefined ? undefined : tabs[(at + step + tabs.length) % tabs.length]
    if (next === undefined) return
    event.preventDefault()
    onSelect(next.id)
    list.current?.querySelector<HTMLElement>(`[data-tab="${next.id}"]`)?.focus()
  }
  return (
    <>
      <div ref={list} role="tablist" aria-label={label} class="flex gap-4 overflow-x-auto border-b" onKeyDown={move}>
        {tabs.map(tab => (
          <button
            key={tab.id}
            type="button"
            role="tab"
            id={`${id}-${tab.id}`}
            data-tab={tab.id}
            aria-selected={tab.id === selected}
            aria-controls={`${id}-panel`}
            tabIndex={tab.id === selected ? 0 : -1}
            class={classes(
              '-mb-px h-9 border-b-2 font-medium whitespace-nowrap',
              tab.id === selected ? 'border-accent text-ink' : 'border-transparent text-muted hover:text-ink',
            )}
            onClick={() => onSelect(tab.id)}
          >
            {tab.label}
            {tab.count !== undefined && <span class="ml-1.5 text-sm text-faint">{tab.count}</span>}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${selected}`} class="pt-4">
        {children}
      </div>
    </>
  )
}
