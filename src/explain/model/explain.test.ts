/**
 * Tests explanations with arbitrary facts: a single sentence and an action, in both languages, without a missing value in the
 * text.
 */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { englishIn } from '../../../test/support/portuguese.ts'
import { batchStates } from '../../batches/model/batch-state.ts'
import type { RetomaError } from '../../errors/errors.ts'
import { defaultPolicy } from '../../jobs/model/policy.ts'
import { states } from '../../jobs/model/state.ts'
import { explainBatch } from './explain-batch.ts'
import type { BatchFacts, JobFacts, QueueFacts, WorkerFacts } from './explain-facts.ts'
import { explainJob } from './explain-job.ts'
import { whyProvider } from './explain-provider.ts'
import { explainQueue } from './explain-queue.ts'
import { explanationOf, type LocalizedExplanation } from './explanation.ts'
import { nextCheck, nextSweep } from './next-watchdog-check.ts'

const noon = Date.UTC(2030, 0, 1, 12)
const now = new Date(noon)
const maybe = <T>(of: fc.Arbitrary<T>) => fc.option(of, { nil: null })
const instant = fc.integer({ min: -200_000, max: 200_000 }).map(s => new Date(noon + s * 1000))
const past = fc.integer({ min: 0, max: 200_000 }).map(s => new Date(noon - s * 1000))
const count = fc.record({ jobs: fc.constantFrom(0, 1, 2, 340, 10_000), more: fc.boolean() })
const few = fc.constantFrom(0, 1, 2, 17)
const hostile = fc.constantFrom('mail', 'a"b', `é\n\u202e${'x'.repeat(400)}`, '', "d'água")
const names = fc.array(hostile, { maxLength: 7 })

const worker: fc.Arbitrary<WorkerFacts> = fc.record({
  id: hostile,
  host: hostile,
  pid: fc.constant(4711),
  heartbeatAt: fc.constantFrom(new Date(noon - 1000), new Date(noon - 12_000), new Date(noon - 90_000)),
  suspectedAt: maybe(past),
  deadAt: maybe(past),
  leftAt: maybe(past),
  blockedSince: maybe(past),
  unblockedAt: maybe(past),
  stack: maybe(hostile),
  blockedJob: maybe(fc.constantFrom('17', '99')),
  blockedKind: maybe(fc.constantFrom('mail', 'report')),
  blockedAttempt: maybe(few),
  writeLagMs: fc.constantFrom(0, 90_000),
  supervised: fc.boolean(),
  crashReport: maybe(fc.record({ how: fc.constant('asked'), why: hostile })),
})
const error = fc.record({
  type: fc.constantFrom('error', 'crash', 'orphan', 'stalled', 'skipped'),
  message: hostile,
  code: maybe(fc.constantFrom('poison', 'resumes_spent', 'batch_stalled', 'too_many_restarts', 'X')),
})
const provider = maybe(
  fc.record({
    name: hostile,
    freeAt: maybe(instant),
    stoppedAt: maybe(past),
    consecutiveWaits: fc.constantFrom(0, 1, 12),
    waitingSince: maybe(past),
    probeAt: maybe(instant),
    code: fc.constant('402'),
    message: maybe(hostile),
    probeError: maybe(hostile),
  }),
)

const around = {
  now: fc.constant(now),
  // Eligible workers have the kind, workers with the kind serve the queue, workers of the queue live.
  eligibleWorkers: fc
    .record({
      counts: fc.tuple(few, few, few, few, few),
      slots: few,
      free: few,
      queues: names,
      kinds: names,
      versions: names,
    })
    .map(({ counts, ...rest }) => {
      const [live, serving, knowing, taking, blocked] = counts.toSorted((a, b) => b - a)
      return { live: live!, serving: serving!, knowing: knowing!, taking: taking!, blocked: blocked!, ...rest }
    }),
  limits: fc.array(
    fc.record({
      group: fc.boolean(),
      running: few,
      concurrency: maybe(few),
      starts: few,
      rate: maybe(few),
      perMs: maybe(fc.constant(60_000)),
      freesAt: maybe(instant),
    }),
    { maxLength: 2 },
  ),
  provider,
  watch: fc.record({ checkedAt: maybe(past), unbrokenAt: maybe(past) }),
}
const reason = maybe(
  fc.constantFrom<{ code: string } & Record<string, unknown>>(
    { code: 'person' },
    { code: 'no_worker' },
    { code: 'odd' },
    { code: 'stop_after', failed: 1, ended: 1 },
    { code: 'stop_after', failed: 1, ended: 2 },
    { code: 'same_cause', provider: 'batch 3', message: 'away', items: 20 },
    { code: 'provider', provider: 'x', message: '402\n"x"' },
  ),
)
const policy = fc
  .record({
    maxAttempts: fc.constantFrom(1, 3),
    stallAfter: fc.constantFrom(null, 1000, 90_000),
    maxAge: fc.constantFrom(null, null, 1000),
    maxWait: fc.constantFrom(null, null, 1000),
    expect: fc.constantFrom(null, 1000),
    orphanAfter: fc.constantFrom(20_000, 120_000),
    sweepEvery: fc.constantFrom(5000, 300_000),
    onOrphan: fc.constantFrom('retry', 'stall', 'fail'),
    onStall: fc.constantFrom('retry', 'stall', 'fail'),
  })
  .map(some => ({ ...defaultPolicy, ...some }) as JobFacts['policy'])

