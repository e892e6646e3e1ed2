/** Checks the options of a list and cuts a page from the rows. */

import { refuseOption } from '../../errors/invalid-option.ts'
import { isId } from './id.ts'

/** The page of a list. */
export interface ListPageOptions {
  /** The most rows of the page, 1 to 500. Default 50. */
  limit?: number
  /** `next` of the page before. Default: the first page. */
  after?: string
}

export function checkPage({ limit = 50, after }: ListPageOptions, cursor: (after: string) => boolean = isId): number {
  if (!Number.isInteger(limit) || limit < 1 || limit > 500) refuseOption('limit', 'it is from 1 to 500', 'é de 1 a 500')
  if (after !== undefined && !cursor(after))
    refuseOption('after', 'it is the next of an earlier list', 'é o next de uma lista anterior')
  return limit
}

/** A page of a list, and the cursor of the next page. */
export interface ListPage<Row> {
  items: Row[]
  next: string | null
}

/** `rows` has `limit` + 1 rows if there is a next page. */
export function pageOf<Row extends { id: string }>(
  rows: readonly Row[],
  limit: number,
  cursor = (last: Row) => last.id,
): ListPage<Row> {
  const items = rows.slice(0, limit)
  return { items, next: rows.length > limit ? cursor(items.at(-1)!) : null }
}
