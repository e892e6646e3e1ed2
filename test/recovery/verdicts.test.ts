/** Verdicts as a program meets them, on the virtual clock: what a handler hears, what goes on, what is shown. */

import { setImmediate as immediate } from 'node:timers/promises'
import pg from 'pg'
import { expect, test } from 'vitest'
import { createApp } from '../../src/http/index.ts'
import { defineJob, hours, minutes, seconds, snooze } from '../../src/index.ts'
import { aborted, engineWith, gate, timePasses, until } from '../support/engine.ts'

test('a handler that awaits for ever is stalled within stallAfter and one tick, hears it within a heartbeat, and resumed goes on from its last checkpoint', async () => {
  const ran: string[] = []
  let hang = true
  const reason = gate<unknown>()
  const job = defineJob({
    kind: 'hang',
    stallAfter: minutes(2),
    run: async ctx => {
      await ctx.step('paid', () => void ran.push('paid'))
      if (!hang) return 'done'
      reason.open(await aborted(ctx.signal))
      throw new Error('cut short')
    },
  })
  const { engine, clock } = await engineWith(job)
  await engine.work()
  const { id } = await engine.enqueue(job, undefined)
  await until(() => ran.length === 1)
  await clock.advance(seconds(119))
  expect(await engine.job(id)).toMatchObject({ state: 'running' })
  await clock.advance(seconds(12))
  expect(await engine.job(id)).toMatchObject({
    state: 'stalled',
    failures: 0,
    history: [{ type: 'stalled', attempt: 1 }],
  })
  expect(await reason.passed).toMatchObject({ code: 'lease_lost' })
  await clock.advance(minutes(10))
  expect(await engine.job(id)).toMatchObject({ state: 'stalled' })
  hang = false
  await engine.jobs.resume(id)
  await timePasses(clock, async () => (await engine.job(id))?.state === 'succeeded')
  expect(ran).toEqual(['paid'])
  expect(await engine.job(id)).toMatchObject({ result: 'done', attempt: 2 })
})

test('steps and words of progress are signs: a job that gives one every minute is never stalled', async () => {
  const end = gate()
  const job = defineJob({
    kind: 'steady',
    stallAfter: minutes(2),
    timeout: hours(1),
    run: async ctx => {
      for (let i = 0; i < 5; i++) {
        await Promise.race([clock.sleep(minutes(1)), end.passed])
        await (i % 2 ? ctx.progress({ done: i, total: 5 }) : ctx.step(`s${i}`, () => i))
      }
    },
  })
  const { engine, clock } = await engineWith(job)
  await engine.work()
  const { id } = await engine.enqueue(job, undefined)
  await timePasses(clock, async () => (await engine.job(id))?.state === 'succeeded')
  expect(await engine.job(id)).toMatchObject({ attempt: 1, history: [] })
})

test('what sleeps or snoozes is waiting: that does not run against stallAfter', async () => {
  const job = defineJob({
    kind: 'sleeper',
    stallAfter: minutes(1),
    run: async ctx => {
      if (ctx.attempt === 1) return snooze(minutes(3))
      await ctx.sleep('nap', minutes(3))
      return 'rested'
    },
  })
  const { engine, clock } = await engineWith(job)
  await engine.work()
  const { id } = await engine.enqueue(job, undefined)
  await timePasses(clock, async () => (await engine.job(id))?.state === 'succeeded')
  expect(await engine.job(id)).toMatchObject({ result: 'rested', failures: 0, history: [] })
})

