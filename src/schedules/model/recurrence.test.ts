import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { days, minutes, seconds } from '../../lib/values/duration.ts'
import { lastOccurrence, occurrenceAfter, type Recurrence } from './recurrence.ts'

function occurrences(recurrence: Recurrence, from: string, count: number): string[] {
  const found: string[] = []
  for (let at = new Date(from); found.length < count; ) {
    at = occurrenceAfter(recurrence, at)
    found.push(at.toISOString().replace('.000Z', 'Z'))
  }
  return found
}

const newYork = (cron: string): Recurrence => ({ cron, timeZone: 'America/New_York' })
const saoPaulo = (cron: string): Recurrence => ({ cron, timeZone: 'America/Sao_Paulo' })

test('a pattern is read in its time zone', () => {
  expect(occurrences(saoPaulo('0 4 * * *'), '2026-11-15T00:00:00Z', 2)).toEqual([
    '2026-11-15T07:00:00Z',
    '2026-11-16T07:00:00Z',
  ])
  expect(occurrences({ cron: '0 4 * * *', timeZone: 'UTC' }, '2026-11-15T00:00:00Z', 1)).toEqual([
    '2026-11-15T04:00:00Z',
  ])
  expect(occurrences({ cron: '*/20 * * * * *', timeZone: 'UTC' }, '2026-11-15T00:00:00Z', 2)).toEqual([
    '2026-11-15T00:00:20Z',
    '2026-11-15T00:00:40Z',
  ])
})

test('the next occurrence lies after the instant, never at it', () => {
  expect(occurrenceAfter(saoPaulo('0 4 * * *'), new Date('2026-11-15T06:59:59.999Z'))).toEqual(
    new Date('2026-11-15T07:00:00Z'),
  )
  expect(occurrenceAfter(saoPaulo('0 4 * * *'), new Date('2026-11-15T07:00:00Z'))).toEqual(
    new Date('2026-11-16T07:00:00Z'),
  )
  expect(occurrenceAfter({ every: minutes(5) }, new Date('2026-11-15T07:00:00Z'))).toEqual(
    new Date('2026-11-15T07:05:00Z'),
  )
})

test('every counts from the epoch, whenever it is asked', () => {
  expect(occurrences({ every: minutes(5) }, '2026-11-15T07:03:11.123Z', 2)).toEqual([
    '2026-11-15T07:05:00Z',
    '2026-11-15T07:10:00Z',
  ])
  expect(occurrences({ every: days(7) }, '2026-11-15T00:00:00Z', 1)).toEqual(['2026-11-19T00:00:00Z'])
})

describe('where clocks change', () => {
  test('an occurrence in the hour that is left out fires once, at the jump', () => {
    expect(occurrences(newYork('30 2 * * *'), '2026-03-07T00:00:00Z', 3)).toEqual([
      '2026-03-07T07:30:00Z',
      '2026-03-08T07:00:00Z',
      '2026-03-09T06:30:00Z',
    ])
    expect(occurrences(saoPaulo('30 0 * * *'), '2018-11-03T00:00:00Z', 3)).toEqual([
      '2018-11-03T03:30:00Z',
      '2018-11-04T03:00:00Z',
      '2018-11-05T02:30:00Z',
    ])
  })

  test('a time of day in the hour that comes twice fires in the first one only', () => {
    expect(occurrences(newYork('30 1 * * *'), '2026-10-31T00:00:00Z', 3)).toEqual([
      '2026-10-31T05:30:00Z',
      '2026-11-01T05:30:00Z',
      '2026-11-02T06:30:00Z',
    ])
    expect(occurrences(saoPaulo('30 23 * * *'), '2018-02-17T00:00:00Z', 3)).toEqual([
      '2018-02-17T01:30:00Z',
      '2018-02-18T01:30:00Z',
      '2018-02-19T02:30:00Z',
    ])
  })

  test('what fires every quarter of an hour goes on doing so', () => {
    const found = occurrences(newYork('*/15 * * * *'), '2026-11-01T04:00:00Z', 20).map(at => Date.parse(at))
    expect(found.slice(1).map((at, i) => at - found[i]!)).toEqual(Array.from({ length: 19 }, () => minutes(15)))
  })
})

test('the last occurrence up to an instant is found among any number, the same as by counting', () => {
  const recurrences: Recurrence[] = [
    newYork('*/7 1-3 * * *'),
    newYork('30 2 * * *'),
    saoPaulo('0 4 * * 1'),
    { every: minutes(11) },
    { every: seconds(90) },
  ]
  const nearChanges = fc.constantFrom(Date.UTC(2026, 1, 26), Date.UTC(2026, 9, 22))
  const secondsOf = (n: number) => fc.nat(days(n) / 1000)
  fc.assert(
    fc.property(
      fc.constantFrom(...recurrences),
      nearChanges,
      secondsOf(12),
      secondsOf(2),
      (recurrence, around, start, length) => {
        const first = occurrenceAfter(recurrence, new Date(around + start * 1000))
        const now = new Date(first.getTime() + length * 1000)
        let counted = first
        for (let next = first; next <= now; next = occurrenceAfter(recurrence, next)) counted = next
        expect(lastOccurrence(recurrence, first, now)).toEqual(counted)
      },
    ),
    { numRuns: 100 },
  )
})

test('a second of a year is found at once', () => {
  const recurrence: Recurrence = { cron: '* * * * * *', timeZone: 'UTC' }
  const now = new Date('2027-01-01T00:00:00.500Z')
  expect(lastOccurrence(recurrence, new Date('2026-01-01T00:00:00Z'), now)).toEqual(new Date('2027-01-01T00:00:00Z'))
})
