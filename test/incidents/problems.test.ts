/** The problems of this moment: each source of trouble is in the one list, with its start and the action that helps. */
import { expect, test } from 'vitest'
import { defineBatch, defineJob, minutes, seconds } from '../../src/index.ts'
import { engineOf } from '../support/engine.ts'

const letter = defineJob<number>({ kind: 'letter', queue: 'letters', run: () => {} })
const letters = defineBatch({ name: 'letters', job: letter })

async function world() {
  const made = await engineOf({ batches: [letters] })
  const { engine, clock, tick } = made
  await tick()
  const now = () => clock.now().toISOString()
  const write = (text: string, values: unknown[] = []) => engine.transaction(tx => tx.query(text, values))
  const worker = (id: string, more = {}) =>
    write(
      `insert into retoma.worker (id, host, pid, version, queues, kinds, started_at, heartbeat_at, blocked_since, dead_at)
       values ($1, 'alfa', 7, '1', '{"letters": 5}', '{letter}', $2, $2, $3, $4)`,
      [id, now(), (more as { blocked?: string }).blocked ?? null, (more as { dead?: string }).dead ?? null],
    )
  const problems = async () => {
    await write(`update retoma.periodic_lease set at = $1 where name = 'watchdog'`, [now()])
    return (await engine.metrics.health()).problems.map(({ event, subject, since, action, severity }) => ({
      event,
      subject,
      since: since.toISOString(),
      action,
      severity,
    }))
  }
  return { ...made, now, write, worker, problems }
}

test('a system without work has no problem', async () => {
  const { engine, problems } = await world()
  expect(await problems()).toEqual([])
  expect((await engine.metrics.health()).severity).toBe('ok')
})

test('a paused queue is a problem from the pause on, as long as jobs wait', async () => {
  const { engine, clock, now, worker, problems } = await world()
  await worker('w-1')
  await engine.enqueue(letter, 1)
  await clock.advance(minutes(5))
  const at = now()
  await engine.queues.pause('letters')
  await clock.advance(seconds(10))
  const found = {
    event: 'queue.paused',
    subject: 'queue:letters',
    since: at,
    action: 'queue.resume',
    severity: 'warning',
  }
  expect(await problems()).toEqual([found])
  const { sentence } = await engine.metrics.health()
  expect(sentence).toEqual({
    en: 'Queue letters is paused, and 1 job waits.',
    pt: 'A fila letters está pausada e 1 job espera.',
  })
  await engine.queues.resume('letters')
  expect(await problems()).toEqual([])
})

test('a paused queue without waiting jobs is no problem', async () => {
  const { engine, problems } = await world()
  const { id } = await engine.enqueue(letter, 1)
  await engine.jobs.cancel(id)
  await engine.queues.pause('letters')
  expect(await problems()).toEqual([])
})

test('jobs wait and no worker is alive: one problem, since the later of the death and the oldest job', async () => {
  const { engine, clock, now, worker, problems } = await world()
  await engine.enqueue(letter, 1)
  await clock.advance(minutes(2))
  const died = now()
  await worker('w-1', { dead: died })
  const found = { event: 'workers.none', subject: 'workers', since: died, action: null, severity: 'critical' }
  expect(await problems()).toEqual([found])
  await worker('w-2')
  expect(await problems()).toEqual([])
})

test('a stalled batch is a problem since the stall, and its stalled jobs are no second problem', async () => {
  const { engine, clock, now, write, worker, problems } = await world()
  await worker('w-1')
  const { id } = await engine.submit(letters, [1, 2])
  await clock.advance(minutes(5))
  const at = now()
  await write(
    `update retoma.batch set state = 'stalled', claims_blocked = true, stopped_at = $2, reason = '{"code":"no_progress"}' where id = $1`,
    [id, at],
  )
  await write(`update retoma.job set state = 'stalled' where batch_id = $1`, [id])
  await clock.advance(seconds(20))
  expect(await problems()).toEqual([
    { event: 'batch.stalled', subject: `batch:${id}`, since: at, action: 'batch.resume', severity: 'critical' },
  ])
})

test('a batch that a person paused is information since the pause', async () => {
  const { engine, clock, now, worker, problems } = await world()
  await worker('w-1')
  const { id } = await engine.submit(letters, [1])
  await clock.advance(minutes(5))
  const at = now()
  await engine.batches.pause(id)
  await clock.advance(minutes(1))
  const found = { event: 'batch.paused', subject: `batch:${id}`, since: at, action: 'batch.resume', severity: 'info' }
  expect(await problems()).toEqual([found])
})

test('a stalled job is a problem since its stall, and is resumed by its action', async () => {
  const { engine, clock, now, write, worker, problems } = await world()
  await worker('w-1')
  const { id } = await engine.enqueue(letter, 1)
  await clock.advance(minutes(3))
  const at = now()
  await write(`update retoma.job set state = 'stalled', attempt = 1, started_at = created_at where id = $1`, [id])
  await write(
    `insert into retoma.failure (job_id, attempt, failure_type, message, at) values ($1, 1, 'hung', 'no sign', $2)`,
    [id, at],
  )
  const found = {
    event: 'jobs.stalled',
    subject: 'jobs.stalled',
    since: at,
    action: 'jobs.resume',
    severity: 'critical',
  }
  expect(await problems()).toEqual([found])
})

test('a blocked worker, providers that stopped or wait, a failing and a late guard, and slow jobs are in the same list', async () => {
  const { now, write, worker, problems, clock } = await world()
  const at = now()
  await clock.advance(minutes(2))
  await worker('w-1', { blocked: at })
  await worker('w-2')
  await write(
    `insert into retoma.provider (name, stopped_at, probe_at, message, at, wait_until, waits_since) values
       ('mail', $1, $1, 'no credit', $1, '-infinity', null), ('maps', null, null, 'slow down', $1, $2::timestamptz + interval '1 hour', $1),
       ('open', null, null, null, $1, '-infinity', null)`,
    [at, now()],
  )
  await write(
    `insert into retoma.guard (name, about, swept_at, last_error, failing_since) values
       ('lost', '{"every": 60000}', $2, '{"code": "x", "en": "no table", "pt": "sem tabela"}', $1),
       ('late', '{"every": 60000}', $1::timestamptz - interval '1 minute', null, null), ('fine', '{"every": 60000}', $2, null, null)`,
    [at, now()],
  )
  await write(
    `insert into retoma.finding (verdict, subject, since, seen_at, facts) values ('slow', 'job:9', $1, $1, '{"job": "9", "attempt": 1}')`,
    [at],
  )
  const found = await problems()
  expect(new Set(found.map(({ event, subject, action }) => `${event} ${subject} ${action}`))).toEqual(
    new Set([
      'worker.blocked worker:w-1 null',
      'provider.stopped provider:mail provider.clear',
      'provider.waiting provider:maps provider.clear',
      'guard.failing guard:lost null',
      'guard.late guard:late null',
      'jobs.slow job:9 null',
    ]),
  )
  expect(found.map(({ since }) => since)).toEqual(Array(6).fill(at))
  expect(found.map(({ severity }) => severity)).toEqual([
    'critical', 'critical', 'critical', 'warning', 'warning', 'info',
  ]) // biome-ignore format: in order
})

test('a late watchdog is a problem since its last check', async () => {
  const { engine, clock, now } = await world()
  const at = now()
  await clock.advance(minutes(5))
  const { problems } = await engine.metrics.health()
  expect(problems.map(({ event, since }) => [event, since.toISOString()])).toEqual([['watchdog.late', at]])
})