test('what the watchdog found is answered while it is so: a kind nobody takes, and an attempt slower than expected', async () => {
  const go = gate()
  const slow = defineJob({ kind: 'slow', expect: seconds(45), run: () => go.passed })
  const orphaned = defineJob({ kind: 'nobody', queue: 'elsewhere', run: () => 1 })
  const { engine, clock } = await engineWith(slow, orphaned)
  await engine.work({ queues: { default: 1 } })
  const { id } = await engine.enqueue(slow, undefined)
  await engine.enqueue(orphaned, undefined)
  await clock.advance(seconds(29))
  expect(await engine.metrics.findings()).toEqual([])
  await clock.advance(seconds(31))
  expect(await engine.metrics.findings()).toMatchObject([
    { verdict: 'starved', subject: 'queue:elsewhere/kind:nobody', facts: { jobs: 1, noWorker: true } },
    { verdict: 'slow', subject: `job:${id}` },
  ])
  go.open()
  await engine.work({ queues: { elsewhere: 1 } })
  await clock.advance(seconds(40))
  expect(await engine.metrics.findings()).toEqual([])
  expect((await engine.job(id))!.events.map(each => each.data.what)).toEqual(['slow', 'slow over'])
})

test('whether a process is ready is also whether a watchdog checks', async () => {
  const { engine, clock, tick } = await engineWith()
  const ready = async () => {
    const response = await createApp(engine).fetch(
      new Request('http://localhost/ready', { headers: { 'accept-language': 'en' } }),
    )
    return { status: response.status, body: await response.json() }
  }
  expect(await ready()).toMatchObject({ status: 503, body: { error: { code: 'watchdog_missing' } } })
  await tick()
  await clock.advance(seconds(60))
  expect(await ready()).toMatchObject({ status: 200 })
  await clock.advance(seconds(1))
  expect(await ready()).toMatchObject({ status: 503 })
})

test('one pass for an outside cron ends at once when all is well, and does what is due', async () => {
  const job = defineJob({ kind: 'old', maxAge: hours(1), run: () => 1 })
  const { engine, clock } = await engineWith(job)
  const { id } = await engine.enqueue(job, undefined)
  await clock.advance(hours(1))
  expect(await engine.watch({ once: true })).toMatchObject({ dead: [], recovered: [], overdue: [id] })
  expect(await engine.job(id)).toMatchObject({ state: 'failed', error: { type: 'overdue' } })
})

test('one pass takes two heartbeats where a worker is silent: after an outage one whose heartbeats come again is not dead, one that does not is', async () => {
  const job = defineJob({ kind: 'long', run: () => 1 })
  const { engine, clock, databaseUrl } = await engineWith(job)
  const { id } = await engine.enqueue(job, undefined)
  const beat = () =>
    sql(databaseUrl, `update retoma.worker set heartbeat_at = $1, suspected_at = null`, [clock.instant()])
  await sql(databaseUrl, `insert into retoma.worker (id, host, pid, version, queues, kinds, started_at, heartbeat_at)
    values ('w-gone', 'h', 1, '0', '{}', '{long}', $1, $1)`, [clock.instant()]) // biome-ignore format: one statement
  await sql(
    databaseUrl,
    `update retoma.job set state = 'running', attempt = 1, worker_id = 'w-gone', started_at = $1`,
    [clock.instant()],
  )
  await clock.advance(minutes(3))
  const first = engine.watch({ once: true })
  await clock.advance(seconds(3))
  await beat()
  await clock.advance(seconds(10))
  expect(await first).toMatchObject({ dead: [], recovered: [] })
  await clock.advance(seconds(30))
  const [begun, others] = [clock.elapsed(), clock.sleepers]
  const second = engine.watch({ once: true })
  const isOver = settled(second)
  // Time passes only while the pass sleeps: the speed of the database does not count.
  while (!isOver())
    if (clock.sleepers > others) await clock.advance(seconds(0.5))
    else await immediate()
  expect(await second).toMatchObject({ dead: ['w-gone'], recovered: [id] })
  expect(clock.elapsed() - begun).toBeLessThanOrEqual(seconds(11))
})

/** Whether it is, asked as often as one likes. */
function settled(promise: Promise<unknown>): () => boolean {
  let done = false
  promise.finally(() => {
    done = true
  })
  return () => done
}

async function sql(url: string, text: string, values: unknown[]): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(text, values).finally(() => client.end())
}
