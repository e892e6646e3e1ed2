/**
 * A job that is ready while a slot is free does not wait for the next poll, whatever got in between: a failed claim, a
 * slot that was not free when the hint came, a commit behind the mark, the moment it fell due, a clock that was set.
 */

import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { internalsOf } from '../../src/engine/internals.ts'
import { defineBatch, defineJob, hours, milliseconds, seconds } from '../../src/index.ts'
import { testEngine, VirtualClock } from '../../src/testing/index.ts'
import { aborted, engineWith, gate, until } from '../support/engine.ts'
import { linkLost } from '../support/faulty-db.ts'
import { faultyWorker } from '../support/faulty-worker.ts'

test('a claim that failed is tried again soon', async () => {
  const { db, clock, begin, enqueue, ended, asleep } = await faultyWorker()
  const worker = await begin()
  await asleep()
  const id = await enqueue()
  db.fail('claim', 'before', linkLost())
  worker.wake()
  await db.askedFor('claim')
  await asleep()
  await clock.advance(milliseconds(100))
  await ended(id)
})

test('a job that falls due while a claim is on its way runs when it is due', async () => {
  const { db, clock, begin, enqueue, ended, asleep } = await faultyWorker()
  const id = await enqueue({ delayMs: 1000 })
  const held = gate()
  const asked = db.askedFor('claim')
  db.hold('claim', 'after', held.passed)
  await begin()
  await asked
  // The claim has looked at noon; the look ahead for what comes later must not begin after the job was due.
  await until(() => clock.sleepers === 1)
  await clock.advance(seconds(2))
  held.open()
  await asleep()
  await clock.advance(milliseconds(1))
  await ended(id)
})

test.each(['list', 'batch'])('jobs of one %s that are due at different times each run when they are', async what => {
  const ran: number[] = []
  const job = defineJob({ kind: 'k', run: (_, delayMs: number) => void ran.push(delayMs) })
  const batch = defineBatch({ name: 'b', job })
  const { engine, clock } = await engineWith(job)
  await engine.work()
  await until(() => clock.sleepers >= 3)
  const each = (ms: number) => ({ delay: milliseconds(ms) })
  if (what === 'list') await engine.enqueueMany(job, [0, 1000, 2000], { each })
  else await engine.submit(batch, [0, 1000, 2000], { each })
  for (const due of [[0], [0, 1000], [0, 1000, 2000]]) {
    await until(() => ran.length === due.length)
    expect(ran).toEqual(due)
    await clock.advance(milliseconds(1000))
  }
})

test('a late commit behind the mark, hinted at while no sweep is due, is found by one soon after', async () => {
  const { clock, begin, enqueue, row, sql, ended, asleep } = await faultyWorker()
  const worker = await begin()
  await asleep()
  await clock.advance(milliseconds(100))
  const first = await enqueue()
  worker.wake()
  await ended(first)
  await asleep()
  await clock.advance(milliseconds(400))
  const late = await enqueue()
  await sql(`update retoma.job set run_at = run_at - interval '450 ms' where id = $1`, [late])
  worker.wake()
  await asleep()
  expect(await row(late)).toMatchObject({ state: 'waiting' })
  await clock.advance(milliseconds(500))
  await ended(late)
})

test('what was claimed ahead and could not start goes back, other workers get a hint and take it', async () => {
  const release = gate()
  let quick = true
  const { clock, begin, enqueue, enqueueMany, row, ended, runs, hints } = await faultyWorker({
    queues: { q: 2 },
    run: () => (quick ? undefined : release.passed),
  })
  const worker = await begin()
  await Promise.all((await enqueueMany(64)).map((id, i) => (i === 0 ? worker.wake() : ended(id))))
  quick = false
  const long = await enqueueMany(2)
  worker.wake()
  await until(() => runs.length === 66)
  const ahead = await enqueue()
  worker.wake()
  await until(async () => (await row(ahead)).state === 'running')
  await until(async () => {
    await clock.advance(milliseconds(100))
    return (await row(ahead)).state === 'waiting'
  })
  await until(() => hints.length > 0)
  expect(hints).toEqual([['q', 0]])
  // Hinted at again and polled for: a worker without a free slot must not take it a second time.
  for (let second = 0; second < 20; second++) {
    worker.wake()
    await clock.advance(seconds(1))
    expect(await row(ahead)).toMatchObject({ state: 'waiting', attempt: 1 })
  }
  quick = true
  release.open()
  await ended(ahead)
  await Promise.all(long.map(ended))
})

