/** A worker's loops: what runs at once, and how attempts end when the worker stops, time is up or the lease is gone. */

import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { internalsOf } from '../../src/engine/internals.ts'
import { defineBatch, defineJob, type Engine, milliseconds, minutes, seconds, snooze } from '../../src/index.ts'
import { aborted, engineOf, engineWith, gate, liveEngine, timePasses, until } from '../support/engine.ts'

/** One statement on a connection of its own. */
async function sql(url: string, text: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(text, values)).rows
  } finally {
    await client.end()
  }
}

test('never more jobs of a queue run at once than its concurrency, and no fewer when there are enough', async () => {
  const running = { many: 0, few: 0 }
  const most = { many: 0, few: 0 }
  const barrier = gate()
  const run = (queue: 'many' | 'few') => async () => {
    most[queue] = Math.max(most[queue], ++running[queue])
    if (most.many === 3 && most.few === 1) barrier.open()
    await barrier.passed
    running[queue]--
  }
  const many = defineJob({ kind: 'many', queue: 'many', run: run('many') })
  const few = defineJob({ kind: 'few', queue: 'few', run: run('few') })
  const { engine } = await liveEngine([many, few])
  const ids = await Promise.all(
    Array.from({ length: 30 }, async (_, i) => (await engine.enqueue(i % 2 === 0 ? many : few, undefined)).id),
  )
  await engine.work({ queues: { many: 3, few: 1 } })
  const ended = await Promise.all(ids.map(id => engine.wait({ job: id })))
  expect(ended.map(job => job.state)).toEqual(ids.map(() => 'succeeded'))
  expect(most).toEqual({ many: 3, few: 1 })
})

test('hundreds of quick jobs do not keep the event loop from turning: outcomes are sent and answers read between them', async () => {
  let sinceTurn = 0
  let most = 0
  let ran = 0
  const all = gate()
  const quick = defineJob({
    kind: 'quick',
    run: async () => {
      most = Math.max(most, ++sinceTurn)
      if (++ran === 1500) all.open()
    },
  })
  const { engine } = await liveEngine([quick])
  await engine.enqueueMany(quick, Array(1500).fill(undefined))
  const turn = () => {
    sinceTurn = 0
    if (ran < 1500) setImmediate(turn)
  }
  turn()
  await engine.work({ queues: { default: 50 } })
  await all.passed
  expect(most).toBeLessThanOrEqual(128)
})

test('a worker takes only the queues it was given', async () => {
  const a = defineJob({ kind: 'a', queue: 'a', run: () => 1 })
  const b = defineJob({ kind: 'b', queue: 'b', run: () => 1 })
  const { engine } = await liveEngine([a, b])
  const other = await engine.enqueue(b, undefined)
  await engine.work({ queues: { a: 1 } })
  await engine.wait({ job: (await engine.enqueue(a, undefined)).id })
  expect(await engine.job(other.id)).toMatchObject({ state: 'waiting' })
})

test('a concurrency that is no number of jobs is refused', async () => {
  const { engine } = await engineWith()
  for (const a of [0, -1, 1.5, 10_001, '5', Number.NaN])
    await expect(engine.work({ queues: { a } as never })).rejects.toMatchObject({ code: 'bad_option' })
  expect(await engine.workers.list()).toEqual([])
})

test('a worker that stops hands an unfinished job back at once, and no try is spent', async () => {
  const started = gate()
  const reason = gate<unknown>()
  const long = defineJob({
    kind: 'long',
    maxAttempts: 1,
    run: async ctx => {
      started.open()
      reason.open(await aborted(ctx.signal))
      throw new Error('cut short')
    },
  })
  const { engine } = await liveEngine([long])
  const worker = await engine.work()
  const { id } = await engine.enqueue(long, undefined)
  await started.passed
  await worker.stop()
  expect(await reason.passed).toMatchObject({ code: 'worker_stopping' })
  expect(await engine.job(id)).toMatchObject({
    state: 'waiting',
    attempt: 1,
    failures: 0,
    restarts: 0,
    error: null,
    history: [],
  })
  expect(await engine.workers.list()).toEqual([])
})

