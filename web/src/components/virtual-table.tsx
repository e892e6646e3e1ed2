/**
 * A table of any length: only the rows on the screen exist. Reads more rows through `onEnd` while the user scrolls. Rows have one
 * height, so that a million rows need no measuring.
 */
import { useVirtualizer } from '@tanstack/react-virtual'
import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'react'
import { classes } from '../lib/classes.ts'
import { rowClick } from './row-click.ts'
import { type Column, hidden } from './table.tsx'

const rowHeight = 40

interface VirtualTableProps<Row> {
  label: string
  columns: readonly Column<Row>[]
  rows: readonly Row[]
  /** The number of rows if it is known before all are read; read aloud. */
  total?: number
  keyOf(row: Row): string
  onRow?: (row: Row) => void
  /** Called when the last read row comes near. */
  onEnd?: () => void
  /** A CSS height of the scrolling part. Default: down to the bottom of the window. */
  height?: string
  empty?: ComponentChildren
}

export function VirtualTable<Row>({
  label,
  columns,
  rows,
  total,
  keyOf,
  onRow,
  onEnd,
  height,
  empty,
}: VirtualTableProps<Row>) {
  const scroller = useRef<HTMLDivElement>(null)
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 10,
  })
  const rest = useRestOfWindow(scroller, height === undefined)
  const shown = virtual.getVirtualItems()
  const last = shown.at(-1)?.index ?? 0
  useEffect(() => {
    if (rows.length > 0 && last >= rows.length - 20) onEnd?.()
  }, [last, rows.length, onEnd])
  if (rows.length === 0 && empty !== undefined) return <>{empty}</>
  return (
    <div role="table" aria-label={label} aria-rowcount={total ?? rows.length} class="text-left">
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
        style={{ maxHeight: height ?? rest }}
      >
        <div class="relative" style={{ height: `${virtual.getTotalSize()}px` }}>
          {shown.map(({ index, start }) => {
            const row = rows[index]!
            return (
              <div
                key={keyOf(row)}
                role="row"
                aria-rowindex={index + 1}
                class={classes(
                  'absolute inset-x-0 top-0 flex h-[40px] items-center border-b px-2',
                  onRow && 'cursor-pointer hover:bg-hover',
                )}
                style={{ transform: `translateY(${start}px)` }}
                onClick={onRow && rowClick(() => onRow(row))}
              >
                {columns.map(column => (
                  <Cell key={column.id} column={column} role="cell">
                    {column.cell(row)}
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

const leastRows = 8

/** The height from the top of the element to the bottom of the window, measured anew when what is above the element may have moved. */
function useRestOfWindow(element: { readonly current: HTMLElement | null }, isWanted: boolean): string {
  const [top, setTop] = useState(260)
  useLayoutEffect(() => {
    const measure = () => {
      if (isWanted && element.current !== null)
        setTop(Math.round(element.current.getBoundingClientRect().top + window.scrollY))
    }
    measure()
    window.addEventListener('resize', measure)
    return () => window.removeEventListener('resize', measure)
  })
  return `max(${leastRows * rowHeight}px, 100dvh - ${top + 24}px)`
}

interface CellProps<Row> {
  column: Column<Row>
  role: 'cell' | 'columnheader'
  children: ComponentChildren
}

export function Cell<Row>({ column: { align, width, hide }, role, children }: CellProps<Row>) {
  return (
    <div
      role={role}
      class={classes(
        'min-w-0 truncate px-2',
        width === undefined && 'flex-1',
        align === 'right' && 'text-right',
        hide && hidden[hide],
      )}
      style={width === undefined ? {} : { width, flex: 'none' }}
    >
      {children}
    </div>
  )
}
