/** The policies of the five seeds, with their own numbers and words, on the virtual clock (docs/seeds.md). */
import pg from 'pg'
import { expect, test } from 'vitest'
import { presets } from '../../apps/presets.ts'
import { type AnyJob, defineBatch, defineJob, hours, milliseconds, minutes, seconds } from '../../src/index.ts'
import type { TestEngine } from '../../src/testing/index.ts'
import { aborted, engineWith, timePasses, until } from '../support/engine.ts'

/** Polls every second until the condition holds; returns the elapsed time. */
async function timeTo({ engine, clock }: TestEngine, id: string, state: string, atLeast: number): Promise<number> {
  const begun = clock.elapsed()
  await clock.advance(milliseconds(atLeast - seconds(2)))
  expect((await engine.job(id))!.state).not.toBe(state)
  while ((await engine.job(id))!.state !== state) {
    if (clock.elapsed() - begun > hours(30)) throw new Error('never')
    await clock.advance(seconds(1))
  }
  return clock.elapsed() - begun
}

/** The instants at which it was tried, in seconds from the first. */
async function triesOf(preset: object, tries: number, more: object = {}): Promise<number[]> {
  const at: number[] = []
  const job = defineJob({
    ...preset,
    ...more,
    kind: 'k',
    run: () => {
      at.push(t.clock.elapsed())
      throw new Error('no')
    },
  })
  const t = await engineWith(job)
  await t.engine.work()
  const { id } = await t.engine.enqueue(job, undefined)
  await timePasses(t.clock, async () => (await t.engine.job(id))?.state === 'failed')
  expect(at).toHaveLength(tries)
  return at.map(each => (each - at[0]!) / 1000)
}

function expectSpread(at: number[], waits: number[]): void {
  for (const [i, wait] of waits.entries()) {
    const waited = at[i + 1]! - at[i]!
    expect(waited).toBeGreaterThanOrEqual(wait)
    expect(waited).toBeLessThanOrEqual(wait * 1.1 + 0.6)
  }
}

test('every preset defines a job, or a batch', () => {
  const { classification, ...jobs } = presets
  const made = Object.values(jobs).map(preset => defineJob({ ...preset, kind: 'k', run: () => 1 }))
  expect(made.map(({ policy }) => policy.maxAttempts)).toEqual([3, 1, 5, 3])
  expect(defineBatch({ ...classification, name: 'b', job: made[0] as AnyJob }).policy).toMatchObject({ maxResumes: 3 })
})

test('classifier: a document has two minutes, and is tried again after 5 s and 10 s, twice', async () => {
  const times: number[] = []
  const job = defineJob({
    ...presets.classifier,
    kind: 'document',
    run: async ctx => {
      times.push(t.clock.elapsed())
      throw await aborted(ctx.signal)
    },
  })
  const t = await engineWith(job)
  await t.engine.work()
  const { id } = await t.engine.enqueue(job, undefined)
  await timePasses(t.clock, async () => (await t.engine.job(id))?.state === 'failed')
  expect(times).toHaveLength(3)
  expectSpread(
    times.map(each => each / 1000),
    [125, 130],
  )
  expect((await t.engine.job(id))!.history.map(each => each.type)).toEqual(['timeout', 'timeout', 'timeout'])
})

test('snaps: five tries, with 5 s, 10 s, 20 s and 40 s between them', async () => {
  expectSpread(await triesOf(presets.snaps, 5), [5, 10, 20, 40])
})

test('documents: three tries, with 5 s and 10 s between them', async () => {
  expectSpread(await triesOf(presets.documents, 3), [5, 10])
})

test('documents: ten minutes without a sign make it failed with "Processing timeout (watchdog)", not one second earlier, and its late finish lands nowhere', async () => {
  let begun = 0
  const job = defineJob({
    ...presets.documents,
    timeout: hours(1),
    kind: 'pdf',
    run: async ctx => {
      begun++
      await aborted(ctx.signal)
      return 'DONE'
    },
  })
  const t = await engineWith(job)
  await t.engine.work()
  const { id } = await t.engine.enqueue(job, undefined)
  await until(() => begun === 1)
  const took = await timeTo(t, id, 'failed', minutes(10))
  expect(took).toBeGreaterThanOrEqual(minutes(10))
  expect(took).toBeLessThanOrEqual(minutes(10) + seconds(6))
  await t.clock.advance(seconds(20))
  expect(await t.engine.job(id)).toMatchObject({
    state: 'failed',
    result: null,
    attempt: 1,
    error: { message: 'Processing timeout (watchdog)' },
  })
})

test('planner: a PENDING job that no worker takes is reported, and failed with a message after 24 h', async () => {
  const job = defineJob({ ...presets.planner, kind: 'generate_schedule_job', queue: 'planner', run: () => 1 })
  const t = await engineWith(job)
  const { id } = await t.engine.enqueue(job, undefined)
  for (let i = 0; i < 8; i++) {
    await t.tick()
    await t.clock.advance(seconds(5))
  }
  expect(await t.engine.metrics.findings()).toMatchObject([
    { verdict: 'starved', facts: { queue: 'planner', kind: 'generate_schedule_job' } },
  ])
  expect(await t.engine.job(id)).toMatchObject({ state: 'waiting' })
  await t.clock.advance(hours(24))
  await t.clean()
  expect(await t.engine.job(id)).toMatchObject({
    state: 'failed',
    error: { message: 'orphan: job PENDING há mais de 24 h; nenhum worker o pegou' },
  })
})

test('planner: one try; a failure is the end', async () => {
  expect(await triesOf(presets.planner, 1)).toEqual([0])
})

test('planner: a job whose process died is FAILED with the seed’s own words between 2 and 7 min after the last heartbeat, not a second before', async () => {
  const job = defineJob({ ...presets.planner, kind: 'generate_schedule_job', run: () => 1 })
  const t = await engineWith(job)
  const { id } = await t.engine.enqueue(job, undefined)
  const client = new pg.Client({ connectionString: t.databaseUrl })
  await client.connect()
  await client.query(
    `insert into retoma.worker (id, host, pid, version, queues, kinds, started_at, heartbeat_at)
     values ('w-gone', 'h', 1, '0', '{}', '{generate_schedule_job}', $1, $1)`,
    [t.clock.instant()],
  )
  await client.query(`update retoma.job set state = 'running', attempt = 1, worker_id = 'w-gone', started_at = $1`, [
    t.clock.instant(),
  ])
  await client.end()
  const beat = t.clock.now()
  t.engine.watch()
  const took = await timeTo(t, id, 'failed', minutes(2))
  expect(took).toBeGreaterThanOrEqual(minutes(2))
  expect(took).toBeLessThanOrEqual(minutes(7))
  expect(await t.engine.job(id)).toMatchObject({
    failures: 0,
    error: { type: 'orphan', message: 'orphan: job RUNNING sem heartbeat; worker provavelmente morreu' },
    finishedAt: new Date(beat.getTime() + took),
  })
})
