import { expect, test } from 'vitest'
import { ClaimCursors, startCursor } from './claim-cursors.ts'
import type { ClaimCursor } from './sql/claim.ts'

const mark = (n: number): ClaimCursor => ({ runAt: `2030-01-01 12:00:00.${String(n).padStart(6, '0')}`, id: String(n) })

test('a lane nobody claimed from begins at the start', () => {
  expect(new ClaimCursors().from('a', 9, 0)).toEqual(startCursor)
})

test('a claim begins at the mark of a quarter second ago, lane by lane', () => {
  const cursors = new ClaimCursors()
  cursors.took('a', 9, [mark(1)], 1000)
  cursors.took('a', 9, [mark(2)], 1200)
  cursors.took('a', 8, [mark(7)], 1200)
  expect(cursors.from('a', 9, 1100)).toEqual(startCursor)
  expect(cursors.from('a', 9, 1250)).toEqual(mark(1))
  expect(cursors.from('a', 9, 1450)).toEqual(mark(2))
  expect(cursors.from('a', 8, 1450)).toEqual(mark(7))
  expect(cursors.from('b', 9, 9999)).toEqual(startCursor)
})

test('a fast lane looks back over 2,000 rows at most', () => {
  const cursors = new ClaimCursors()
  for (let i = 1; i <= 10; i++)
    cursors.took(
      'a',
      9,
      Array.from({ length: 500 }, (_, n) => mark(i * 1000 + n)),
      1000 + i,
    )
  expect(cursors.from('a', 9, 1011)).toEqual(mark(6499))
})

test('a mark never goes back, whatever order rows come in', () => {
  const cursors = new ClaimCursors()
  cursors.took('a', 9, [mark(5), mark(9), mark(10), mark(3)], 0)
  cursors.took('a', 9, [mark(4)], 1)
  expect(cursors.from('a', 9, 1000)).toEqual(mark(10))
  cursors.took(
    'a',
    9,
    [
      { runAt: '2030-01-01 12:00:00.5', id: '11' },
      { runAt: '2030-01-01 12:00:00.51', id: '9' },
    ],
    2,
  )
  expect(cursors.from('a', 9, 1000)).toEqual({ runAt: '2030-01-01 12:00:00.51', id: '9' })
  cursors.took('a', 9, [{ runAt: '2030-01-01 12:00:00.51', id: '10' }], 3)
  expect(cursors.from('a', 9, 1000)).toEqual({ runAt: '2030-01-01 12:00:00.51', id: '10' })
})

test('sweeping from the start never costs more than a twentieth of the time', () => {
  const cursors = new ClaimCursors()
  expect(cursors.sweepIsDue(0)).toBe(true)
  cursors.swept(0, 2)
  expect(cursors.sweepIsDue(999)).toBe(false)
  expect(cursors.sweepIsDue(1000)).toBe(true)
  cursors.swept(1000, 100)
  expect(cursors.sweepIsDue(2999)).toBe(false)
  expect(cursors.sweepIsDue(3000)).toBe(true)
  cursors.swept(3000, 60_000)
  expect(cursors.sweepIsDue(32_999)).toBe(false)
  expect(cursors.sweepIsDue(33_000)).toBe(true)
})

test('a claim that brought all there was moves every lane of its queue up to the check before it, and no other', () => {
  const cursors = new ClaimCursors()
  cursors.took('q', 9, [{ runAt: '2030-01-01 12:00:00.5', id: '7' }], 0)
  cursors.sawAll('q', '2030-01-01 12:00:09.75')
  expect(cursors.from('q', 9, 1000)).toEqual({ runAt: '2030-01-01 12:00:09.75', id: '0' })
  expect(cursors.from('q', 8, 1000)).toEqual({ runAt: '2030-01-01 12:00:09.75', id: '0' })
  expect(cursors.from('other', 9, 1000)).toEqual(startCursor)
  cursors.took('q', 9, [{ runAt: '2030-01-01 12:00:11', id: '8' }], 1000)
  expect(cursors.from('q', 9, 2000)).toEqual({ runAt: '2030-01-01 12:00:11', id: '8' })
})

test('once what was passed by may be claimed after all, its queue is begun at the start', () => {
  const cursors = new ClaimCursors()
  cursors.took('q', 9, [{ runAt: '2030-01-01 12:00:00.5', id: '7' }], 0)
  cursors.took('my q', 9, [{ runAt: '2030-01-01 12:00:00.5', id: '7' }], 0)
  cursors.sawAll('q', '2030-01-01 12:00:09.75')
  cursors.forget('q')
  expect(cursors.from('q', 9, 1000)).toEqual(startCursor)
  expect(cursors.from('my q', 9, 1000)).toEqual({ runAt: '2030-01-01 12:00:00.5', id: '7' })
})
