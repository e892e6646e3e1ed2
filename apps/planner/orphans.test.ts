/** The policy of the seed, on the virtual clock: who is marked, when, and who is never marked. */
import { type Duration, hours, milliseconds, minutes, seconds } from 'retoma'
import sharp from 'sharp'
import { expect, test } from 'vitest'
import { sqlOn } from '../../test/support/application.ts'
import { plannerDoor, smallProblem } from './test/door.ts'

const orphan = 'orphan: job RUNNING sem heartbeat; worker provavelmente morreu'

/** Three jobs, one of each kind, that run at a worker of another machine. */
async function runningElsewhere() {
  const t = await plannerDoor()
  const sql = await sqlOn(t)
  const csv = Buffer.from('data;hora\n04/03/2030;9')
  const ids = [
    await t.generate(smallProblem),
    await t.upload('extract-demand', csv, 'v.csv'),
    await t.upload('generate-thumbnail', csv, 'v.png'),
  ]
  const now = () => t.clock.instant()
  await sql(
    `insert into retoma.worker (id, host, pid, version, queues, kinds, started_at, heartbeat_at)
     values ('w-away', 'h', 1, '0', '{}', '{generate-schedule}', $1, $1)`,
    [now()],
  )
  const start = (of: readonly string[], worker: string) =>
    sql(`update retoma.job set state = 'running', attempt = 1, worker_id = $2, started_at = $3, finished_at = null where id = any ($1)`, [of, worker, now()]) // biome-ignore format: one statement
  await start(ids, 'w-away')
  const beat = (more = '') =>
    sql(`update retoma.worker set heartbeat_at = $1${more}, suspected_at = null where dead_at is null`, [now()])
  /** Time in small steps, with the watchdog at every step. */
  const passes = async (time: Duration, each: () => unknown = () => {}) => {
    for (let passed = 0; passed < time; passed += seconds(5)) {
      await t.clock.advance(seconds(5))
      await each()
      await t.tick()
    }
  }
  const statuses = async () => (await Promise.all(ids.map(t.read))).map(({ status }) => status)
  return { ...t, sql, ids, start, beat, passes, statuses }
}

const running = ['RUNNING', 'RUNNING', 'RUNNING']

test('a job of each kind whose worker died is FAILED with the text of the seed between 2 and 7 minutes after the last heartbeat, never before', async () => {
  const t = await runningElsewhere()
  const last = t.clock.now()
  await t.passes(milliseconds(minutes(2) - seconds(5)))
  expect(await t.statuses()).toEqual(running)
  await t.passes(milliseconds(minutes(5) + seconds(5)))
  for (const id of t.ids) {
    const job = await t.read(id)
    expect(job).toMatchObject({ status: 'FAILED', error_message: orphan, last_heartbeat_at: last.toISOString() })
    const took = Date.parse(job.completed_at) - last.getTime()
    expect(took).toBeGreaterThanOrEqual(minutes(2))
    expect(took).toBeLessThanOrEqual(minutes(7))
  }
  // The heartbeat stays as it was, also after the row of the worker is gone.
  await t.sql(`delete from retoma.worker`)
  expect(await t.read(t.ids[0]!)).toMatchObject({ last_heartbeat_at: last.toISOString() })
})

test('reconcile_orphan_jobs, run by hand, marks at once what is 2 minutes old, and nothing younger', async () => {
  const t = await runningElsewhere()
  await t.schedule()
  const reconcile = async () => {
    const { id } = await t.engine.schedules.run('reconcile_orphan_jobs')
    await t.run()
    return (await t.engine.job(id))!.result
  }
  // The worker is dead after 20 s; no watchdog makes a sweep from here on.
  await t.passes(minutes(1))
  await t.clock.advance(seconds(55))
  expect(await reconcile()).toEqual({ marked: 0, pending_without_worker: [] })
  await t.clock.advance(seconds(10))
  expect(await reconcile()).toEqual({ marked: 3, pending_without_worker: [] })
  expect(await t.statuses()).toEqual(['FAILED', 'FAILED', 'FAILED'])
  expect(await t.read(t.ids[0]!)).toMatchObject({ error_message: orphan, completed_at: t.clock.now().toISOString() })
})

