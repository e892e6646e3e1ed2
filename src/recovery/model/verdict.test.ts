import { describe, expect, test } from 'vitest'
import { defaultPolicy } from '../../jobs/model/policy.ts'
import { hours, minutes, seconds } from '../../lib/values/duration.ts'
import { type JobFacts, judge, type LaneFacts, type WorkerFacts } from './verdict.ts'

const long = hours(10)
const policy = { ...defaultPolicy, timeout: minutes(2), stallAfter: minutes(5), expect: seconds(45), maxAge: hours(24) }
const job = (given: Partial<JobFacts> = {}): JobFacts => ({
  of: 'job',
  state: 'running',
  ageMs: 0,
  runningMs: 0,
  quietMs: 0,
  sweptMs: 0,
  held: true,
  blocked: 'no',
  blockedMs: null,
  freeMs: null,
  watchedMs: long,
  ...given,
})

describe('a job', () => {
  const verdict = (given: Partial<JobFacts>, of = policy) => judge(job(given), of)?.verdict

  test('that just runs has no verdict', () => {
    expect(judge(job(), policy)).toBeNull()
  })

  test('is out of time a minute after its timeout, not a millisecond before, whatever its progress', () => {
    expect(verdict({ runningMs: minutes(3) - 1 })).toBe('slow')
    expect(judge(job({ runningMs: minutes(3) }), policy)).toEqual({ verdict: 'timeout', action: 'count' })
  })

  test('is not out of time for what nobody could see, nor for what another did to its loop', () => {
    const over = { runningMs: minutes(30) }
    expect(verdict({ ...over, watchedMs: minutes(3) - 1 })).toBe('slow')
    expect(verdict({ ...over, freeMs: minutes(3) - 1 })).toBe('slow')
    expect(verdict({ ...over, blocked: 'by another' })).toBe('slow')
    expect(verdict({ ...over, blocked: 'by it' })).toBe('timeout')
    expect(verdict({ ...over, freeMs: minutes(3), watchedMs: minutes(3) })).toBe('timeout')
  })

  test('that another keeps from going on for as long as it may take and a minute is not charged, and is as one whose worker is gone', () => {
    const behind = { runningMs: minutes(30), blocked: 'by another' as const, blockedMs: minutes(3) }
    expect(judge(job(behind), { ...policy, onOrphan: 'stall' })).toEqual({ verdict: 'hung', action: 'stall' })
    expect(verdict({ ...behind, blockedMs: minutes(3) - 1 })).toBe('slow')
    expect(verdict({ ...behind, watchedMs: minutes(3) - 1 })).toBe('slow')
  })

  test('stands still after stallAfter without a sign, while its loop goes round', () => {
    const patient = { ...policy, timeout: hours(1), onStall: 'fail' as const }
    const still = { runningMs: minutes(9), quietMs: minutes(5) }
    expect(judge(job(still), patient)).toEqual({ verdict: 'stalled', action: 'fail' })
    expect(verdict({ ...still, quietMs: minutes(5) - 1 }, patient)).toBe('slow')
    expect(verdict({ ...still, watchedMs: minutes(5) - 1 }, patient)).toBe('slow')
    expect(verdict({ ...still, freeMs: minutes(5) - 1 }, patient)).toBe('slow')
    expect(verdict({ ...still, blocked: 'by it' }, patient)).toBe('slow')
    expect(verdict({ ...still, blocked: 'by another' }, patient)).toBe('slow')
    expect(verdict({ ...still, sweptMs: 1 }, patient)).toBe('slow')
    expect(verdict({ ...still, quietMs: minutes(5) + 1, sweptMs: 1 }, patient)).toBe('stalled')
  })

  test('of a kind that says nothing of it never stands still, is never slow and never too old', () => {
    const quiet = { runningMs: minutes(15), quietMs: minutes(15), ageMs: hours(1000) }
    expect(judge(job(quiet), defaultPolicy)).toBeNull()
  })

  test('is slow once it takes longer than expected', () => {
    expect(judge(job({ runningMs: seconds(45) - 1 }), policy)).toBeNull()
    expect(judge(job({ runningMs: seconds(45) }), policy)).toEqual({ verdict: 'slow', action: 'report' })
  })

  test('is an orphan when its worker is gone, before anything else that runs against it', () => {
    expect(judge(job({ held: false, runningMs: long, quietMs: long }), { ...policy, onOrphan: 'stall' })).toEqual({
      verdict: 'orphan',
      action: 'stall',
    })
  })

  test.each(['waiting', 'running', 'stalled'] as const)('that is %s is overdue at maxAge, not before', state => {
    expect(verdict({ state, ageMs: hours(24) })).toBe('overdue')
    expect(judge(job({ state, ageMs: hours(24) - 1 }), policy)).toBeNull()
  })
})

describe('a worker', () => {
  const worker = (given: Partial<WorkerFacts>): WorkerFacts => ({
    of: 'worker',
    beatMs: 0,
    suspectedMs: null,
    looks: 0,
    watched: true,
    orphanAfter: seconds(20),
    blockedMs: null,
    ...given,
  })
  const verdict = (given: Partial<WorkerFacts>) => judge(worker(given))?.verdict

  test('that beats has none; one whose loop stands still hangs', () => {
    expect(verdict({ beatMs: seconds(10) })).toBeUndefined()
    expect(verdict({ blockedMs: 5000 })).toBe('hung')
  })

  test('is suspected first and dead two beats later', () => {
    expect(verdict({ beatMs: 10_001 })).toBe('suspect')
    expect(verdict({ beatMs: 20_001, suspectedMs: 9999, looks: 2 })).toBe('suspect')
    expect(verdict({ beatMs: 20_001, suspectedMs: 10_000, looks: 3 })).toBe('orphan')
    expect(verdict({ beatMs: 20_000, suspectedMs: 10_000, looks: 3 })).toBe('suspect')
    expect(verdict({ beatMs: 180_000, suspectedMs: 180_000, looks: 2, watched: false })).toBe('suspect')
    expect(verdict({ beatMs: 180_000, suspectedMs: 180_000, looks: 6, watched: false })).toBe('orphan')
  })
})

describe('a lane', () => {
  const lane = { of: 'lane', readyMs: 30_000, taken: false, paused: false, watchedMs: long } satisfies LaneFacts

  test('starves once its jobs were ready for half a minute and nobody takes them', () => {
    expect(judge(lane)).toEqual({ verdict: 'starved', action: 'report' })
    expect(judge({ ...lane, readyMs: 29_999 })).toBeNull()
    expect(judge({ ...lane, watchedMs: 29_999 })).toBeNull()
    expect(judge({ ...lane, taken: true })).toBeNull()
    expect(judge({ ...lane, paused: true })).toBeNull()
  })
})
