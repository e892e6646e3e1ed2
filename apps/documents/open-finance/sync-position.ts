/**
 * Decides how a sync continues after a page of transactions: with the next page, from the first page again, or not at all. Pure functions.
 *
 * A list by page number shifts if the bank adds or removes a transaction between two pages, and a shifted page hides transactions. So the
 * list is read again if its total changes, or if fewer different transactions came than the total says.
 */
import type { SyncPosition } from '../store/bank-data.ts'
import type { TransactionPage } from './types.ts'

export const beginning: SyncPosition = { place: null, pages: 0, seen: 0, repeated: 0, restarts: 0, total: null }

/** Pages of an account in one sync. */
const mostPages = 2000
/** Pages without any new transaction. */
const mostRepeated = 20
/** How often an account is read again because the list has shifted. */
const mostRestarts = 3

export interface NextStep {
  position: SyncPosition
  /** That was the last page. */
  isRead: boolean
  /** No transaction was missed, as far as the list tells. */
  isWhole: boolean
}

/** `fresh`: transactions of the page that the sync had not seen before. */
export function afterPage(before: SyncPosition, { next, total }: TransactionPage, fresh: number): NextStep {
  const isFirst = before.place === null
  const seen = before.seen + fresh
  const position: SyncPosition = {
    place: next,
    pages: before.pages + 1,
    seen,
    repeated: before.repeated + (fresh === 0 && !isFirst && before.restarts === 0 ? 1 : 0),
    restarts: before.restarts,
    total: isFirst ? total : before.total,
  }
  const hasShifted = total !== position.total || (next === null && total !== null && seen < total)
  if (hasShifted && before.restarts < mostRestarts)
    return {
      position: { ...position, place: null, restarts: before.restarts + 1 },
      isRead: false,
      isWhole: false,
    }
  return { position, isRead: next === null, isWhole: !hasShifted }
}

/** The list repeats itself, and does not end. */
export const isEndless = ({ pages, repeated }: SyncPosition): boolean => pages >= mostPages || repeated > mostRepeated