test('a handler that ends well after the signal has its result kept', async () => {
  const started = gate()
  const polite = defineJob({
    kind: 'polite',
    run: async ctx => {
      started.open()
      await aborted(ctx.signal)
      return 'saved'
    },
  })
  const { engine } = await liveEngine([polite])
  const worker = await engine.work()
  const { id } = await engine.enqueue(polite, undefined)
  await started.passed
  await worker.stop()
  expect(await engine.job(id)).toMatchObject({ state: 'succeeded', result: 'saved' })
})

test('a handler that ignores its signal is released after the grace, and what it does later reaches nothing', async () => {
  const started = gate()
  const release = gate()
  const ended = gate()
  const deaf = defineJob({
    kind: 'deaf',
    run: async ctx => {
      started.open()
      if (ctx.attempt > 1) return 'second'
      await release.passed
      ended.open()
      return 'too late'
    },
  })
  const { engine } = await liveEngine([deaf])
  const worker = await engine.work({ grace: milliseconds(20) })
  const { id } = await engine.enqueue(deaf, undefined)
  await started.passed
  await worker.stop()
  expect(await engine.job(id)).toMatchObject({ state: 'waiting', attempt: 1, failures: 0 })
  await using _next = await engine.work()
  expect(await engine.wait({ job: id })).toMatchObject({ state: 'succeeded', result: 'second', attempt: 2 })
  release.open()
  await ended.passed
  expect(await engine.job(id)).toMatchObject({ result: 'second', attempt: 2 })
})

test('out of time: the handler hears attempt_timeout, and it counts as a failure of that name', async () => {
  const started = gate()
  const reason = gate<unknown>()
  const slow = defineJob({
    kind: 'slow',
    timeout: minutes(2),
    backoff: { jitter: 0 },
    run: async ctx => {
      started.open()
      reason.open(await aborted(ctx.signal))
      throw new Error('what the handler made of it')
    },
  })
  const { engine, clock } = await engineWith(slow)
  await engine.work()
  const { id } = await engine.enqueue(slow, undefined)
  await started.passed
  await clock.advance(seconds(119))
  expect(await engine.job(id)).toMatchObject({ state: 'running' })
  await clock.advance(seconds(1))
  expect(await reason.passed).toMatchObject({ code: 'attempt_timeout' })
  await until(async () => (await engine.job(id))?.state === 'waiting')
  expect(await engine.job(id)).toMatchObject({ failures: 1, error: { type: 'timeout', code: 'attempt_timeout' } })
  const [failure] = (await engine.job(id))!.history
  expect(failure).toMatchObject({ type: 'timeout', message: expect.stringContaining('120 s') })
  expect(failure?.stack).toContain('what the handler made of it')
})

test('a handler that ignores its timeout is left behind after the grace, and ten seconds after its signal its slot is free', async () => {
  const release = gate()
  let starts = 0
  const deaf = defineJob({
    kind: 'deaf',
    maxAttempts: 1,
    timeout: minutes(1),
    run: async () => {
      if (++starts === 1) await release.passed
      return 'ran'
    },
  })
  const { engine, clock } = await engineWith(deaf)
  await engine.work({ queues: { default: 1 }, grace: seconds(5) })
  const first = await engine.enqueue(deaf, undefined)
  await until(() => starts === 1)
  const second = await engine.enqueue(deaf, undefined)
  await clock.advance(minutes(1))
  await clock.advance(seconds(4))
  expect(await engine.job(first.id)).toMatchObject({ state: 'running' })
  await clock.advance(seconds(1))
  expect(await engine.wait({ job: first.id })).toMatchObject({ state: 'failed', error: { type: 'timeout' } })
  await clock.advance(seconds(4))
  expect(await engine.job(second.id)).toMatchObject({ state: 'waiting' })
  await clock.advance(seconds(1))
  expect(await engine.wait({ job: second.id })).toMatchObject({ state: 'succeeded', result: 'ran' })
  release.open()
})

