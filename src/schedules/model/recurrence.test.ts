import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { days, minutes, seconds } from '../../lib/values/duration.ts'
import { lastOccurrence, occurrenceAfter, type Recurrence } from './recurrence.ts'

function slots(plan: Recurrence, from: string, count: number): string[] {
  const found: string[] = []
  for (let at = new Date(from); found.length < count; ) {
    at = occurrenceAfter(plan, at)
    found.push(at.toISOString().replace('.000Z', 'Z'))
  }
  return found
}

const newYork = (cron: string): Recurrence => ({ cron, timeZone: 'America/New_York' })
const saoPaulo = (cron: string): Recurrence => ({ cron, timeZone: 'America/Sao_Paulo' })

test('a pattern is read in its time zone', () => {
  expect(slots(saoPaulo('0 4 * * *'), '2026-11-15T00:00:00Z', 2)).toEqual([
    '2026-11-15T07:00:00Z',
    '2026-11-16T07:00:00Z',
  ])
  expect(slots({ cron: '0 4 * * *', timeZone: 'UTC' }, '2026-11-15T00:00:00Z', 1)).toEqual(['2026-11-15T04:00:00Z'])
  expect(slots({ cron: '*/20 * * * * *', timeZone: 'UTC' }, '2026-11-15T00:00:00Z', 2)).toEqual([
    '2026-11-15T00:00:20Z',
    '2026-11-15T00:00:40Z',
  ])
})

test('the next slot lies after the instant, never at it', () => {
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
  expect(slots({ every: minutes(5) }, '2026-11-15T07:03:11.123Z', 2)).toEqual([
    '2026-11-15T07:05:00Z',
    '2026-11-15T07:10:00Z',
  ])
  expect(slots({ every: days(7) }, '2026-11-15T00:00:00Z', 1)).toEqual(['2026-11-19T00:00:00Z'])
})

describe('where clocks change', () => {
  test('a slot in the hour that is left out fires once, at the jump', () => {
    expect(slots(newYork('30 2 * * *'), '2026-03-07T00:00:00Z', 3)).toEqual([
      '2026-03-07T07:30:00Z',
      '2026-03-08T07:00:00Z',
      '2026-03-09T06:30:00Z',
    ])
    expect(slots(saoPaulo('30 0 * * *'), '2018-11-03T00:00:00Z', 3)).toEqual([
      '2018-11-03T03:30:00Z',
      '2018-11-04T03:00:00Z',
      '2018-11-05T02:30:00Z',
    ])
  })

  test('a time of day in the hour that comes twice fires in the first one only', () => {
    expect(slots(newYork('30 1 * * *'), '2026-10-31T00:00:00Z', 3)).toEqual([
      '2026-10-31T05:30:00Z',
      '2026-11-01T05:30:00Z',
      '2026-11-02T06:30:00Z',
    ])
    expect(slots(saoPaulo('30 23 * * *'), '2018-02-17T00:00:00Z', 3)).toEqual([
      '2018-02-17T01:30:00Z',
      '2018-02-18T01:30:00Z',
      '2018-02-19T02:30:00Z',
    ])
  })

  test('what fires every quarter of an hour goes on doing so', () => {
    const found = slots(newYork('*/15 * * * *'), '2026-11-01T04:00:00Z', 20).map(at => Date.parse(at))
    expect(found.slice(1).map((at, i) => at - found[i]!)).toEqual(Array.from({ length: 19 }, () => minutes(15)))
  })
})

test('the last slot up to an instant is found among any number, the same as by counting', () => {
  const plans: Recurrence[] = [
    newYork('*/7 1-3 * * *'),
    newYork('30 2 * * *'),
    saoPaulo('0 4 * * 1'),
    { every: minutes(11) },
    { every: seconds(90) },
  ]
  const nearChanges = fc.constantFrom(Date.UTC(2026, 1, 26), Date.UTC(2026, 9, 22))
  const secondsOf = (n: number) => fc.nat(days(n) / 1000)
  fc.assert(
    fc.property(fc.constantFrom(...plans), nearChanges, secondsOf(12), secondsOf(2), (plan, around, start, length) => {
      const first = occurrenceAfter(plan, new Date(around + start * 1000))
      const now = new Date(first.getTime() + length * 1000)
      let counted = first
      for (let next = first; next <= now; next = occurrenceAfter(plan, next)) counted = next
      expect(lastOccurrence(plan, first, now)).toEqual(counted)
    }),
    { numRuns: 100 },
  )
})

test('a second of a year is found at once', () => {
  const plan: Recurrence = { cron: '* * * * * *', timeZone: 'UTC' }
  const now = new Date('2027-01-01T00:00:00.500Z')
  expect(lastOccurrence(plan, new Date('2026-01-01T00:00:00Z'), now)).toEqual(new Date('2027-01-01T00:00:00Z'))
})