test('a worker whose slots are all taken asks once when it is woken, and not again and again', async () => {
  const release = gate()
  let quick = true
  const { db, clock, begin, enqueueMany, ended, runs } = await faultyWorker({
    queues: { q: 2 },
    run: () => (quick ? undefined : release.passed),
  })
  const worker = await begin()
  await Promise.all((await enqueueMany(64)).map((id, i) => (i === 0 ? worker.wake() : ended(id))))
  quick = false
  const long = await enqueueMany(2)
  worker.wake()
  await until(() => runs.length === 66)
  await clock.advance(seconds(1))
  const before = db.asked.filter(name => name === 'claim').length
  worker.wake()
  await clock.advance(seconds(4))
  expect(db.asked.filter(name => name === 'claim').length - before).toBeLessThanOrEqual(5)
  release.open()
  await Promise.all(long.map(ended))
})

test('jobs of one queue are not claimed ahead because those of another are quick', async () => {
  const release = gate()
  let quick = true
  const { begin, enqueueMany, ended, row, runs, sql } = await faultyWorker({
    queues: { q: 5, long: 1 },
    run: () => (quick ? undefined : release.passed),
  })
  const worker = await begin()
  await Promise.all((await enqueueMany(64)).map((id, i) => (i === 0 ? worker.wake() : ended(id))))
  quick = false
  const ids = await enqueueMany(3, { queue: 'long' })
  worker.wake()
  await until(() => runs.length === 65)
  expect(await sql(`select from retoma.job where state = 'running'`, [])).toHaveLength(1)
  release.open()
  await Promise.all(ids.map(ended))
  expect(await Promise.all(ids.map(row))).toMatchObject(ids.map(() => ({ attempt: 1 })))
})

test('what fell due while every slot was taken runs when one is freed', async () => {
  const release = gate()
  let quick = true
  const { clock, begin, enqueue, enqueueMany, ended, row, runs } = await faultyWorker({
    queues: { q: 2 },
    run: () => (quick ? undefined : release.passed),
  })
  const worker = await begin()
  await Promise.all((await enqueueMany(64)).map((id, i) => (i === 0 ? worker.wake() : ended(id))))
  const due = await enqueue({ delayMs: 8000 })
  // A poll learns when it is due.
  await clock.advance(seconds(5))
  await until(() => clock.sleepers === 3)
  quick = false
  await enqueueMany(2)
  worker.wake()
  await until(() => runs.length === 66 && clock.sleepers === 3)
  await clock.advance(seconds(3.5))
  expect(await row(due)).toMatchObject({ state: 'waiting' })
  quick = true
  release.open()
  await ended(due)
})

test('while outcomes cannot be written nothing more is claimed, and it goes on as soon as they can', async () => {
  const { db, begin, enqueue, enqueueMany, row, ended, runs } = await faultyWorker({ queues: { q: 100, other: 1 } })
  const held = gate()
  db.hold('settle', 'before', held.passed)
  await enqueueMany(1000)
  const worker = await begin()
  await until(() => runs.length === 1000)
  const id = await enqueue({ queue: 'other' })
  worker.wake()
  for (let turn = 0; turn < 50; turn++) await new Promise(resolve => setImmediate(resolve))
  expect(await row(id)).toMatchObject({ state: 'waiting', attempt: 0 })
  held.open()
  await ended(id)
})

test('a worker that stops tells the others of the jobs it releases', async () => {
  const started = gate()
  const { begin, enqueue, row, hints } = await faultyWorker({
    run: async ({ signal }) => {
      started.open()
      await aborted(signal)
      throw signal.reason
    },
  })
  const id = await enqueue()
  const worker = await begin()
  await started.passed
  await worker.stop()
  expect(await row(id)).toMatchObject({ state: 'waiting', failures: 0 })
  expect(hints).toEqual([['q', 0]])
})

