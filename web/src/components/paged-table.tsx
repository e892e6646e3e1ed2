/**
 * A table whose rows are read by their number, such as the million items of a batch: the scroll bar spans all rows, and only the rows on
 * the screen exist and are read (`onRange`). A row that is not read yet shows bars. Rows have one height.
 */
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'react'
import { classes } from '../lib/classes.ts'
import { rowClick } from './row-click.ts'
import type { Column } from './table.tsx'
import { Cell } from './virtual-table.tsx'

const rowHeight = 36
const overscan = 6
/** Browsers draw no element that is higher than some ten million pixels; above, the scroll bar moves in larger steps. */
const highest = 10_000_000

interface PagedTableProps<Row> {
  label: string
  columns: readonly Column<Row>[]
  /** Number of rows, read or not. */
  count: number
  rowAt(index: number): Row | undefined
  /** Called with the numbers of the first and the last row on the screen, after each change. */
  onRange(first: number, last: number): void
  onRow?: (row: Row) => void
  /** Rows of the scrolling part at most. */
  rows?: number
  /** Scrolls to this row, once for each new value, as soon as the table has the row. */
  goTo?: { index: number } | undefined
  empty?: ComponentChildren
}

export function PagedTable<Row>(props: PagedTableProps<Row>) {
  const { label, columns, count, rowAt, onRange, onRow, rows = 15, goTo, empty } = props
  const scroller = useRef<HTMLDivElement>(null)
  const frame = useRef(0)
  const [top, setTop] = useState(0)
  const view = Math.min(rows, count) * rowHeight
  const whole = count * rowHeight
  const shown = Math.min(whole, highest)
  const step = shown > view ? (whole - view) / (shown - view) : 1
  const offset = Math.max(0, Math.min(top * step, whole - view))
  const first = Math.max(0, Math.floor(offset / rowHeight) - overscan)
  const last = Math.min(count - 1, Math.ceil((offset + view) / rowHeight) + overscan)
  useEffect(() => () => cancelAnimationFrame(frame.current), [])
  useEffect(() => {
    if (count > 0) onRange(first, last)
  }, [first, last, count, onRange])
  const gone = useRef<{ index: number } | undefined>(undefined)
  useEffect(() => {
    if (goTo === undefined || goTo === gone.current || goTo.index >= count || scroller.current === null) return
    gone.current = goTo
    scroller.current.scrollTop = (goTo.index * rowHeight) / step
  }, [goTo, count, step])
  if (count === 0 && empty !== undefined) return <>{empty}</>
  const onScroll = () => {
    if (frame.current !== 0) return
    frame.current = requestAnimationFrame(() => {
      frame.current = 0
      setTop(scroller.current?.scrollTop ?? 0)
    })
  }
  return (
    <div role="table" aria-label={label} aria-rowcount={count} class="text-left">
      <div role="row" class="flex h-8 items-center border-b px-2 text-sm font-medium text-muted">
        {columns.map(column => (
          <Cell key={column.id} column={column} role="columnheader">
            {column.header}
          </Cell>
        ))}
      </div>
      <div
        ref={scroller}
        role="rowgroup"
        tabIndex={0}
        aria-label={label}
        class="overflow-y-auto overscroll-contain"
        style={{ height: `${view}px` }}
        onScroll={onScroll}
      >
        <div class="relative" style={{ height: `${shown}px` }}>
          {Array.from({ length: Math.max(0, last - first + 1) }, (_, place) => {
            const index = first + place
            const row = rowAt(index)
            return (
              <div
                key={index}
                role="row"
                aria-rowindex={index + 1}
                class={classes(
                  'absolute inset-x-0 top-0 flex h-[36px] items-center border-b px-2',
                  onRow && row !== undefined && 'cursor-pointer hover:bg-hover',
                )}
                style={{ transform: `translateY(${top + index * rowHeight - offset}px)` }}
                onClick={onRow && row !== undefined ? rowClick(() => onRow(row)) : undefined}
              >
                {columns.map(column => (
                  <Cell key={column.id} column={column} role="cell">
                    {row === undefined ? <span class="block h-3 rounded-sm bg-idle-soft" /> : column.cell(row)}
                  </Cell>
                ))}
              </div>
            )
          })}
        </div>
      </div>
    </div>
  )
}
