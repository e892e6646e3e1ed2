import { describe, expect, test } from 'vitest'
import { minutes, seconds } from '../../lib/values/duration.ts'
import { type CatchUp, dueOccurrences } from './catch-up.ts'

const at = (time: string) => new Date(`2026-11-15T${time}Z`)
const recurrence = { every: minutes(5) }
const due = (catchUp: CatchUp, now: string, limit = 100) =>
  dueOccurrences(recurrence, catchUp, at('07:00:00'), at(now), limit)

test.each(['skip', 'once', 'all'] as const)(
  'an occurrence that is just due fires, whatever the policy: %s',
  catchUp => {
    expect(due(catchUp, '07:00:00')).toEqual({ occurrences: [at('07:00:00')], nextAt: at('07:05:00') })
    expect(due(catchUp, '07:00:59')).toEqual({ occurrences: [at('07:00:00')], nextAt: at('07:05:00') })
  },
)

describe('of four occurrences that were missed', () => {
  test('skip fires none', () => {
    expect(due('skip', '07:17:00')).toEqual({ occurrences: [], nextAt: at('07:20:00') })
  })

  test('skip fires the one that is only late', () => {
    expect(due('skip', '07:15:30')).toEqual({ occurrences: [at('07:15:00')], nextAt: at('07:20:00') })
  })

  test('once fires the last', () => {
    expect(due('once', '07:17:00')).toEqual({ occurrences: [at('07:15:00')], nextAt: at('07:20:00') })
  })

  test('all fires each, in chunks', () => {
    const all = [at('07:00:00'), at('07:05:00'), at('07:10:00'), at('07:15:00')]
    expect(due('all', '07:17:00')).toEqual({ occurrences: all, nextAt: at('07:20:00') })
    expect(due('all', '07:17:00', 3)).toEqual({ occurrences: all.slice(0, 3), nextAt: at('07:15:00') })
  })
})

test('what fires every second is late by a minute at most, and only its newest occurrence counts', () => {
  const { occurrences } = dueOccurrences({ every: seconds(1) }, 'skip', at('07:00:00'), at('08:00:00'), 100)
  expect(occurrences).toEqual([at('08:00:00')])
})
