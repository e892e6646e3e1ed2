/**
 * A table for up to a few hundred rows; `VirtualTable` for more. On a narrow screen the columns without `keep` are hidden, so that the
 * page never scrolls sideways.
 */
import type { ComponentChildren } from 'preact'
import { classes } from '../lib/classes.ts'
import { rowClick } from './row-click.ts'

export interface Column<Row> {
  /** Stable name of the column. */
  id: string
  header: ComponentChildren
  cell(row: Row): ComponentChildren
  align?: 'left' | 'right'
  /** A CSS width, such as 8rem; without a width the column shares the rest. */
  width?: string
  /** Below which width of the window the column is hidden. Default: never. */
  hide?: 'sm' | 'nav' | 'lg'
}

export const hidden = { sm: 'max-sm:hidden', nav: 'max-nav:hidden', lg: 'max-lg:hidden' } as const

interface TableProps<Row> {
  /** Read aloud as the name of the table. */
  label: string
  columns: readonly Column<Row>[]
  rows: readonly Row[]
  keyOf(row: Row): string
  onRow?: (row: Row) => void
  /** Shown instead of rows when there are none. */
  empty?: ComponentChildren
}

export function Table<Row>({ label, columns, rows, keyOf, onRow, empty }: TableProps<Row>) {
  if (rows.length === 0 && empty !== undefined) return <>{empty}</>
  return (
    <table class="w-full table-fixed text-left" aria-label={label}>
      <thead>
        <tr class="border-b text-sm text-muted">
          {columns.map(({ id, header, align, width, hide }) => (
            <th
              key={id}
              scope="col"
              class={classes(
                'h-8 px-2 font-medium first:pl-4',
                align === 'right' && 'text-right',
                hide && hidden[hide],
              )}
              style={width === undefined ? {} : { width }}
            >
              {header}
            </th>
          ))}
          <Edge />
        </tr>
      </thead>
      <tbody>
        {rows.map(row => (
          <tr
            key={keyOf(row)}
            class={classes('border-b last:border-b-0', onRow && 'cursor-pointer hover:bg-hover')}
            onClick={onRow && rowClick(() => onRow(row))}
          >
            {columns.map(({ id, cell, align, hide }) => (
              <td
                key={id}
                class={classes(
                  'h-10 px-2 py-1.5 align-middle first:pl-4',
                  align === 'right' && 'text-right',
                  hide && hidden[hide],
                )}
              >
                {cell(row)}
              </td>
            ))}
            <Edge />
          </tr>
        ))}
      </tbody>
    </table>
  )
}

/** The space at the right edge, whichever column is the last one that is shown. */
const Edge = () => <td aria-hidden="true" class="w-2 p-0" />
