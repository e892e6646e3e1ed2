/**
 * The map of the items of a batch. The pointer names an item, a click opens it, dragging selects a range; arrow keys, Shift and Enter do
 * the same with the keyboard. The words beside the map and the table below tell the same without the picture.
 */
import { useEffect, useMemo, useRef, useState } from 'react'
import { useLocation } from 'wouter'
import { call } from '../../api/client.ts'
import { useApi } from '../../api/query.ts'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { useFormat } from '../../i18n/format.ts'
import { useMessages } from '../../i18n/messages.ts'
import { stateMessages } from '../../i18n/states.ts'
import { type BatchView, isOpen } from './batch-model.ts'
import { draw } from './item-map-draw.ts'
import { MapLegend } from './item-map-legend.tsx'
import { cellsOf, countsOf, type Grid, gridOf, type ItemMapData, itemsOf } from './item-map-model.ts'
import { batchMessages } from './messages.ts'

const readEveryMs = 2000
/** Room for the focus ring; a canvas that is still too wide after a resize does not widen the page. */
const padding = 8
type Range = readonly [number, number]

interface ItemMapProps {
  batch: BatchView
  /** Shows the item at this position in the table. */
  onGoTo(position: number): void
}

export function ItemMap({ batch, onGoTo }: ItemMapProps) {
  const words = useMessages(batchMessages)
  const format = useFormat()
  const { data } = useApi(
    'GET /api/v1/batches/{id}/map',
    { params: { id: batch.id } },
    { every: isOpen(batch) ? readEveryMs : false },
  )
  if (data === undefined || data.total === 0) return null
  const isExact = data.items_per_cell <= 1
  return (
    <Card
      title={words.map}
      hint={isExact ? words.mapHint : words.mapAggregated(format.number(Math.round(data.items_per_cell)))}
    >
      <MapCanvas batch={batch} data={data} onGoTo={onGoTo} />
    </Card>
  )
}

function MapCanvas({ batch, data, onGoTo }: ItemMapProps & { data: ItemMapData }) {
  const words = useMessages(batchMessages)
  const states = useMessages(stateMessages)
  const format = useFormat()
  const [, navigate] = useLocation()
  const frame = useRef<HTMLDivElement>(null)
  const canvas = useRef<HTMLCanvasElement>(null)
  const [width, setWidth] = useState(0)
  const [at, setAt] = useState<number>()
  const [selected, setSelected] = useState<Range>()
  const drag = useRef<number | undefined>(undefined)
  const cells = useMemo(() => cellsOf(data), [data])
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

  const textOf = (cell: number): string => {
    const [first, last] = itemsOf(cell, data)
    const state = cells[cell]
    const word = state === undefined || state === 'erased' ? '–' : states[state]
    const place = format.number(first + 1)
    return first === last ? words.mapItem(place, word) : `${words.mapRange(place, format.number(last + 1))}: ${word}`
  }
  const open = async (cell: number) => {
    const [first, last] = itemsOf(cell, data)
    if (first !== last) return onGoTo(first)
    const { items } = await call('GET /api/v1/batches/{id}/items', {
      params: { id: batch.id },
      query: { offset: first, limit: 1 },
    })
    if (items[0] !== undefined) navigate(`/jobs/${items[0].id}`)
    return undefined
  }
  const cellUnder = (event: PointerEvent): number | undefined => cellAt(event, canvas.current, grid, cells.length)
  const press = (event: KeyboardEvent) => {
    const move = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: grid.columns, ArrowUp: -grid.columns }[event.key]
    if (event.key === 'Enter' && at !== undefined) void open(at)
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
          aria-label={words.mapLabel(summaryOf(counts, states, format.number))}
          aria-describedby={`map-${batch.id}`}
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
            if (cell !== undefined && cell === drag.current) void open(cell)
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
        <span id={`map-${batch.id}`} aria-live="polite" class="ml-auto min-h-5 text-sm text-muted">
          {selected !== undefined ? (
            <SelectedRange data={data} range={selected} onGoTo={onGoTo} />
          ) : at !== undefined ? (
            textOf(at)
          ) : (
            ''
          )}
        </span>
      </div>
    </>
  )
}

function SelectedRange({ data, range, onGoTo }: { data: ItemMapData; range: Range; onGoTo(position: number): void }) {
  const words = useMessages(batchMessages)
  const format = useFormat()
  const [first] = itemsOf(range[0], data)
  const [, last] = itemsOf(range[1], data)
  return (
    <span class="flex items-center gap-2">
      {words.mapSelection(format.number(first + 1), format.number(last + 1))}
      <Button size="sm" onClick={() => onGoTo(first)}>
        {words.mapShow}
      </Button>
    </span>
  )
}

const sorted = (a: number, b: number): Range => (a < b ? [a, b] : [b, a])
const otherEnd = ([first, last]: Range, at: number | undefined): number => (at === first ? last : first)

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
