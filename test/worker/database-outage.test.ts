/** A database that goes away under a worker: every job still ends once. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { createWakeHints, listen } from '../../src/claiming/sql/wake-up.ts'
import { openDb } from '../../src/database/db.ts'
import { defineJob, milliseconds, RetomaError, seconds } from '../../src/index.ts'
import { createJobActions } from '../../src/jobs/job-actions.ts'
import { SettleListeners } from '../../src/jobs/settle-listeners.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { silentLog } from '../../src/lib/logging/log.ts'
import { crashReportFolderVariable } from '../../src/supervisor/suspected-job-file.ts'
import { createTestDatabase, VirtualClock } from '../../src/testing/index.ts'
import { aborted, gate, liveEngine, until } from '../support/engine.ts'
import { databaseError, linkLost } from '../support/faulty-db.ts'
import { faultyWorker } from '../support/faulty-worker.ts'

test('when the answer to a claim is lost the job goes back within two heartbeats, and runs', async () => {
  const { db, clock, begin, enqueue, row, asleep, runs } = await faultyWorker()
  const id = await enqueue()
  // The first claim is for no job: it prepares the statement.
  db.fail('claim', 'after', linkLost(), { times: 2 })
  await begin()
  await asleep()
  for (let beat = 0; beat < 3 && (await row(id)).attempt === 1; beat++) {
    await clock.advance(seconds(5))
    await asleep()
  }
  await until(async () => (await row(id)).state === 'succeeded')
  expect(runs).toEqual([{ id, attempt: 2 }])
  expect(await row(id)).toMatchObject({ failures: 0, restarts: 0 })
})

test('a claim that was on its way for so long that its job was released starts nothing', async () => {
  const { db, clock, begin, enqueue, row, runs } = await faultyWorker()
  const id = await enqueue()
  let letGo = () => {}
  const held = new Promise<void>(resolve => {
    letGo = resolve
  })
  db.hold('claim', 'after', held)
  const claimed = db.askedFor('claim')
  await begin()
  await claimed
  await until(async () => {
    await clock.advance(seconds(5))
    return (await row(id)).state === 'waiting' && (await row(id)).attempt === 1
  })
  letGo()
  await until(async () => {
    await clock.advance(seconds(1))
    return (await row(id)).state === 'succeeded'
  })
  expect(runs).toEqual([{ id, attempt: 2 }])
})

test('a claim on its way while the heartbeat looks is not handed back', async () => {
  const { db, clock, begin, enqueue, row, asleep, runs } = await faultyWorker()
  const worker = await begin()
  await asleep()
  const id = await enqueue()
  let letGo = () => {}
  const held = new Promise<void>(resolve => {
    letGo = resolve
  })
  db.hold('claim', 'after', held)
  worker.wake()
  await until(async () => (await row(id)).state === 'running')
  const beats = () => db.asked.filter(name => name === 'worker_heartbeat').length
  const before = beats()
  await clock.advance(seconds(5))
  await until(() => beats() > before && clock.sleepers === 1)
  letGo()
  await until(async () => (await row(id)).state === 'succeeded')
  expect(runs).toEqual([{ id, attempt: 1 }])
})

test('a worker whose heartbeat, claims and outcomes fail for a while goes on when they do not', async () => {
  const { db, clock, begin, enqueue, row, asleep } = await faultyWorker()
  await begin()
  await asleep()
  const id = await enqueue()
  db.fail('worker_heartbeat', 'before', databaseError('57P03'), { times: 2 })
  db.fail('claim', 'before', databaseError('57P03'), { times: 2 })
  db.fail('settle', 'before', databaseError('57P03'), { times: 3 })
  await until(async () => {
    await clock.advance(seconds(1))
    return (await row(id)).state === 'succeeded'
  })
  expect(await row(id)).toMatchObject({ attempt: 1, failures: 0, restarts: 0 })
})

test('a worker that cannot be registered anew after its death tries again, and takes nothing before', async () => {
  const { db, real, clock, begin, enqueue, row, asleep, runs } = await faultyWorker()
  const worker = await begin()
  const before = worker.id
  await asleep()
  await real.run({ name: '', text: `update retoma.worker set dead_at = now()` }, [])
  db.fail('worker_register', 'before', databaseError('57P03'), { times: 2 })
  const id = await enqueue()
  for (const pause of [seconds(5), milliseconds(100)]) {
    await clock.advance(pause)
    await asleep()
    expect(worker.id).toBe(before)
  }
  expect(runs).toEqual([])
  await clock.advance(milliseconds(200))
  await until(async () => (await row(id)).state === 'succeeded')
  expect(worker.id).not.toBe(before)
})

/** Its clock goes on meanwhile. */
async function stops(worker: { stop(): Promise<void> }, clock: VirtualClock): Promise<void> {
  let stopped = false
  void worker.stop().then(() => {
    stopped = true
  })
  await until(async () => {
    await clock.advance(milliseconds(100))
    return stopped
  })
}

