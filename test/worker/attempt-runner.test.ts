/** The attempt runner, with an attempt that breaks outside of its handler. */
import { expect, test } from 'vitest'
import type { Attempt } from '../../src/execution/attempt.ts'
import { silentLog } from '../../src/lib/logging/log.ts'
import { AttemptRunner, type AttemptRunnerOptions } from '../../src/worker/attempt-runner.ts'

/** The parts of a worker that an attempt meets; everything that the test does not name does nothing. */
function runnerWith(given: object) {
  const leases = { delete: () => {}, values: () => [] }
  const options = {
    id: 'w',
    clock: { instant: () => null, now: () => new Date(0), elapsed: () => 0, sleep: async () => {} },
    log: silentLog,
    leases,
    journal: { note: () => 0, free: () => {}, close: () => {} },
    heartbeat: { trackAll: false, started: () => {}, turn: () => {} },
    events: { settled: () => {}, batchTouched: () => {} },
    totals: new Map(),
    ...given,
  }
  const runner = new AttemptRunner(options as unknown as AttemptRunnerOptions)
  runner.deadlines.watch = () => {}
  return runner
}

const claimed = { id: '7', attempt: 1, batch_id: null, queue: 'mail' }
const attemptWith = (given: object) =>
  ({ claimed, name: '7/1', allow: () => {}, run: async () => ({ returned: 1 }), ...given }) as unknown as Attempt
const broken = () => {
  throw new Error('a bug')
}

test.each([
  ['before the handler', { journal: { note: broken, free: () => {} } }, {}],
  ['in the run', {}, { run: async () => broken() }],
  ['in the judgement', {}, { judge: broken }],
])('an error %s frees the slot once and ends the attempt', async (_, options, attempt) => {
  const runner = runnerWith(options)
  const freed: unknown[] = []
  const slot = { handlerEnded: (...args: unknown[]) => void freed.push(args) }
  const result = await runner.run(attemptWith(attempt), false, slot)
  expect(result).toEqual({ outcome: undefined, written: undefined, delay: undefined })
  expect(freed).toEqual([[claimed, undefined, 0]])
  expect(runner.handling).toBe(0)
  expect(runner.unsettled).toBe(0)
  await runner.idle()
})
