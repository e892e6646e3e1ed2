/** Waiting for a child process costs nobody anything: no slot, no try, no time. */
import { writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { getPriority, tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { defineJob, minutes, seconds } from '../../src/index.ts'
import type { ChildPool } from '../../src/isolation/child-pool.ts'
import type { ChildHost, ChildRunEnd } from '../../src/isolation/child-run.ts'
import { IsolatedCalls } from '../../src/isolation/isolated-calls.ts'
import { IsolationMode } from '../../src/isolation/isolation-mode.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { coreCount } from '../../src/lib/process/core-count.ts'
import { until } from '../support/engine.ts'
import { workingWith } from './support.ts'

const called = new URL('./called.mjs', import.meta.url)

test('background functions have their own processes: the others neither wait for them nor give a process away', async () => {
  const most = Math.max(coreCount() - 1, 1)
  const folder = await mkdtemp(join(tmpdir(), 'retoma-line-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const go = join(folder, 'go')
  const scans = defineJob({
    kind: 'scans',
    maxAttempts: 1,
    run: ctx => ctx.isolated('scan', called, { do: 'await', note: go }, { background: true }),
  })
  const reads = defineJob({
    kind: 'reads',
    maxAttempts: 1,
    run: async ctx => {
      const { pid } = await ctx.isolated<{ pid: number }>('read', called, { do: 'answer' })
      return getPriority(pid)
    },
  })
  const { engine } = await workingWith({ grace: seconds(5), queues: { default: most + 2 } }, scans, reads)
  const ids: string[] = []
  for (let n = 0; n < most + 2; n++) ids.push((await engine.enqueue(scans, undefined)).id)
  const count = async (state: 'running' | 'waiting') => (await engine.jobs.list({ kind: 'scans', state })).items.length
  await until(async () => (await count('running')) === most && (await count('waiting')) === 2)
  for (let n = 0; n < 3; n++) {
    const { id } = await engine.enqueue(reads, undefined)
    expect(await engine.wait({ job: id })).toMatchObject({ state: 'succeeded', result: getPriority() })
  }
  expect(await count('running')).toBe(most)
  writeFileSync(go, '')
  for (const id of ids) {
    const { state, result, starts } = await engine.wait({ job: id })
    expect({ state, starts }).toEqual({ state: 'succeeded', starts: 1 })
    expect(typeof result).toBe('number')
  }
})

test('jobs that wait for a child process leave their slots to others, and spend no try', async () => {
  const cores = coreCount()
  const folder = await mkdtemp(join(tmpdir(), 'retoma-line-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const go = join(folder, 'go')
  const reads = defineJob({
    kind: 'reads',
    maxAttempts: 1,
    // Shorter than the line.
    timeout: seconds(30),
    run: ctx => ctx.isolated('read', called, { do: 'await', note: go }, { timeout: minutes(5) }),
  })
  const quick = defineJob({ kind: 'quick', run: () => 'done' })
  const { engine, sql } = await workingWith({ grace: seconds(5), queues: { default: cores + 1 } }, reads, quick)
  const ids: string[] = []
  for (let n = 0; n < cores * 4; n++) ids.push((await engine.enqueue(reads, undefined)).id)
  const running = async () => (await engine.jobs.list({ kind: 'reads', state: 'running' })).items.length
  await until(
    async () =>
      (await running()) === cores &&
      (await engine.jobs.list({ kind: 'reads', state: 'waiting' })).items.length === cores * 3,
  )
  for (let n = 0; n < 3; n++) {
    const neighbour = await engine.enqueue(quick, undefined)
    expect(await engine.wait({ job: neighbour.id })).toMatchObject({ state: 'succeeded' })
  }
  writeFileSync(go, '')
  for (const id of ids) expect(await engine.wait({ job: id })).toMatchObject({ state: 'succeeded', failures: 0 })
  const [spent] = await sql(
    `select max(attempt - uncounted_attempts) as starts, max(restarts) as restarts from retoma.job where kind = 'reads'`,
  )
  expect(spent).toEqual({ starts: 1, restarts: 0 })
})

test('a job that has called several functions waits for all of them, and keeps what they did', async () => {
  const cores = coreCount()
  const many = defineJob({
    kind: 'many',
    maxAttempts: 1,
    run: ctx =>
      Promise.all(
        Array.from({ length: cores * 3 }, (_, n) => ctx.isolated(`part ${n}`, called, { do: 'hold', note: '1200' })),
      ),
  })
  const { engine } = await workingWith({ grace: seconds(5), queues: { default: 2 } }, many)
  const { id } = await engine.enqueue(many, undefined)
  expect(await engine.wait({ job: id })).toMatchObject({ state: 'succeeded', attempt: 1 })
})

/** A call whose process does as its input says: `stolen`: the share of the time that the machine computes something else. */
async function callOf({ timeoutMs, takesMs, stolen }: { timeoutMs: number; takesMs: number; stolen: number }) {
  const over = new AbortController()
  onTestFinished(() => over.abort())
  const children = {
    run(_: unknown, __: unknown, host: ChildHost) {
      const begunAt = systemClock.elapsed()
      host.began()
      const killed = new AbortController()
      const end = systemClock
        .sleep(takesMs, AbortSignal.any([over.signal, killed.signal]))
        .then((): ChildRunEnd => (killed.signal.aborted ? { thrown: new Error('killed') } : { end: { text: 'read' } }))
      return {
        ended: end,
        abort: () => {},
        kill: async () => killed.abort(),
        get stolenMs() {
          return (systemClock.elapsed() - begunAt) * stolen
        },
      }
    },
  }
  let stole = 0
  const calls = new IsolatedCalls(children as unknown as ChildPool, new IsolationMode(), () => {}, 1)
  const call = {
    step: 'read',
    module: called.href,
    input: 'null',
    timeoutMs,
    memoryBytes: 1e9,
    maxBytes: 1e6,
    environment: [],
    nice: 0,
    background: false,
  }
  const answer = await calls
    .isolate(call, {
      signal: over.signal,
      awake: work => work(),
      mayGoBack: () => true,
      holds: () => {},
      stole: ms => {
        stole += ms
      },
      log: () => {},
      parentStoppedMs: 1000,
    })
    .catch((error: { code: string }) => error.code)
  return { answer, stole }
}

test('time in which the machine computed something else is not time of the function, and the job hears how long that was', async () => {
  const { answer, stole } = await callOf({ timeoutMs: 200, takesMs: 700, stolen: 0.9 })
  expect(answer).toBe('read')
  expect(stole).toBeGreaterThan(100)
})

test('a function is out of time when it has had its time, and says nothing of itself when the machine never gave it any', async () => {
  expect((await callOf({ timeoutMs: 200, takesMs: 60_000, stolen: 0 })).answer).toBe('isolated_timeout')
  expect((await callOf({ timeoutMs: 100, takesMs: 60_000, stolen: 0.99 })).answer).toBe('isolated_starved')
})