test('while it cannot write, a stopping worker does not wait for ever', async () => {
  const { db, clock, begin, enqueue, row, asleep, runs } = await faultyWorker()
  const worker = await begin()
  await asleep()
  const id = await enqueue()
  db.fail('settle', 'before', linkLost(), { times: 1_000_000 })
  worker.wake()
  await until(() => runs.length === 1)
  await stops(worker, clock)
  expect(await row(id)).toMatchObject({ state: 'running' })
  expect(clock.sleepers).toBe(0)
})

describe('a worker that gets the signal to stop while a claim is on its way', () => {
  const gaveBack = (db: { asked: string[] }) => db.asked.filter(name => name === 'claim_release').length

  test('tells its handlers at once, and releases unbegun what the claim brings', async () => {
    const reasons: unknown[] = []
    const { db, begin, enqueue, row, asleep, runs } = await faultyWorker({
      run: async ctx => {
        reasons.push(await aborted(ctx.signal))
        throw ctx.signal.reason
      },
    })
    const worker = await begin()
    await asleep()
    const running = await enqueue()
    worker.wake()
    await until(() => runs.length === 1)
    const claim = gate()
    db.hold('claim', 'after', claim.passed)
    const late = await enqueue()
    worker.wake()
    await until(async () => (await row(late)).state === 'running')
    const stopped = worker.stop()
    await until(async () => (await row(running)).state === 'waiting')
    expect(reasons).toMatchObject([{ code: 'worker_stopping' }])
    claim.open()
    await stopped
    expect(runs).toEqual([{ id: running, attempt: 1 }])
    expect(await row(late)).toMatchObject({ state: 'waiting', failures: 0, restarts: 0 })
    expect(gaveBack(db)).toBe(1)
  })

  test('starts nothing that waits for a slot when a handler makes room', async () => {
    const room = gate()
    const { db, begin, enqueueMany, row, asleep, runs } = await faultyWorker({
      queues: { q: 1 },
      run: () => (runs.length > 32 ? room.passed : undefined),
    })
    // Short jobs first: after enough of them it claims ahead.
    await enqueueMany(32)
    const worker = await begin()
    await until(() => runs.length === 32)
    await asleep()
    const ids = await enqueueMany(3)
    worker.wake()
    await until(() => runs.length === 33)
    const claim = gate()
    const held = db.hold('claim', 'before', claim.passed)
    worker.wake()
    await held
    const stopped = worker.stop()
    room.open()
    await until(async () => (await row(ids[0]!)).state === 'succeeded')
    claim.open()
    await stopped
    expect(runs).toHaveLength(33)
    for (const id of ids.slice(1)) expect(await row(id)).toMatchObject({ state: 'waiting', failures: 0, restarts: 0 })
  })

  test('has stopped within its grace and three seconds though the database answers nothing', async () => {
    const { db, clock, begin, enqueue, row, asleep, runs } = await faultyWorker({
      run: async ctx => {
        await aborted(ctx.signal)
        throw ctx.signal.reason
      },
    })
    const worker = await begin()
    await asleep()
    const id = await enqueue()
    worker.wake()
    await until(() => runs.length === 1)
    await asleep()
    const silence = gate()
    const claims = db.hold('claim', 'before', silence.passed)
    void db.hold('settle', 'before', silence.passed)
    for (const statement of ['claim_release', 'worker_heartbeat'])
      void db.hold(statement, 'before', silence.passed, { mayMiss: true })
    db.fail('worker_end', 'before', linkLost())
    worker.wake()
    await claims
    let stopped = false
    const began = clock.elapsed()
    const stopping = worker.stop().then(() => {
      stopped = true
    })
    await until(async () => {
      await clock.advance(milliseconds(100))
      return stopped
    })
    expect(clock.elapsed() - began).toBeLessThanOrEqual(1000 + 3000)
    expect(await row(id)).toMatchObject({ state: 'running', attempt: 1 })
    silence.open()
    await stopping
  })
})

