import { describe, expect, test } from 'vitest'
import { defaultPolicy } from '../../jobs/model/policy.ts'
import { hours, minutes, seconds } from '../../lib/values/duration.ts'
import { type AttemptFacts, judgeAttempt } from './late-attempt-verdict.ts'

const long = hours(10)
const policy = { ...defaultPolicy, timeout: minutes(2), stallAfter: minutes(5), expect: seconds(45) }
const attempt = (given: Partial<AttemptFacts> = {}): AttemptFacts => ({
  runningMs: 0,
  quietMs: 0,
  sweptMs: 0,
  blocked: 'no',
  blockedMs: null,
  freeMs: null,
  watchedMs: long,
  ...given,
})

describe('an attempt', () => {
  const verdict = (given: Partial<AttemptFacts>, of = policy) => judgeAttempt(attempt(given), of)?.verdict

  test('within its limits has no verdict', () => {
    expect(judgeAttempt(attempt(), policy)).toBeNull()
  })

  test('times out one minute after its timeout and not a millisecond earlier, with or without progress', () => {
    expect(verdict({ runningMs: minutes(3) - 1 })).toBe('slow')
    expect(judgeAttempt(attempt({ runningMs: minutes(3) }), policy)).toEqual({ verdict: 'timeout', action: 'count' })
  })

  test('does not time out by unobserved time or by time in which another job blocked its loop', () => {
    const over = { runningMs: minutes(30) }
    expect(verdict({ ...over, watchedMs: minutes(3) - 1 })).toBe('slow')
    expect(verdict({ ...over, freeMs: minutes(3) - 1 })).toBe('slow')
    expect(verdict({ ...over, blocked: 'by another' })).toBe('slow')
    expect(verdict({ ...over, blocked: 'by it' })).toBe('timeout')
    expect(verdict({ ...over, freeMs: minutes(3), watchedMs: minutes(3) })).toBe('timeout')
  })

  test('behind a loop that another job has blocked for its timeout plus one minute is released as an orphan and not charged', () => {
    const behind = { runningMs: minutes(30), blocked: 'by another' as const, blockedMs: minutes(3) }
    expect(judgeAttempt(attempt(behind), { ...policy, onOrphan: 'stall' })).toEqual({
      verdict: 'hung',
      action: 'stall',
    })
    expect(verdict({ ...behind, blockedMs: minutes(3) - 1 })).toBe('slow')
    expect(verdict({ ...behind, watchedMs: minutes(3) - 1 })).toBe('slow')
  })

  test('is stalled after stallAfter without progress, if its loop is free', () => {
    const patient = { ...policy, timeout: hours(1), onStall: 'fail' as const }
    const still = { runningMs: minutes(9), quietMs: minutes(5) }
    expect(judgeAttempt(attempt(still), patient)).toEqual({ verdict: 'stalled', action: 'fail' })
    expect(verdict({ ...still, quietMs: minutes(5) - 1 }, patient)).toBe('slow')
    expect(verdict({ ...still, watchedMs: minutes(5) - 1 }, patient)).toBe('slow')
    expect(verdict({ ...still, freeMs: minutes(5) - 1 }, patient)).toBe('slow')
    expect(verdict({ ...still, blocked: 'by it' }, patient)).toBe('slow')
    expect(verdict({ ...still, blocked: 'by another' }, patient)).toBe('slow')
    expect(verdict({ ...still, sweptMs: 1 }, patient)).toBe('slow')
    expect(verdict({ ...still, quietMs: minutes(5) + 1, sweptMs: 1 }, patient)).toBe('stalled')
  })

  test('of a kind without stallAfter and expect is never stalled or slow', () => {
    const quiet = { runningMs: minutes(15), quietMs: minutes(15) }
    expect(judgeAttempt(attempt(quiet), defaultPolicy)).toBeNull()
  })

  test('is slow once it runs for longer than `expect`', () => {
    expect(judgeAttempt(attempt({ runningMs: seconds(45) - 1 }), policy)).toBeNull()
    expect(judgeAttempt(attempt({ runningMs: seconds(45) }), policy)).toEqual({ verdict: 'slow', action: 'report' })
  })
})