const job: fc.Arbitrary<JobFacts> = fc.record({
  ...around,
  id: fc.constant('17'),
  deferredBy: maybe(hostile),
  providerOfKind: provider,
  queue: hostile,
  kind: hostile,
  version: fc.constantFrom(1, 3),
  state: fc.constantFrom(...states),
  attempt: few,
  failures: few,
  crashes: few,
  restarts: few,
  crashSuspicion: fc.record({
    level: fc.constantFrom(0, 1, 2),
    crashedWorker: maybe(hostile),
    unexplainedCrashes: few,
    restartsWithoutProgress: few,
  }),
  createdAt: past,
  runAt: instant,
  readySince: instant,
  startedAt: maybe(past),
  progressAt: maybe(past),
  finishedAt: maybe(past),
  progress: maybe(fc.constantFrom({}, { done: 1 }, { done: 1, total: 1 }, { done: 3, total: 10, note: 'x' })),
  checkpoint: maybe(hostile),
  groupKey: maybe(hostile),
  error: maybe(error),
  policy,
  queuePaused: fc.boolean(),
  batch: maybe(
    fc.record({
      id: fc.constant('3'),
      state: fc.constantFrom(...batchStates),
      claimsBlocked: fc.boolean(),
      following: fc.boolean(),
      reason,
    }),
  ),
  workerId: maybe(hostile),
  worker: maybe(worker),
  lastFailure: maybe(
    fc.record({
      type: fc.constant('error'),
      message: hostile,
      code: fc.constant(null),
      attempt: few,
      at: past,
      worker: maybe(hostile),
      evidence: fc.constant(null),
    }),
  ),
  sleep: maybe(hostile),
  ahead: count,
  turns: fc.constantFrom('group' as const, 'batch' as const, null),
})

const batch: fc.Arbitrary<BatchFacts> = fc.record({
  ...around,
  id: fc.constant('3'),
  name: hostile,
  key: maybe(hostile),
  queue: hostile,
  kind: hostile,
  version: fc.constantFrom(1, 3),
  state: fc.constantFrom(...batchStates),
  reason,
  total: few,
  waiting: few,
  running: few,
  stalled: few,
  succeeded: few,
  failed: few,
  skipped: few,
  cancelled: few,
  rate: maybe(fc.constantFrom(0.001, 0.5, 1, 41.3)),
  etaSeconds: maybe(few),
  progressAt: maybe(past),
  createdAt: past,
  takenAt: maybe(past),
  submittedAt: maybe(past),
  finishedAt: maybe(past),
  resumes: few,
  maxResumes: few,
  stallAfterMs: maybe(fc.constant(300_000)),
  stallClockAt: maybe(past),
  following: fc.boolean(),
  queuePaused: fc.boolean(),
  ready: few,
  later: few,
  dueAt: maybe(instant),
  seenAll: fc.boolean(),
  turn: maybe(fc.record({ batches: few, jobs: few, seconds: maybe(few) })),
  runners: fc.array(fc.record({ id: hostile, items: few, worker: maybe(worker) }), { maxLength: 3 }),
})

const queue: fc.Arbitrary<QueueFacts> = fc.record({
  ...around,
  queue: hostile,
  paused: fc.boolean(),
  ready: count,
  claimsBlocked: few,
  oldestAt: maybe(past),
  dueAt: maybe(instant),
  running: count,
  starved: fc.array(fc.record({ kind: hostile, version: fc.constantFrom(1, 3), jobs: few }), { maxLength: 2 }),
  hung: fc.array(worker, { maxLength: 2 }).map(all => all.map(each => ({ ...each, blockedSince: now }))),
})