/** A worker on a virtual clock that nobody moves: no heartbeat and no poll can tell the handler anything. */
async function runsLong() {
  const started = gate()
  const reason = gate<unknown>()
  const long = defineJob({
    kind: 'long',
    run: async ctx => {
      started.open()
      reason.open(await aborted(ctx.signal))
      return 'not accepted'
    },
  })
  const batch = defineBatch({ name: 'longs', job: long })
  const { engine, databaseUrl } = await engineOf({ jobs: [long], batches: [batch] })
  await engine.work()
  return { engine, databaseUrl, long, batch, started, reason }
}

test('a job cancelled while it runs loses its lease at once, and its handler hears it before any heartbeat', async () => {
  const { engine, long, started, reason } = await runsLong()
  const { id } = await engine.enqueue(long, undefined)
  await started.passed
  expect(await engine.jobs.cancel(id)).toEqual({ id, state: 'cancelled', changed: true })
  expect(await reason.passed).toMatchObject({ code: 'lease_lost', facts: { job: id, attempt: 1 } })
  await until(async () => (await engine.workers.list())[0]?.running === 0)
  expect(await engine.job(id)).toMatchObject({ state: 'cancelled', result: null, failures: 0 })
})

test.each<[string, (engine: Engine, job: string, batch: string) => Promise<unknown>]>([
  ['cancel', (engine, job) => engine.jobs.cancel(job)],
  ['cancelMany', engine => engine.jobs.cancelMany({ kind: 'long' })],
  ['skip', (engine, job) => engine.jobs.skip(job, 'not needed')],
  ['the cancel of its batch', (engine, _, batch) => engine.batches.cancel(batch)],
])('a handler hears %s of another process before any heartbeat', async (_, act) => {
  const { engine, databaseUrl, batch, started, reason } = await runsLong()
  const other = await liveEngine([], {}, databaseUrl)
  const { id } = await engine.submit(batch, [undefined])
  await started.passed
  const [job] = (await engine.batches.items(id)).items
  await act(other.engine, job!.id, id)
  expect(await reason.passed).toMatchObject({ code: 'lease_lost', facts: { job: job!.id, attempt: 1 } })
})

test('a handler hears the cancel of its batch at once, even if the cascade has not reached its item', async () => {
  const { engine, databaseUrl, batch, started, reason } = await runsLong()
  const other = await liveEngine([], {}, databaseUrl)
  const { id } = await engine.submit(batch, [undefined])
  await started.passed
  // Without its chunks the cascade cannot go on.
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  onTestFinished(() => client.end())
  await client.query(`begin; lock table retoma.batch_chunk in access exclusive mode`)
  const cancelled = other.engine.batches.cancel(id)
  expect(await reason.passed).toMatchObject({ code: 'lease_lost' })
  expect(await sql(databaseUrl, `select state, cascade from retoma.batch`)).toEqual([
    { state: 'cancelled', cascade: 'cancel' },
  ])
  await client.query('rollback')
  await cancelled
  expect(await engine.batch(id)).toMatchObject({ state: 'cancelled', cancelled: 1, running: 0, following: false })
})

test.each([
  ['cancels', 'cancel', 'cancelled'],
  ['fails', 'fail', 'failed'],
])(
  'a handler hears at once that a tick of another process %s its item in the cascade of the batch',
  async (_, cascade, state) => {
    const { engine, databaseUrl, batch, started, reason } = await runsLong()
    const other = await liveEngine([], {}, databaseUrl)
    const { id } = await engine.submit(batch, [undefined])
    await started.passed
    // The process that began the cascade has crashed.
    await sql(
      databaseUrl,
      `update retoma.batch
     set state = $2, claims_blocked = true, finished_at = now(), cascade = $3, cascade_at = now(), cascade_chunk = 0, reason = '{"code": "resumes_spent"}'
     where id = $1`,
      [id, state, cascade],
    )
    await internalsOf(other.engine).tick()
    expect(await reason.passed).toMatchObject({ code: 'lease_lost' })
    expect(await engine.batch(id)).toMatchObject({ state, [state]: 1, running: 0, following: false })
  },
)