test('a closing pool does not wait for a statement that is not answered', async () => {
  const database = await createTestDatabase(inject('serverUrl'))
  onTestFinished(database.drop)
  const db = openDb({ url: database.url, log: silentLog })
  const began = systemClock.elapsed()
  const asleep = db.run({ name: '', text: 'select pg_sleep(25)' }, []).catch(error => error)
  await db.close()
  expect(await asleep).toMatchObject({ code: 'database_unreachable' })
  expect(systemClock.elapsed() - began).toBeLessThan(10_000)
})

test('what is left unwritten is not called a lost lease, what is lost is', async () => {
  const { db, sql, clock, begin, enqueue, row, asleep, runs, lines } = await faultyWorker()
  const worker = await begin()
  await asleep()
  const lost = await enqueue()
  const gone = until(() => runs.length === 1).then(() => sql(`delete from retoma.job where id = $1`, [lost]))
  db.hold(
    'settle',
    'before',
    gone.then(() => {}),
  )
  worker.wake()
  await until(() => lines.some(line => line.includes('lease lost')))
  const left = await enqueue()
  db.fail('settle', 'before', linkLost(), { times: 1_000_000 })
  worker.wake()
  await until(() => runs.length === 2)
  await stops(worker, clock)
  expect(await row(left)).toMatchObject({ state: 'running' })
  const reported = (words: string) => lines.filter(line => line.includes(words)).map(line => JSON.parse(line))
  expect(reported('lease lost')).toMatchObject([{ job: lost, code: 'lease_lost' }])
  expect(reported('outcomes were not written')).toMatchObject([{ jobs: [left] }])
})

test('a job that PostgreSQL takes no end of is not handed back to run again and again', async () => {
  const { db, clock, begin, enqueue, row, asleep, runs, lines } = await faultyWorker()
  const id = await enqueue()
  db.fail('settle', 'before', databaseError('23514'), { times: 1_000_000 })
  await begin()
  await until(() => lines.some(line => line.includes('takes no end of this job')))
  for (let beat = 0; beat < 4; beat++) {
    await asleep()
    await clock.advance(seconds(5))
  }
  await asleep()
  expect(runs).toEqual([{ id, attempt: 1 }])
  expect(await row(id)).toMatchObject({ state: 'running', attempt: 1 })
})

test('all connections killed again and again under load: every job ends once', async () => {
  const runs = new Map<number, number>()
  let kills = 0
  let killing = Promise.resolve()
  const killer = { kill: async () => {} }
  const work = defineJob({
    kind: 'work',
    run: async (_, n: number) => {
      runs.set(n, (runs.get(n) ?? 0) + 1)
      if (runs.size > (kills + 1) * 50 && kills < 5) {
        kills++
        killing = killing.then(killer.kill)
      }
      return n
    },
  })
  const { engine, url } = await liveEngine([work], { connections: 5 })
  const admin = new pg.Client({ connectionString: url })
  await admin.connect()
  onTestFinished(() => admin.end())
  killer.kill = async () => {
    await admin.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
    )
  }
  const ids: string[] = []
  for (let n = 0; n < 300; n++) ids.push((await engine.enqueue(work, n)).id)
  await engine.work({ queues: { default: 20 } })
  const ended = await Promise.all(ids.map(id => engine.wait({ job: id })))
  await killing
  expect(kills).toBe(5)
  expect(ended.map(job => [job.state, job.result, job.failures])).toEqual(ids.map((_, n) => ['succeeded', n, 0]))
  const again = ended.filter(job => job.attempt > 1).length
  expect(again).toBeLessThan(300)
})