function holds({ verdict, sentence, advice }: LocalizedExplanation): void {
  for (const text of [sentence.en, sentence.pt, advice.text.en, advice.text.pt]) {
    expect(text.trim()).not.toBe('')
    expect(text).not.toMatch(/undefined|null|NaN|Invalid|\[object|[\n\r\u202e]/)
    expect(text.length).toBeLessThan(900)
  }
  expect(sentence.en).not.toBe(sentence.pt)
  for (const text of [sentence.pt, advice.text.pt]) {
    expect(englishIn({ in: () => text } as unknown as RetomaError)).toEqual([])
    // The combined parts must be correct Portuguese: no "de do", no "de o único".
    expect(text).not.toMatch(/ de (?:d[oa]s? |o único)/)
  }
  // 1 takes no plural: "1 s" is a second, and "1 runs" and "1 was" have a verb.
  expect(sentence.en).not.toMatch(/ all 1 |(?<![\d.,])1 (?!(?:runs|was)\b)\p{L}{2,}s\b/u)
  expect(sentence.pt).not.toMatch(/(?<![\d.,])1 \p{L}{2,}s\b|(?<![\d.,])1,\d itens|restam 1 /u)
  expect(advice.command ?? 'retoma ').toMatch(/^retoma /)
  // Advice without an action means: no problem.
  if (advice.action === 'nothing') expect(['ok', 'skipped', 'cancelled']).toContain(verdict)
}

describe('whatever is known', () => {
  test('of a job', () =>
    fc.assert(
      fc.property(job, facts => holds(explainJob(facts))),
      { numRuns: 1000 },
    ))
  test('of a batch', () =>
    fc.assert(
      fc.property(batch, facts => holds(explainBatch(facts))),
      { numRuns: 1000 },
    ))
  test('of a queue', () =>
    fc.assert(
      fc.property(queue, facts => holds(explainQueue(facts))),
      { numRuns: 1000 },
    ))

  test('its facts are plain JSON, and nothing in them is long but what must be whole', () =>
    fc.assert(
      fc.property(job, facts => {
        const { facts: plain } = explanationOf(explainJob(facts), facts, 'en')
        expect(JSON.parse(JSON.stringify(plain))).toEqual(plain)
        expect(plain.now).toBe('2030-01-01T12:00:00.000Z')
        expect([...(plain.queue as string)].length).toBeLessThanOrEqual(300)
      }),
    ))
})

describe('the next check', () => {
  const at = (s: number) => new Date(noon + s * 1000)
  const checked = (s: number) => ({ checkedAt: at(s), unbrokenAt: null })

  test.each([
    [0, 0, 5],
    [-3, 0, 2],
    [-5, 0, 0],
    [-7, 0, 0],
    [-3, 2, 2],
    [-3, 3, 7],
    [-3, 62, 62],
  ])('last look at %i s, due at %i s: in %i s', (last, due, seconds) => {
    expect(nextCheck(checked(last), now, at(due))).toEqual({ seconds, late: false })
  })

  test('after half a minute without one nobody checks', () => {
    expect(nextCheck(checked(-30), now).late).toBe(false)
    expect(nextCheck(checked(-31), now).late).toBe(true)
    expect(nextCheck({ checkedAt: null, unbrokenAt: null }, now).late).toBe(true)
  })

  test('a kind that is swept at every check is due when it is due; one that is not, at its next instant', () => {
    expect(nextSweep(at(3), 5000)).toEqual(at(3))
    const sweep = nextSweep(at(3), 300_000)
    expect(sweep.getTime() % 295_000).toBe(0)
    expect(sweep.getTime() - at(3).getTime()).toBeGreaterThanOrEqual(0)
    expect(sweep.getTime() - at(3).getTime()).toBeLessThan(295_000)
  })
})

test('a provider that asks to wait again and again is shown with how often, and for how long nobody was answered', () => {
  const now = new Date('2030-01-01T12:25:00Z')
  const since = new Date('2030-01-01T12:00:00Z')
  const facts = { name: 'openrouter:m', freeAt: new Date('2030-01-01T12:29:00Z'), stoppedAt: null, probeAt: null }
  const explained = whyProvider(
    { ...facts, consecutiveWaits: 12, waitingSince: since, code: '503', message: 'busy', probeError: null },
    now,
  )
  expect(explained).toEqual({
    en: 'provider "openrouter:m" asks to wait 4 min more: busy; it has asked to wait 12 times in 25 min, without one answer',
    pt: 'o provedor "openrouter:m" pede para esperar mais 4 min: busy; já pediu para esperar 12 vezes em 25 min, sem uma resposta sequer',
  })
})
