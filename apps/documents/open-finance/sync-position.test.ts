/** The position of a sync after each page: the next page, the next account, or the end. */
import { expect, test } from 'vitest'
import { afterPage, beginning, isEndless } from './sync-position.ts'
import type { TransactionPage } from './types.ts'

const cursor = (query: string | null): TransactionPage => ({
  transactions: [],
  next: query === null ? null : { by: 'cursor', query },
  total: null,
})
const numbered = (page: number | null, total: number): TransactionPage => ({
  transactions: [],
  next: page === null ? null : { by: 'page', page },
  total,
})

test('by cursor the sync ends with the page that has no next page', () => {
  const first = afterPage(beginning, cursor('a'), 5)
  expect(first).toMatchObject({ isRead: false, position: { place: { by: 'cursor', query: 'a' }, pages: 1, seen: 5 } })
  expect(afterPage(first.position, cursor(null), 2)).toMatchObject({ isRead: true, isWhole: true })
})

test('a list whose total changes between two pages is read again, three times at most', () => {
  const first = afterPage(beginning, numbered(2, 10), 5)
  const shifted = afterPage(first.position, numbered(null, 9), 4)
  expect(shifted).toMatchObject({ isRead: false, position: { place: null, restarts: 1, pages: 2, seen: 9 } })
  const again = afterPage(shifted.position, numbered(2, 9), 0)
  expect(again.position).toMatchObject({ total: 9, place: { by: 'page', page: 2 } })
  expect(afterPage(again.position, numbered(null, 9), 0)).toMatchObject({ isRead: true, isWhole: true })
  let position = first.position
  for (let n = 0; n < 3; n++) position = afterPage(position, numbered(null, 8), 0).position
  expect(position.restarts).toBe(3)
  expect(afterPage({ ...position, place: { by: 'page', page: 2 }, total: 8 }, numbered(null, 7), 0)).toMatchObject({
    isRead: true,
    isWhole: false,
  })
})

test('a list with fewer different transactions than its total is read again', () => {
  const first = afterPage(beginning, numbered(2, 10), 5)
  expect(afterPage(first.position, numbered(null, 10), 4)).toMatchObject({ isRead: false, position: { restarts: 1 } })
  expect(afterPage(first.position, numbered(null, 10), 5)).toMatchObject({ isRead: true, isWhole: true })
})

test('a list that repeats itself has an end', () => {
  let { position } = afterPage(beginning, cursor('a'), 5)
  let pages = 1
  while (!isEndless(position)) {
    position = afterPage(position, cursor(pages % 2 === 0 ? 'a' : 'b'), 0).position
    pages++
  }
  expect(pages).toBe(22)
})
