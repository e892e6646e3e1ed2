/** Jobs under crash suspicion run apart or alone, at most two at a time, and no other job starves. */
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { defineJob, type Isolation, seconds } from '../../src/index.ts'
import { IsolationMode } from '../../src/isolation/isolation-mode.ts'
import type { CrashSuspicion } from '../../src/jobs/model/crash-suspicion.ts'
import { engineWith, type Gate, gate, until } from '../support/engine.ts'
import { faultyWorker } from '../support/faulty-worker.ts'

const isolation = { able: false }
class FakeIsolationMode extends IsolationMode {
  override runsInProcess(): boolean {
    return isolation.able
  }
  /** No child can load the handler of these tests. */
  override isolationOf(): Isolation {
    return 'inline'
  }
}
beforeEach(() => {
  isolation.able = false
})

/** A worker whose handlers end when the test says so. */
async function workerWith(given: { queues?: Record<string, number> } = {}) {
  const gates = new Map<string, Gate>()
  const gateOf = (id: string) => {
    if (!gates.has(id)) gates.set(id, gate())
    return gates.get(id)!
  }
  const running = new Set<string>()
  let over = false
  const made = await faultyWorker({
    ...given,
    isolationMode: new FakeIsolationMode(),
    run: async ctx => {
      running.add(ctx.id)
      if (!over) await gateOf(ctx.id).passed
      running.delete(ctx.id)
    },
  })
  onTestFinished(() => {
    over = true
    for (const each of gates.values()) each.open()
  })
  const suspect = async (care: Partial<CrashSuspicion>) => {
    const id = await made.enqueue()
    const kept = { level: 1, crashedWorker: 'w-dead', unexplainedCrashes: 1, restartsWithoutProgress: 0, ...care }
    await made.sql(`update retoma.job set crash_suspicion = $2 where id = $1`, [id, JSON.stringify(kept)])
    return id
  }
  const { clock } = made
  /** What runs once all that is to be done now is done. */
  const runs = async (forSeconds = 0) => {
    await clock.advance(seconds(forSeconds))
    await until(() => clock.sleepers >= 2)
    await clock.advance(seconds(0))
    return [...running].sort((a, b) => Number(a) - Number(b))
  }
  const end = async (id: string) => {
    gateOf(id).open()
    await made.ended(id)
  }
  return { ...made, suspect, runs, end, gateOf, running }
}

const alone = { level: 2, unexplainedCrashes: 2 } as const

describe('suspects', () => {
  test('of one death run one after the other, beside a normal job', async () => {
    const { begin, suspect, enqueue, runs, end } = await workerWith()
    const [a, b, normal] = [await suspect({}), await suspect({}), await enqueue()]
    await begin()
    const [first, second] = (await runs()).includes(a) ? [a, b] : [b, a]
    expect(await runs(10)).toEqual([first, normal])
    await end(first!)
    expect(await runs()).toEqual([second, normal])
  })

  test('of two deaths run at once', async () => {
    const { begin, suspect, runs } = await workerWith()
    const [a, b] = [await suspect({ crashedWorker: 'w-1' }), await suspect({ crashedWorker: 'w-2' })]
    await begin()
    expect(await runs()).toEqual([a, b])
  })

  test('take no slot of a normal job, and are no more than two; others are released for a while, and nothing is counted', async () => {
    const { begin, suspect, enqueue, runs, row, end } = await workerWith({ queues: { q: 4 } })
    const ids = [
      await suspect({ crashedWorker: 'w-1' }),
      await suspect({ crashedWorker: 'w-2' }),
      await suspect({ crashedWorker: 'w-3' }),
    ]
    const normal = [await enqueue(), await enqueue(), await enqueue()]
    await begin()
    const running = await runs()
    expect(running).toHaveLength(5)
    expect(running).toEqual(expect.arrayContaining(normal))
    const [third] = ids.filter(id => !running.includes(id))
    expect(await row(third!)).toMatchObject({ state: 'waiting', failures: 0, restarts: 0, error: null })
    await end(ids.find(id => id !== third)!)
    expect(await runs(3)).toContain(third)
  })

  test('that a worker has no room for are not asked for again and again', async () => {
    const { begin, suspect, runs, row } = await workerWith()
    const ids = await Promise.all(['w-1', 'w-2', 'w-3'].map(crashedWorker => suspect({ crashedWorker })))
    await begin()
    const running = await runs(20)
    const { attempt } = await row(ids.find(id => !running.includes(id))!)
    // Once a second at the most: random is none here.
    expect(attempt).toBeGreaterThan(5)
    expect(attempt).toBeLessThanOrEqual(22)
  })

  test('that wait go back with a worker that stops, unbegun', async () => {
    const { begin, suspect, runs, row, gateOf } = await workerWith()
    const [a, b] = [await suspect({}), await suspect({})]
    const worker = await begin()
    const [first, second] = (await runs()).includes(a) ? [a, b] : [b, a]
    expect(await row(second!)).toMatchObject({ state: 'running' })
    gateOf(first!).open()
    await worker.stop()
    expect(await row(second!)).toMatchObject({ state: 'waiting', restarts: 0, crash_suspicion: { level: 1 } })
  })

  test('that wait go back when their batch is held', async () => {
    const { begin, suspect, runs, row, sql } = await workerWith()
    const [a, b] = [await suspect({}), await suspect({})]
    await sql(`update retoma.job set batch_id = 7`)
    const worker = await begin()
    const [first, second] = (await runs()).includes(a) ? [a, b] : [b, a]
    await sql(`update retoma.job set crash_suspicion = null where id = $1`, [second])
    await worker.returnUnstarted('q', '7')
    await until(async () => (await row(second!)).attempt === 2)
    expect((await runs()).toSorted()).toEqual([first, second].toSorted())
  })
})