describe('whoever waits for a job', () => {
  async function desk() {
    const worker = await faultyWorker()
    const { db, clock } = worker
    const closing = new AbortController()
    const waiting = createJobActions({
      db,
      clock,
      settleListeners: new SettleListeners(),
      batch: async () => null,
      batchMoved: async () => {},
      wake: () => {},
      leasesEnded: () => {},
      closing: closing.signal,
    })
    return { ...worker, closing, wait: waiting.wait }
  }
  const away = new RetomaError('database_unreachable', { address: 'here', problem: 'ECONNREFUSED', outcome: '' })
  const silent = new RetomaError('database_timeout', { seconds: 30, outcome: '' })

  test('goes on waiting while the database is away, and hears the end when it is back', async () => {
    const { db, clock, begin, enqueue, wait } = await desk()
    const id = await enqueue()
    for (const error of [away, silent, databaseError('57P01'), databaseError('53300')])
      db.fail('view_job', 'before', error, { times: 2 })
    await begin()
    let ended: unknown
    void wait({ job: id }).then(job => (ended = job))
    await until(async () => {
      await clock.advance(seconds(1))
      return ended !== undefined
    })
    expect(ended).toMatchObject({ id, state: 'succeeded' })
  })

  test('hears its own signal, and the end of the engine, also then', async () => {
    const { db, enqueue, wait, clock, closing } = await desk()
    const id = await enqueue()
    db.fail('view_job', 'before', away, { times: 1000 })
    const stop = new AbortController()
    const stopped = wait({ job: id }, { signal: stop.signal }).catch(error => error)
    const other = wait({ job: id }).catch(error => error)
    await until(() => clock.sleepers === 2)
    stop.abort(new Error('had enough'))
    expect(await stopped).toMatchObject({ message: 'had enough' })
    closing.abort()
    await clock.advance(seconds(1))
    expect(await other).toMatchObject({ code: 'engine_closed' })
  })

  test('hears its signal though the database does not answer', async () => {
    const { db, enqueue, wait } = await desk()
    const id = await enqueue()
    const silence = gate()
    onTestFinished(() => silence.open())
    db.hold('view_job', 'before', silence.passed)
    const stop = new AbortController()
    const stopped = wait({ job: id }, { signal: stop.signal }).catch(error => error)
    await until(() => db.asked.includes('view_job'))
    stop.abort(new Error('had enough'))
    expect(await stopped).toMatchObject({ message: 'had enough' })
  })

  test('is shown when the database refuses for good', async () => {
    const { db, enqueue, wait } = await desk()
    const id = await enqueue()
    const refused = new RetomaError('database_refused', { address: 'here', problem: 'no such user' })
    for (const error of [refused, databaseError('42P01')]) {
      db.fail('view_job', 'before', error)
      await expect(wait({ job: id })).rejects.toBe(error)
    }
  })
})