test('what a watchdog recovers is taken at once by a worker of another process', async () => {
  const job = defineJob({ kind: 'k', queue: 'q', run: () => 'ran' })
  const watching = await engineWith(job)
  const working = await testEngine({ jobs: [job], databaseUrl: watching.databaseUrl })
  onTestFinished(() => working.close())
  await working.engine.work()
  const { id } = await watching.engine.enqueue(job, undefined, { delay: hours(1) })
  await until(async () => (await watching.engine.workers.list()).length === 1)
  await until(() => working.clock.sleepers >= 3)
  await internalsOf(working.engine).ping()
  const client = new pg.Client({ connectionString: watching.databaseUrl })
  await client.connect()
  const listening = async () =>
    (await client.query(`select from pg_stat_activity where datname = current_database() and query like 'listen%'`))
      .rowCount
  await until(async () => (await listening()) === 1)
  await client.query(`update retoma.job set state = 'running', worker_id = 'gone', attempt = 1 where id = $1`, [id])
  await client.end()
  await watching.tick()
  expect(await working.engine.wait({ job: id })).toMatchObject({ state: 'succeeded', attempt: 2, restarts: 1 })
})

test('a handler whose outcome has landed never hears that its lease is lost', async () => {
  const signals: AbortSignal[] = []
  const { db, clock, begin, enqueue, ended } = await faultyWorker({ run: ({ signal }) => void signals.push(signal) })
  const held = gate()
  db.hold('settle', 'after', held.passed)
  const id = await enqueue()
  await begin()
  await ended(id)
  const beats = () => db.asked.filter(name => name === 'worker_heartbeat').length
  const before = beats()
  await until(async () => {
    await clock.advance(seconds(1))
    return beats() > before + 1
  })
  held.open()
  expect(signals.map(signal => signal.aborted)).toEqual([false])
})

/** Its `now` is what a person set the computer's clock to. */
class SetClock extends VirtualClock {
  ahead = 0
  override now(): Date {
    return new Date(super.now().getTime() + this.ahead)
  }
}

test('the computer’s clock set forward costs nobody an attempt', async () => {
  const clock = new SetClock()
  const reasons = new Map<string, unknown>()
  const { begin, enqueue, row, runs } = await faultyWorker({
    clock,
    run: async ({ id, signal }) => {
      reasons.set(id, await aborted(signal))
      throw signal.reason
    },
  })
  const worker = await begin()
  const first = await enqueue()
  worker.wake()
  await until(() => runs.length === 1)
  await clock.advance(seconds(30))
  const second = await enqueue()
  worker.wake()
  await until(() => runs.length === 2)
  clock.ahead = hours(1)
  await clock.advance(seconds(30))
  await until(async () => (await row(first)).state === 'waiting')
  expect(reasons.get(first)).toMatchObject({ code: 'attempt_timeout' })
  expect(reasons.has(second)).toBe(false)
})

test('the computer’s clock set back does not keep late commits from being found', async () => {
  const clock = new SetClock()
  const { begin, enqueue, sql, ended } = await faultyWorker({ clock })
  const worker = await begin()
  await ended(await enqueue().finally(() => worker.wake()))
  clock.ahead = -hours(1)
  const passing = async (id: string) => {
    worker.wake()
    await ended(id)
    await clock.advance(seconds(1))
  }
  await passing(await enqueue())
  await passing(await enqueue())
  const late = await enqueue()
  await sql(`update retoma.job set run_at = run_at - interval '1 minute' where id = $1`, [late])
  // A minute at most, with a look at the database at each step, so that the worker's own statements get their turn.
  const state = async () =>
    (await sql<{ state: string }>(`select state from retoma.job where id = $1`, [late]))[0]?.state
  for (let step = 0; step < 60 && (await state()) !== 'succeeded'; step++) await clock.advance(seconds(1))
  await ended(late)
})