describe('a suspect that must be alone', () => {
  test('starts when all others have ended, and nothing else starts until it has', async () => {
    const { begin, suspect, enqueue, runs, row, end, running } = await workerWith()
    const first = await enqueue()
    const worker = await begin()
    expect(await runs()).toEqual([first])
    const dangerous = await suspect(alone)
    worker.wake('q')
    expect(await runs()).toEqual([first])
    const second = await enqueue()
    expect(worker.wake('q')).toBe(false)
    expect(await runs(6)).toEqual([first])
    await end(first)
    await until(() => running.size > 0)
    expect(await runs(6)).toEqual([dangerous])
    // Nor is anything asked for meanwhile: others may have a slot for it.
    expect(await row(second)).toMatchObject({ attempt: 0 })
    await end(dangerous)
    expect(await runs(6)).toEqual([second])
  })

  test('keeps from starting also what the same claim has brought, which goes back within a second', async () => {
    const { begin, suspect, enqueue, runs, row, end } = await workerWith()
    const first = await enqueue()
    const worker = await begin()
    await runs()
    const [dangerous, normal] = [await suspect(alone), await enqueue()]
    worker.wake('q')
    expect(await runs()).toEqual([first])
    expect([await row(dangerous), await row(normal)]).toMatchObject([{ state: 'running' }, { state: 'running' }])
    await runs(2.5)
    expect([await row(dangerous), await row(normal)]).toMatchObject([{ state: 'running' }, { state: 'waiting' }])
    await end(first)
    expect(await runs(1)).toEqual([dangerous])
  })

  test('waits for the outcomes of others to be in the database: a death would be theirs, too', async () => {
    const { begin, suspect, enqueue, runs, row, gateOf, db, running } = await workerWith()
    const first = await enqueue()
    const worker = await begin()
    await runs()
    const dangerous = await suspect(alone)
    worker.wake('q')
    await runs()
    const landed = gate()
    db.hold('settle', 'before', landed.passed)
    gateOf(first).open()
    await db.askedFor('settle')
    expect([...running]).toEqual([])
    expect(await row(dangerous)).toMatchObject({ state: 'running' })
    landed.open()
    await until(() => running.has(dangerous))
  })

  test('goes back after half a minute, for another worker, and this one goes on with the others for as long', async () => {
    const { begin, suspect, enqueue, runs, row, end } = await workerWith()
    const long = await enqueue()
    const worker = await begin()
    await runs()
    const dangerous = await suspect(alone)
    worker.wake('q')
    await runs()
    const other = await enqueue()
    expect(await runs(29)).toEqual([long])
    expect(await row(dangerous)).toMatchObject({ state: 'running' })
    expect(await runs(3)).toEqual([long, other])
    await end(other)
    const { attempt } = await row(dangerous)
    const next = await enqueue()
    expect(await runs(20)).toEqual([long, next])
    expect(await row(dangerous)).toMatchObject({ restarts: 0, failures: 0, crash_suspicion: { level: 2 } })
    // Asked for now and then meanwhile, and not every second.
    expect((await row(dangerous)).attempt - attempt).toBeLessThan(6)
  })

  test('has not begun to run out of time while it waits for its turn', async () => {
    const { begin, suspect, enqueue, runs, row, clock, sql } = await workerWith()
    const long = await enqueue()
    const worker = await begin()
    expect(await runs()).toEqual([long])
    const dangerous = await suspect(alone)
    worker.wake('q')
    await runs()
    for (let waited = 0; waited < 25; waited++) await runs(1)
    expect(await row(dangerous)).toMatchObject({ state: 'running' })
    const [{ ms }] = (await sql<{ ms: number }>(
      `select extract(epoch from $2::timestamptz - started_at)::float8 * 1000 as ms from retoma.job where id = $1`,
      [dangerous, clock.now()],
    )) as [{ ms: number }]
    expect(ms).toBeLessThanOrEqual(seconds(3))
  })

  test('leaves no free slot to report while it is waited for', async () => {
    const { begin, suspect, enqueue, runs, sql, end } = await workerWith()
    const reported = async () =>
      (await sql<{ free: string }>(`select free_slots ->> 'q' as free from retoma.worker`)).map(each => each.free)
    const long = await enqueue()
    const worker = await begin()
    await runs(6)
    expect(await reported()).toEqual(['4'])
    await suspect(alone)
    worker.wake('q')
    await runs()
    for (let waited = 0; waited < 6; waited++) await runs(1)
    expect(await reported()).toEqual(['0'])
    await end(long)
  })

  test('and is cancelled while it waits holds up nobody any more, from the next heartbeat on', async () => {
    const { begin, suspect, enqueue, runs, sql } = await workerWith()
    const long = await enqueue()
    const worker = await begin()
    await runs()
    const dangerous = await suspect(alone)
    worker.wake('q')
    await runs()
    await sql(`update retoma.job set state = 'cancelled', worker_id = null, finished_at = now() where id = $1`, [
      dangerous,
    ])
    const next = await enqueue()
    for (let waited = 0; waited < 8; waited++) await runs(1)
    expect(await runs()).toEqual([long, next])
  })

  test('runs in the end, though others run for long', async () => {
    const { begin, suspect, enqueue, runs, end, running } = await workerWith()
    const long = await enqueue()
    const worker = await begin()
    await runs()
    const dangerous = await suspect(alone)
    worker.wake('q')
    // It is more patient each time: 30 s, 60 s …; the handler's own time-out is a minute.
    for (let waited = 0; waited < 50; waited++) await runs(1)
    await end(long)
    await until(async () => {
      await runs(1)
      return running.has(dangerous)
    })
    expect([...running]).toEqual([dangerous])
  })

  test('of whose death the worker knows nothing any more holds up nobody', async () => {
    const { begin, suspect, enqueue, runs, sql } = await workerWith()
    await enqueue()
    const worker = await begin()
    await runs()
    await suspect(alone)
    worker.wake('q')
    await runs()
    await sql(`update retoma.worker set dead_at = $1`, [new Date()])
    const next = await enqueue()
    // A beat tells it; it starts over under a new id.
    await until(async () => (await runs(1)).includes(next))
  })

  test('is one at a time', async () => {
    const { begin, suspect, runs, end, row } = await workerWith()
    const [a, b] = [await suspect(alone), await suspect({ ...alone, crashedWorker: 'w-2' })]
    await begin()
    const running = await runs()
    expect(running).toHaveLength(1)
    const [first, second] = running.includes(a) ? [a, b] : [b, a]
    expect(await row(second!)).toMatchObject({ state: 'waiting' })
    await end(first!)
    expect(await runs(10)).toEqual([second])
  })

  test('runs beside others where it has a process of its own', async () => {
    isolation.able = true
    const { begin, suspect, enqueue, runs } = await workerWith()
    const [normal, dangerous] = [await enqueue(), await suspect(alone)]
    await begin()
    expect(await runs()).toEqual([normal, dangerous])
  })
})