test('a job cancelled and run again while its handler still runs keeps its new attempt when the old one ends', async () => {
  const starts: number[] = []
  const release = [gate(), gate()]
  const long = defineJob({
    kind: 'long',
    run: async ctx => {
      starts.push(ctx.attempt)
      await release[ctx.attempt - 1]!.passed
      return `attempt ${ctx.attempt}`
    },
  })
  const { engine, clock } = await engineWith(long)
  await engine.work()
  const { id } = await engine.enqueue(long, undefined)
  await until(() => starts.length === 1)
  await engine.jobs.cancel(id)
  await engine.jobs.retry(id)
  await until(() => starts.length === 2)
  release[0]!.open()
  // Three heartbeats: a worker that had forgotten its second attempt would have handed it back by then.
  const beats = new Set<number>()
  await timePasses(clock, async () => {
    const [worker] = await engine.workers.list()
    beats.add(clock.now().getTime() - worker!.heartbeatAgeSeconds * 1000)
    return beats.size > 3
  })
  expect(await engine.job(id)).toMatchObject({ state: 'running', attempt: 2 })
  release[1]!.open()
  expect(await engine.wait({ job: id })).toMatchObject({ state: 'succeeded', result: 'attempt 2', attempt: 2 })
})

test('a worker declared dead starts over under a new id, and its late finish is not accepted', async () => {
  const reasons: unknown[] = []
  let starts = 0
  const long = defineJob({
    kind: 'long',
    run: async ctx => {
      if (++starts > 1) return 'second'
      reasons.push(await aborted(ctx.signal))
      return 'first, too late'
    },
  })
  const { engine, clock, tick, databaseUrl } = await engineWith(long)
  const worker = await engine.work()
  const before = worker.id
  const { id } = await engine.enqueue(long, undefined)
  await until(() => starts === 1)
  await sql(databaseUrl, `update retoma.worker set dead_at = $1`, [clock.instant()])
  await tick()
  expect(await engine.job(id)).toMatchObject({ state: 'waiting', restarts: 1 })
  await timePasses(clock, async () => (await engine.job(id))?.state === 'succeeded')
  expect(await engine.job(id)).toMatchObject({
    state: 'succeeded',
    result: 'second',
    attempt: 2,
    failures: 0,
  })
  expect(reasons).toMatchObject([{ code: 'lease_lost', facts: { attempt: 1, worker: before } }])
  expect(worker.id).not.toBe(before)
  expect((await engine.job(id))?.worker).toBe(worker.id)
})

test('a closing engine waits for the handlers of an earlier incarnation, too, and nothing of them is left to write', async () => {
  const started = gate()
  const release = gate()
  const deaf = defineJob({
    kind: 'deaf',
    run: async () => {
      started.open()
      await release.passed
      return 'nobody asked'
    },
  })
  const { engine, clock, databaseUrl } = await engineWith(deaf)
  const worker = await engine.work({ grace: seconds(5) })
  const before = worker.id
  const { id } = await engine.enqueue(deaf, undefined)
  await started.passed
  await engine.jobs.cancel(id)
  await sql(databaseUrl, `update retoma.worker set dead_at = $1`, [clock.instant()])
  await timePasses(clock, () => worker.id !== before)
  let closed = false
  void engine.close().then(() => {
    closed = true
  })
  await until(async () => {
    await clock.advance(seconds(0.1))
    return closed
  })
  release.open()
  for (let turn = 0; turn < 100; turn++) await new Promise(resolve => setImmediate(resolve))
  expect(clock.sleepers).toBe(0)
})