test('a RUNNING job without any heartbeat is found too, and not before it has run for 2 minutes', async () => {
  const t = await runningElsewhere()
  await t.sql(`delete from retoma.worker`)
  await t.passes(milliseconds(minutes(2) - seconds(5)))
  expect(await t.statuses()).toEqual(running)
  await t.passes(milliseconds(minutes(5) + seconds(5)))
  expect(await t.read(t.ids[1]!)).toMatchObject({ status: 'FAILED', error_message: orphan })
})

test('a job whose event loop is blocked for 3 minutes, but whose worker lives, is not marked; its heartbeat is never older than 30 s', async () => {
  const t = await runningElsewhere()
  const blocked = `, blocked_since = coalesce(blocked_since, $1)`
  await t.passes(minutes(3), async () => {
    await t.beat(blocked)
    const { last_heartbeat_at } = await t.read(t.ids[0]!)
    expect(t.clock.now().getTime() - Date.parse(last_heartbeat_at)).toBeLessThanOrEqual(seconds(30))
  })
  await t.passes(minutes(5), () => t.beat(`, blocked_since = null`))
  expect(await t.statuses()).toEqual(running)
})

test('a job that runs a minute longer than its 15 minutes is FAILED with that reason, although its worker lives', async () => {
  const t = await runningElsewhere()
  await t.passes(seconds(5), () => t.beat())
  // As after an hour of checks by the watchdog, and a start 15 minutes and 50 seconds ago.
  await t.sql(`update retoma.periodic_lease set since = since - interval '1 h' where name = 'watchdog'`)
  await t.sql(`update retoma.job set started_at = $1::timestamptz - interval '15 min 50 s'`, [t.clock.instant()])
  await t.passes(seconds(5), () => t.beat())
  expect(await t.statuses()).toEqual(running)
  await t.passes(seconds(5), () => t.beat())
  for (const id of t.ids)
    expect(await t.read(id)).toMatchObject({ status: 'FAILED', error_message: 'o job passou do tempo máximo' })
})

test('with the database away for 4 minutes nobody is marked', async () => {
  const t = await runningElsewhere()
  await t.passes(seconds(30), () => t.beat())
  // Neither the worker nor a watchdog reaches the database; then the watchdog comes first.
  await t.clock.advance(minutes(4))
  await t.tick()
  await t.clock.advance(seconds(5))
  await t.tick()
  await t.passes(minutes(8), () => t.beat())
  expect(await t.statuses()).toEqual(running)
})

test('a PENDING job that no worker takes is reported, and FAILED with a message after 24 hours, not before', async () => {
  const t = await plannerDoor()
  const id = await t.generate(smallProblem)
  for (let i = 0; i < 8; i++) {
    await t.tick()
    await t.clock.advance(seconds(5))
  }
  expect(await t.engine.metrics.findings()).toMatchObject([
    { verdict: 'starved', facts: { queue: 'planner', kind: 'generate-schedule' } },
  ])
  await t.clock.advance(milliseconds(hours(24) - seconds(41)))
  await t.clean()
  expect(await t.read(id)).toMatchObject({ status: 'PENDING' })
  await t.clock.advance(seconds(1))
  await t.clean()
  expect(await t.read(id)).toMatchObject({
    status: 'FAILED',
    error_message: 'orphan: job PENDING há mais de 24 h; nenhum worker o pegou',
    started_at: null,
    last_heartbeat_at: null,
    completed_at: t.clock.now().toISOString(),
  })
})