describe('the ear for hints', () => {
  async function ear() {
    const database = await createTestDatabase(inject('serverUrl'))
    const db = openDb({ url: database.url, log: silentLog })
    onTestFinished(async () => {
      await db.close()
      await database.drop()
    })
    const connections = async () =>
      (
        await db.run<{ n: number }>(
          {
            name: '',
            text: `select count(*)::int as n from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
          },
          [],
        )
      )[0]!.n
    const heard: (string | undefined)[] = []
    return { db, connections, heard, woken: (queue: string | undefined) => void heard.push(queue) }
  }

  test('can be stopped while it connects, and leaves no connection', async () => {
    const { db, connections, woken } = await ear()
    let letGo = () => {}
    const held = new Promise<void>(resolve => (letGo = resolve))
    const slow = { ...db, session: () => held.then(() => db.session()) }
    const listener = listen({ db: slow, clock: systemClock, log: silentLog, sender: 'us', woken })
    const stopped = listener.stop()
    letGo()
    await stopped
    await until(async () => (await connections()) === 0)
  })

  test('leaves no connection behind when listening fails', async () => {
    const { db, connections, woken } = await ear()
    const clock = new VirtualClock()
    let tries = 0
    const broken = {
      ...db,
      session: async () => {
        const client = (await db.session())!
        const query = client.query.bind(client)
        const refuse = () => Promise.reject(linkLost())
        client.query = (++tries < 4 ? refuse : query) as typeof client.query
        return client
      },
    }
    const listener = listen({ db: broken, clock, log: silentLog, sender: 'us', woken })
    await until(async () => {
      await clock.advance(seconds(10))
      return tries === 4
    })
    await until(async () => (await connections()) === 1)
    await listener.stop()
    await until(async () => (await connections()) === 0)
  })

  test('hears hints, comes back when its connection is killed, and says that it may have missed some', async () => {
    const { db, heard, woken } = await ear()
    const clock = new VirtualClock()
    const listener = listen({ db, clock, log: silentLog, sender: 'us', woken })
    await until(() => heard.length === 1)
    await db.run({ name: '', text: `select pg_notify('retoma_wake', 'mail')` }, [])
    await until(() => heard.length === 2)
    await db.run(
      {
        name: '',
        text: `select pg_terminate_backend(pid) from pg_stat_activity where query like 'listen%' and datname = current_database()`,
      },
      [],
    )
    await until(() => clock.sleepers === 1)
    await clock.advance(seconds(1))
    await until(() => heard.length === 3)
    expect(heard).toEqual([undefined, 'mail', undefined])
    await listener.stop()
    expect(clock.sleepers).toBe(0)
  })

  test('does not hear what this engine says itself: its workers know', async () => {
    const { db, heard, woken } = await ear()
    const clock = new VirtualClock()
    const listener = listen({ db, clock, log: silentLog, sender: 'us', woken })
    await until(() => heard.length === 1)
    const ours = createWakeHints({ db, clock, log: silentLog, sender: 'us' })
    ours.hint('mail')
    await ours.settled()
    const others = createWakeHints({ db, clock, log: silentLog, sender: 'them' })
    others.hint('post')
    await until(() => heard.length === 2)
    expect(heard).toEqual([undefined, 'post'])
    await listener.stop()
  })

  test('hears of what is due later also when something else is ready at once', async () => {
    const { db } = await ear()
    const clock = new VirtualClock()
    const heard: unknown[] = []
    const woken = (queue?: string, delayMs?: number) => void heard.push([queue, delayMs])
    const listener = listen({ db, clock, log: silentLog, sender: 'us', woken })
    await until(() => heard.length === 1)
    const others = createWakeHints({ db, clock, log: silentLog, sender: 'them' })
    // The first is on its way while the others gather.
    others.hint('post')
    for (const delayMs of [2000, 0, 1000]) others.hint('mail', delayMs)
    await until(() => heard.length === 4)
    expect(heard.slice(1)).toEqual([
      ['post', 0],
      ['mail', 0],
      ['mail', 1000],
    ])
    await others.settled()
    await listener.stop()
  })

  test('hears nothing of a job that was claimed where it was enqueued, and of one that was not', async () => {
    const { db, heard, woken } = await ear()
    const clock = new VirtualClock()
    const listener = listen({ db, clock, log: silentLog, sender: 'us', woken })
    await until(() => heard.length === 1)
    const others = createWakeHints({ db, clock, log: silentLog, sender: 'them' })
    others.hint('mail', 0, true, '1')
    others.hint('mail', 0, true, '2')
    others.hint('post', 0, true, '3')
    for (const job of ['1', '2']) others.claimed('mail', job)
    await clock.advance(milliseconds(20))
    await until(() => heard.length === 2)
    expect(heard).toEqual([undefined, 'post'])
    await others.settled()
    await listener.stop()
  })

  test('hears a little later of work that a worker elsewhere has a free slot for, and at once when it has none after all', async () => {
    const { db, heard, woken } = await ear()
    const clock = new VirtualClock()
    const listener = listen({ db, clock, log: silentLog, sender: 'us', woken })
    await until(() => heard.length === 1)
    const others = createWakeHints({ db, clock, log: silentLog, sender: 'them' })
    others.hint('mail', 0, true)
    expect(clock.sleepers).toBe(1)
    await clock.advance(milliseconds(20))
    await until(() => heard.length === 2)
    others.hint('mail', 0, true)
    others.hint('post')
    await until(() => heard.length === 4)
    expect(heard).toEqual([undefined, 'mail', 'mail', 'post'])
    await others.settled()
    await listener.stop()
    expect(clock.sleepers).toBe(0)
  })
})

test('a worker that starts over while the database is away leaves nothing behind for each try', async () => {
  const reportFolder = mkdtempSync(join(tmpdir(), 'retoma-crash-reports-'))
  process.env[crashReportFolderVariable] = reportFolder
  onTestFinished(() => {
    delete process.env[crashReportFolderVariable]
    rmSync(reportFolder, { recursive: true })
  })
  const { db, clock, begin, sql } = await faultyWorker()
  const worker = await begin()
  const before = worker.id
  db.fail('worker_register', 'before', databaseError('57P03'), { times: 5 })
  await sql(`update retoma.worker set dead_at = $1`, [clock.instant()])
  await until(async () => {
    await clock.advance(seconds(1))
    return worker.id !== before
  })
  expect(readdirSync(reportFolder).filter(name => name.startsWith('starts.'))).toEqual([`starts.${worker.id}`])
})

test('a worker says at least every 30 s that it lives, idle and while its job runs', async () => {
  const { clock, begin, enqueue, sql, runs } = await faultyWorker({ run: ctx => aborted(ctx.signal) })
  await begin()
  const ages: number[] = []
  // Less than the job's timeout of a minute.
  const pass = async () => {
    for (let i = 0; i < 18; i++) {
      await clock.advance(seconds(3))
      const [row] = await sql<{ heartbeat_at: Date }>(`select heartbeat_at from retoma.worker`)
      ages.push(clock.now().getTime() - row!.heartbeat_at.getTime())
    }
  }
  await pass()
  await enqueue()
  await until(async () => {
    await clock.advance(seconds(1))
    return runs.length === 1
  })
  await pass()
  expect(Math.max(...ages)).toBeLessThanOrEqual(30_000)
  expect(await sql(`select from retoma.job where state = 'running'`)).toHaveLength(1)
})
