/**
 * A map of states, a cell each. The pointer names a cell, a click opens it, dragging selects a range; arrow keys, Shift and Enter do the
 * same with the keyboard. The words beside the map, and a table on the same page, tell the same without the picture.
 */
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useMemo, useRef, useState } from 'react'
import { useFormat } from '../i18n/format.ts'
import { useMessages } from '../i18n/messages.ts'
import { stateMessages } from '../i18n/states.ts'
import { draw } from './state-map-draw.ts'
import { MapLegend } from './state-map-legend.tsx'
import { type CellState, countsOf, type Grid, gridOf } from './state-map-model.ts'

/** Room for the focus ring; a canvas that is still too wide after a resize does not widen the page. */
const padding = 8
export type CellRange = readonly [first: number, last: number]

interface StateMapProps {
  cells: readonly CellState[]
  /** Read aloud as the name of the map, with the count of each state. */
  label(summary: string): string
  /** The words for the cell under the pointer. */
  describe(cell: number): string
  onOpen(cell: number): void
  /** Shown while a range is selected. */
  selection(range: CellRange): ComponentChildren
}

export function StateMap({ cells, label, describe, onOpen, selection }: StateMapProps) {
  const states = useMessages(stateMessages)
  const format = useFormat()
  const id = useId()
  const frame = useRef<HTMLDivElement>(null)
  const canvas = useRef<HTMLCanvasElement>(null)
  const [width, setWidth] = useState(0)
  const [at, setAt] = useState<number>()
  const [selected, setSelected] = useState<CellRange>()
  const drag = useRef<number | undefined>(undefined)
  const counts = useMemo(() => countsOf(cells), [cells])
  const grid = useMemo(() => gridOf(cells.length, width), [cells.length, width])
  const themeShown = useShownTheme()
  useEffect(() => {
    const element = frame.current
    if (element === null) return undefined
    const observer = new ResizeObserver(() => setWidth(element.clientWidth - padding))
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  useEffect(() => {
    if (canvas.current !== null && width > 0) draw(canvas.current, { grid, cells, at, selected })
  }, [grid, cells, at, selected, width, themeShown])

  const cellUnder = (event: PointerEvent): number | undefined => cellAt(event, canvas.current, grid, cells.length)
  const press = (event: KeyboardEvent) => {
    const move = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: grid.columns, ArrowUp: -grid.columns }[event.key]
    if (event.key === 'Enter' && at !== undefined) onOpen(at)
    else if (event.key === 'Escape') setSelected(undefined)
    else if (event.key === 'Home' || event.key === 'End') setAt(event.key === 'Home' ? 0 : cells.length - 1)
    else if (move === undefined) return
    else {
      const next = Math.min(cells.length - 1, Math.max(0, (at ?? -Math.sign(move)) + move))
      if (event.shiftKey) setSelected(sorted(selected === undefined ? (at ?? next) : otherEnd(selected, at), next))
      setAt(next)
    }
    event.preventDefault()
  }
  return (
    <>
      <div ref={frame} class="-m-1 min-w-0 overflow-hidden p-1">
        <div
          role="application"
          tabIndex={0}
          aria-label={label(summaryOf(counts, states, format.number))}
          aria-describedby={id}
          class="w-fit rounded-sm"
          onKeyDown={press}
          onPointerDown={event => {
            drag.current = cellUnder(event)
            setSelected(undefined)
          }}
          onPointerMove={event => {
            const cell = cellUnder(event)
            setAt(cell)
            if (drag.current !== undefined && cell !== undefined && event.buttons === 1 && cell !== drag.current)
              setSelected(sorted(drag.current, cell))
          }}
          onPointerUp={event => {
            const cell = cellUnder(event)
            if (cell !== undefined && cell === drag.current) onOpen(cell)
            drag.current = undefined
          }}
          onPointerLeave={() => setAt(undefined)}
        >
          <canvas
            ref={canvas}
            class="block touch-pan-y"
            style={{ width: `${grid.columns * grid.step}px`, height: `${grid.rows * grid.step}px` }}
          />
        </div>
      </div>
      <div class="mt-3 flex flex-wrap items-center gap-x-4 gap-y-2">
        <MapLegend counts={counts} />
        <span id={id} aria-live="polite" class="ml-auto min-h-5 text-sm text-muted">
          {selected !== undefined ? selection(selected) : at !== undefined ? describe(at) : ''}
        </span>
      </div>
    </>
  )
}

const sorted = (a: number, b: number): CellRange => (a < b ? [a, b] : [b, a])
const otherEnd = ([first, last]: CellRange, at: number | undefined): number => (at === first ? last : first)

function cellAt(event: PointerEvent, canvas: HTMLCanvasElement | null, grid: Grid, count: number): number | undefined {
  if (canvas === null) return undefined
  const box = canvas.getBoundingClientRect()
  const column = Math.floor((event.clientX - box.left) / grid.step)
  const row = Math.floor((event.clientY - box.top) / grid.step)
  if (column < 0 || column >= grid.columns || row < 0) return undefined
  const cell = row * grid.columns + column
  return cell < count ? cell : undefined
}

function summaryOf(
  counts: ReadonlyMap<string, number>,
  states: Readonly<Record<string, string>>,
  number: (value: number) => string,
): string {
  return [...counts].map(([state, count]) => `${states[state] ?? '–'} ${number(count)}`).join(', ')
}

/** The theme on the page, also when the system changes it. */
function useShownTheme(): string {
  const [shown, setShown] = useState(document.documentElement.dataset.theme ?? '')
  useEffect(() => {
    const observer = new MutationObserver(() => setShown(document.documentElement.dataset.theme ?? ''))
    observer.observe(document.documentElement, { attributeFilter: ['data-theme'] })
    return () => observer.disconnect()
  }, [])
  return shown
}