test('a job that waits almost 24 hours and then runs for minutes, or that a stop puts back, is not FAILED for its age', async () => {
  const t = await runningElsewhere()
  const id = await t.generate(smallProblem)
  await t.clock.advance(milliseconds(hours(24) - minutes(2)))
  await t.start([id], 'w-away')
  for (let minute = 0; minute < 5; minute++) {
    await t.clock.advance(minutes(1))
    await t.beat()
    await t.clean()
  }
  expect(await t.read(id)).toMatchObject({ status: 'RUNNING' })
  const released = `state = 'waiting', worker_id = null, claim_rank = claim_rank & ~1, run_at = $2`
  await t.sql(`update retoma.job set ${released} where id = $1`, [id, t.clock.instant()])
  await t.clock.advance(hours(23))
  await t.clean()
  expect(await t.read(id)).toMatchObject({ status: 'PENDING' })
  await t.clock.advance(hours(1))
  await t.clean()
  expect(await t.read(id)).toMatchObject({ status: 'FAILED' })
})

test('a job that ends while no worker has the job has neither a start nor a heartbeat, also if a worker had the job before', async () => {
  const t = await runningElsewhere()
  const [overdue, cancelled, retried] = t.ids as [string, string, string]
  await t.clock.advance(minutes(1))
  await t.beat()
  const released = `state = 'waiting', last_worker = worker_id, worker_id = null, claim_rank = claim_rank & ~1, run_at = $2`
  await t.sql(`update retoma.job set ${released} where id = any ($1)`, [[overdue, cancelled], t.clock.instant()])
  await t.engine.jobs.cancel(retried)
  const atEnd = t.clock.now().toISOString()
  expect(await t.read(retried)).toMatchObject({ error_message: 'cancelado', last_heartbeat_at: atEnd })
  await t.clock.advance(minutes(1))
  await t.engine.jobs.retry(retried)
  await t.engine.jobs.cancel(retried)
  await t.engine.jobs.cancel(cancelled)
  await t.clock.advance(hours(24))
  await t.clean()
  for (const id of t.ids)
    expect(await t.read(id)).toMatchObject({ status: 'FAILED', started_at: null, last_heartbeat_at: null })
})

test('a paused queue fails no PENDING job; after the resume a job has 24 hours again', async () => {
  const t = await plannerDoor()
  const id = await t.generate(smallProblem)
  await t.engine.queues.pause('planner')
  await t.clock.advance(hours(30))
  await t.clean()
  expect(await t.read(id)).toMatchObject({ status: 'PENDING' })
  await t.engine.queues.resume('planner')
  await t.clock.advance(milliseconds(hours(24) - seconds(1)))
  await t.clean()
  expect(await t.read(id)).toMatchObject({ status: 'PENDING' })
  await t.clock.advance(seconds(1))
  await t.clean()
  expect(await t.read(id)).toMatchObject({ status: 'FAILED' })
})

test('thumbnails of a job that is retried after its worker died before the end was written are kept, and not removed after a day', async () => {
  const t = await runningElsewhere()
  const image = await sharp({ create: { width: 9, height: 9, channels: 3, background: '#fff' } })
    .png()
    .toBuffer()
  const id = await t.upload('generate-thumbnail', image, 'v.png')
  await t.run()
  expect(await t.read(id)).toMatchObject({ status: 'COMPLETED' })
  // As a worker leaves the job that dies after the last step of its handler.
  await t.start([id], 'w-away')
  await t.passes(minutes(7))
  expect(await t.read(id)).toMatchObject({ status: 'FAILED', error_message: orphan })
  await t.engine.jobs.retry(id)
  await t.run()
  expect(await t.read(id)).toMatchObject({ status: 'COMPLETED', result: { source: { width: 9, height: 9 } } })
  await t.clock.advance(hours(25))
  await t.clean()
  for (const size of ['small', 'large'])
    expect((await t.ask('GET', `/api/planner/jobs/${id}/thumbnails/${size}`)).status).toBe(200)
})