test('a job enqueued in a transaction is taken soon after its commit, by a hint and not by polling', async () => {
  const quick = defineJob({ kind: 'quick', run: () => 'done' })
  const { engine, clock, databaseUrl } = await engineWith(quick)
  await engine.work()
  await until(
    async () =>
      (
        await sql(
          databaseUrl,
          `select from pg_stat_activity where datname = current_database() and query like 'listen%'`,
        )
      ).length === 1,
  )
  await until(() => clock.sleepers === 4) // claims, beats, watchdog, janitor
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  await client.query('begin')
  const { id } = await engine.enqueue(quick, undefined, { tx: client })
  expect(await engine.job(id)).toBeNull()
  await client.query('commit')
  await client.end()
  await internalsOf(engine).ping()
  expect(await engine.job(id)).toMatchObject({ state: 'waiting' })
  await clock.advance(seconds(0.01))
  expect(await engine.wait({ job: id })).toMatchObject({ state: 'succeeded' })
})

test('an answer that throws when it is looked at fails its job, and its slot is free again', async () => {
  const odd = defineJob({
    kind: 'odd',
    maxAttempts: 1,
    run: () =>
      Object.defineProperty(snooze(seconds(1)), 'delay', {
        get() {
          throw new Error('do not look')
        },
      }),
  })
  const even = defineJob({ kind: 'even', run: () => 'ran' })
  const { engine } = await liveEngine([odd, even])
  await engine.work({ queues: { default: 1 } })
  const { id } = await engine.enqueue(odd, undefined)
  expect(await engine.wait({ job: id })).toMatchObject({ state: 'failed', error: { message: 'do not look' } })
  const next = await engine.enqueue(even, undefined)
  expect(await engine.wait({ job: next.id })).toMatchObject({ state: 'succeeded' })
})

test('whatever a handler throws, the worker lives on and the job fails', async () => {
  const crash = (): never => {
    throw new Error('do not look')
  }
  const thrown: unknown[] = [
    undefined,
    Object.freeze(new Error('cold')),
    Object.defineProperty(new Error(), 'message', { get: crash }),
    new Proxy({}, { get: crash, getPrototypeOf: crash, has: crash, ownKeys: crash }),
    Object.assign(new Error(`${'x'.repeat(9999)}😀`), { code: '\u0000' }),
  ]
  const odd = defineJob({
    kind: 'odd',
    maxAttempts: 1,
    run: (_, which: number) => {
      throw thrown[which]
    },
  })
  const { engine, run } = await engineWith(odd)
  const ids = await Promise.all(thrown.map(async (_, i) => (await engine.enqueue(odd, i)).id))
  expect(await run()).toBe(thrown.length)
  const jobs = await Promise.all(ids.map(id => engine.job(id)))
  expect(jobs.map(job => [job?.state, job?.error?.code === 'bad_value'])).toEqual(thrown.map(() => ['failed', false]))
})

test('five workers of 20 jobs each run 100 jobs at once, and no more', async () => {
  const go = gate()
  let now = 0
  let most = 0
  const job = defineJob({
    kind: 'quote',
    queue: 'quotes',
    run: async () => {
      most = Math.max(most, ++now)
      await go.passed
      now--
    },
  })
  const { engine } = await liveEngine([job])
  await engine.enqueueMany(job, Array(130).fill(undefined))
  const workers = []
  for (let i = 0; i < 5; i++) workers.push(await engine.work({ queues: { quotes: 20 } }))
  await until(() => now === 100)
  expect((await engine.workers.list()).map(each => each.running)).toEqual([20, 20, 20, 20, 20])
  go.open()
  await until(async () => (await engine.jobs.list({ state: 'succeeded', limit: 200 })).items.length === 130)
  expect(most).toBe(100)
})
