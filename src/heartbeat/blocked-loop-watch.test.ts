/** Tests the process watch without threads: the shared state and the clock are set by hand. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { hasStatusFile } from '../supervisor/status-files.ts'
import { readSuspectedJob } from '../supervisor/suspected-job-file.ts'
import { BlockedLoopWatch } from './blocked-loop-watch.ts'
import type { MainThreadStack } from './main-thread-stack.ts'
import { checkIntervalMs } from './process-pauses.ts'
import { newSharedState, slot } from './shared-state.ts'
import type { HeartbeatThreadData, ThreadLogLine } from './thread-messages.ts'

const spinning: MainThreadStack = {
  stack: 'spin (a.js:3) < run (a.js:9)',
  job: { id: '7', attempt: 2, kind: 'k', leftMs: 60_000 },
}
const late = (leftMs: number): MainThreadStack => ({
  stack: 'spin (a.js:3)',
  job: { id: '7', attempt: 2, kind: 'k', leftMs },
})
const native: MainThreadStack = { stack: null, job: null }

function guarding(given: Partial<HeartbeatThreadData> & { seen?: MainThreadStack; supervised?: boolean } = {}) {
  const reportFolder = given.supervised ? mkdtempSync(join(tmpdir(), 'retoma-guard-')) : undefined
  if (reportFolder) onTestFinished(() => rmSync(reportFolder, { recursive: true }))
  const sharedState = newSharedState(0)
  const lines: ThreadLogLine[] = []
  const task: HeartbeatThreadData = {
    schema: 'retoma',
    connection: undefined,
    queues: [],
    reportFolder,
    killWhenHung: false,
    memoryBytes: 1000,
    silentMs: 15_000,
    style: undefined,
    canReadStack: true,
    ...given,
    sharedState,
  }
  const seen = { now: 1000, memory: 500, main: given.seen ?? spinning, stacks: 0, news: 0, killed: 0 }
  sharedState[slot.turnAt] = seen.now
  sharedState[slot.running] = 3
  const processWatch = new BlockedLoopWatch({
    task,
    threadLog: { say: line => void lines.push(line), sayLast: line => void lines.push(line) },
    readStack: async () => {
      seen.stacks++
      return seen.main
    },
    news: () => void seen.news++,
    now: () => seen.now,
    memory: () => seen.memory,
    kill: () => void seen.killed++,
  })
  const pass = async (ms: number, turns: boolean) => {
    for (let left = ms; left > 0; left -= checkIntervalMs) {
      seen.now += checkIntervalMs
      if (turns) sharedState[slot.turnAt] = seen.now - 50
      processWatch.tick()
      await new Promise(resolve => setImmediate(resolve))
    }
  }
  const suspectedJob = () => (reportFolder === undefined ? null : readSuspectedJob(reportFolder))
  return {
    guard: processWatch,
    signs: sharedState,
    seen,
    lines,
    reportFolder,
    suspectedJob,
    turn: (ms: number) => pass(ms, true),
    stand: (ms: number) => pass(ms, false),
  }
}

test('a loop that is blocked for five seconds is reported once, with the job and the function, and once when it is free', async () => {
  const { guard: processWatch, signs: sharedState, seen, lines, turn, stand } = guarding()
  await turn(2000)
  await stand(4800)
  expect(processWatch.blocked).toBe(null)
  await stand(200)
  expect(processWatch.blocked).toMatchObject({ job: '7', attempt: 2, stack: spinning.stack })
  expect(sharedState[slot.blockedJob]).toBe(7)
  await stand(20_000)
  expect(lines).toMatchObject([{ level: 'error', message: 'the main loop is blocked by job 7, in spin (a.js:3)' }])
  expect(seen).toMatchObject({ stacks: 1, killed: 0 })
  await turn(400)
  expect(processWatch.blocked).toBe(null)
  expect(sharedState[slot.blockedJob]).toBe(0)
  expect(processWatch.unblockedMs).toBeLessThan(600)
  expect(lines).toHaveLength(2)
  processWatch.landed()
  expect(processWatch.unblockedMs).toBe(null)
})

test('in native code nobody is named, save who runs alone', async () => {
  const { guard: processWatch, signs: sharedState, lines, stand } = guarding({ seen: native })
  await stand(5200)
  expect(processWatch.blocked).toMatchObject({ job: null, stack: 'in native code' })
  expect(lines).toMatchObject([{ message: 'the main loop is blocked, in native code', facts: { running: 3 } }])
  sharedState[slot.running] = 1
  sharedState[slot.soleJob] = 9
  sharedState[slot.soleAttempt] = 1
  expect(processWatch.blocked).toMatchObject({ job: '9', attempt: 1 })
})

test('who could not be named at first is looked for again, and reported once found', async () => {
  const { guard: processWatch, signs: sharedState, seen, lines, stand } = guarding({ seen: native })
  await stand(12_000)
  expect(lines).toHaveLength(1)
  expect(seen.stacks).toBe(2)
  seen.main = spinning
  await stand(5200)
  expect(processWatch.blocked).toMatchObject({ job: '7', attempt: 2, stack: spinning.stack })
  expect(sharedState[slot.blockedJob]).toBe(7)
  await stand(20_000)
  expect(lines.map(line => line.message)).toEqual([
    'the main loop is blocked, in native code',
    'the main loop is blocked by job 7, in spin (a.js:3)',
  ])
})

test('supervised: the job on the stack that is out of time ends its process and is named, at its own time', async () => {
  const { signs: sharedState, seen, suspectedJob, turn, stand } = guarding({ supervised: true, seen: late(600) })
  await turn(1000)
  sharedState[slot.dueAt] = seen.now + 3000
  await stand(3600)
  expect(seen).toMatchObject({ stacks: 1, killed: 0 })
  seen.main = late(-100)
  await stand(1200)
  expect(seen.killed).toBeGreaterThan(0)
  expect(suspectedJob()).toMatchObject({ job: '7', attempt: 2, how: 'timeout', stack: 'spin (a.js:3)' })
})

test('that a neighbour is out of time behind a blocked loop kills nobody', async () => {
  const { signs: sharedState, seen, suspectedJob, stand } = guarding({ supervised: true })
  sharedState[slot.dueAt] = seen.now + 2000
  await stand(20_000)
  expect(seen.killed).toBe(0)
  expect(suspectedJob()).toBe(null)
})

test('supervised: where nobody can be named the process is ended once all that run are out of time, and nobody is', async () => {
  const { signs: sharedState, seen, suspectedJob, reportFolder, stand } = guarding({ supervised: true, seen: native })
  sharedState[slot.dueAt] = seen.now + 2000
  sharedState[slot.allDueAt] = seen.now + 9000
  await stand(8000)
  expect(seen.killed).toBe(0)
  await stand(3000)
  expect(seen.killed).toBeGreaterThan(0)
  expect(suspectedJob()).toBe(null)
  expect(hasStatusFile(reportFolder!, 'hung')).toBe(true)
})

test.each([
  ['unless asked to', false, 0],
  ['asked to, it does', true, 1],
])('without a supervisor it kills nothing: %s', async (_, killWhenHung, least) => {
  const { signs: sharedState, seen, stand } = guarding({ killWhenHung, seen: late(-1) })
  sharedState[slot.dueAt] = seen.now + 2000
  await stand(8000)
  expect(Math.min(seen.killed, 1)).toBe(least)
})

test('memory over the cap: supervised, the job that is at work ends its process and is named', async () => {
  const { seen, suspectedJob, turn } = guarding({ supervised: true })
  await turn(1000)
  seen.memory = 1200
  await turn(200)
  expect(seen.killed).toBe(1)
  expect(suspectedJob()).toMatchObject({ job: '7', how: 'memory' })
})

test('memory over the cap: nobody is named when it is not the same job at each check', async () => {
  const made = guarding({ supervised: true })
  const { seen, suspectedJob, turn } = made
  let n = 0
  Object.defineProperty(seen, 'main', {
    get: () => ({ stack: 'f (a.js:1)', job: { id: String(++n), attempt: 1, kind: 'k', leftMs: 1 } }),
  })
  seen.memory = 1200
  await turn(400)
  expect(seen.killed).toBe(1)
  expect(suspectedJob()).toBe(null)
})

test('memory over the cap without a supervisor is reported once for each crossing', async () => {
  const { seen, lines, turn } = guarding()
  for (const memory of [1200, 1300, 980, 1100, 500, 1100]) {
    seen.memory = memory
    await turn(400)
  }
  expect(seen.killed).toBe(0)
  expect(lines.map(line => line.level)).toEqual(['error', 'error'])
})

test('over its memory while a job blocks the loop, it is named though the first checks find it in native code', async () => {
  const { seen, suspectedJob, turn, stand } = guarding({ supervised: true })
  const stacks = [native, native]
  Object.defineProperty(seen, 'main', {
    get() {
      // Native code is recognized by a deadline.
      seen.now += 600
      return stacks.shift() ?? spinning
    },
  })
  await turn(1000)
  seen.memory = 1001
  await stand(checkIntervalMs)
  expect(seen.killed).toBe(1)
  expect(suspectedJob()).toMatchObject({ job: '7', how: 'memory' })
})