test('a job that is only kept count of runs as any other', async () => {
  const { begin, suspect, enqueue, runs } = await workerWith()
  const ids = [
    await suspect({ level: 0, restartsWithoutProgress: 1 }),
    await suspect({ level: 0, restartsWithoutProgress: 2 }),
    await enqueue(),
  ]
  await begin()
  expect(await runs()).toEqual(ids)
})

test('a worker driven by hand runs suspects, too, and they are cleared by their end', async () => {
  const ran: string[] = []
  const job = defineJob({ kind: 'a', run: ctx => void ran.push(ctx.id) })
  const { engine, run, clock, databaseUrl } = await engineWith(job)
  const ids: string[] = []
  for (let i = 0; i < 4; i++) ids.push((await engine.enqueue(job, undefined)).id)
  const { default: pg } = await import('pg')
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  await client.query(
    `update retoma.job set crash_suspicion = '{"level": 2, "crashedWorker": "w-1", "unexplainedCrashes": 2, "restartsWithoutProgress": 0}'`,
  )
  for (let round = 0; round < 4; round++) {
    await run()
    await clock.advance(seconds(2))
  }
  expect(ran.toSorted()).toEqual(ids)
  expect((await client.query(`select from retoma.job where crash_suspicion is not null`)).rows).toEqual([])
  await client.end()
})
