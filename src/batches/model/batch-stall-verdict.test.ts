import { describe, expect, test } from 'vitest'
import { hours, minutes } from '../../lib/values/duration.ts'
import { type BatchStallFacts, judgeBatch } from './batch-stall-verdict.ts'

describe('a batch', () => {
  const batch = (given: Partial<BatchStallFacts>): BatchStallFacts => ({
    running: 1,
    stalled: 0,
    left: 10,
    ready: true,
    room: true,
    anybody: true,
    quietMs: minutes(5),
    ranMs: minutes(5),
    watchedMs: hours(10),
    ...given,
  })
  const of = { stallAfter: minutes(5), onStall: 'stall' } as const
  const verdict = (given: Partial<BatchStallFacts>) => judgeBatch(batch(given), of).verdict
  const action = (given: Partial<BatchStallFacts>) => judgeBatch(batch(given), of).action

  test('makes no progress when no attempt ended for stallAfter of a clock that ran', () => {
    expect(judgeBatch(batch({}), of)).toEqual({ verdict: 'no progress', action: 'stall' })
    for (const young of ['quietMs', 'ranMs', 'watchedMs'] as const)
      expect(judgeBatch(batch({ [young]: minutes(5) - 1 }), of), young).toEqual({ verdict: 'at work', action: 'run' })
    expect(judgeBatch(batch({ ranMs: null }), of)).toEqual({ verdict: 'at work', action: 'run' })
  })

  test('has a clock that stands while all of it waits for its time, or behind others', () => {
    expect(action({ running: 0, ready: false })).toBe('stand')
    expect(action({ running: 0, room: false })).toBe('stand')
    expect(judgeBatch(batch({}), { ...of, stallAfter: null }).action).toBe('stand')
  })

  test('has nobody: that is said', () => {
    expect(verdict({ running: 0, room: false, anybody: false })).toBe('no worker')
    expect(action({ running: 0, room: false, anybody: false, ready: false })).toBe('stand')
  })

  test('of which all that is left waits for a person does not wait for ever', () => {
    expect(verdict({ running: 0, ready: false, stalled: 10 })).toBe('no progress')
    expect(action({ running: 0, ready: false, stalled: 9 })).toBe('stand')
  })
})
