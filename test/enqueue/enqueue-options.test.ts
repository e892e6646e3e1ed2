/** The options of one enqueue that override the options of the kind: attempts, backoff, timeout, queue, retention. */
import { expect, test } from 'vitest'
import { z } from 'zod'
import { days, defineBatch, defineJob, defineSchedule, hours, minutes, seconds } from '../../src/index.ts'
import { aborted, engineOf, timePasses } from '../support/engine.ts'
import { sqlOf } from '../support/events.ts'

/** Fails, hangs or succeeds; notes the start of each attempt. */
async function letters(more: object = {}) {
  const starts = new Map<string, number[]>()
  let now = () => 0
  const mail = defineJob({
    kind: 'mail',
    queue: 'out',
    input: z.string(),
    maxAttempts: 2,
    backoff: { first: seconds(5), factor: 2, jitter: 0 },
    timeout: minutes(1),
    ...more,
    run: async (ctx, what) => {
      starts.set(what, [...(starts.get(what) ?? []), now()])
      if (what.startsWith('hang')) throw await aborted(ctx.signal)
      if (what.startsWith('fail')) throw new Error('no')
      return what
    },
  })
  const report = defineJob({ kind: 'report', retention: hours(2), run: () => 'read' })
  const pile = defineBatch({ name: 'pile', job: mail, onComplete: report })
  const nightly = defineSchedule({
    name: 'nightly',
    job: mail,
    every: hours(1),
    input: 'hourly',
    options: { queue: 'night', maxAttempts: 7, retention: hours(3) },
  })
  const t = await engineOf({ jobs: [mail, report], batches: [pile], schedules: [nightly] })
  now = () => t.clock.elapsed()
  const over = (id: string) => timePasses(t.clock, async () => (await t.engine.job(id))!.finishedAt !== null)
  return { ...t, mail, pile, starts, over, sql: await sqlOf(t) }
}

test('a job has the attempts and the backoff of its enqueue; the job beside it those of its kind', async () => {
  const { engine, mail, starts, over } = await letters()
  await engine.work({ queues: { out: 5 } })
  const own = await engine.enqueue(mail, 'fail own', { maxAttempts: 4, backoff: { first: seconds(30) } })
  const plain = await engine.enqueue(mail, 'fail plain')
  await over(own.id)
  await over(plain.id)
  const pauses = (what: string) =>
    starts.get(what)!.slice(1).map((at, i) => Math.floor((at - starts.get(what)![i]!) / 1000)) // biome-ignore format: one line
  expect(pauses('fail own')).toEqual([30, 60, 120])
  expect(pauses('fail plain')).toEqual([5])
  expect(await engine.job(own.id)).toMatchObject({
    failures: 4,
    policyOverride: { maxAttempts: 4, backoff: { first: seconds(30), factor: 2, jitter: 0 } },
  })
  expect(await engine.job(plain.id)).toMatchObject({ policyOverride: null, retention: null })
  expect((await engine.explain({ job: own.id })).sentence).toContain('4')
})

test('a job has the timeout of its enqueue, shorter or longer than that of its kind', async () => {
  const { engine, mail, clock, over } = await letters()
  await engine.work({ queues: { out: 5 } })
  const begun = clock.elapsed()
  const short = await engine.enqueue(mail, 'hang 1', { maxAttempts: 1, timeout: seconds(10) })
  const long = await engine.enqueue(mail, 'hang 2', { maxAttempts: 1, timeout: minutes(5) })
  await over(short.id)
  expect(clock.elapsed() - begun).toBeLessThan(seconds(20))
  expect(await engine.job(short.id)).toMatchObject({ error: { code: 'attempt_timeout' } })
  await over(long.id)
  expect(clock.elapsed() - begun).toBeGreaterThanOrEqual(minutes(5))
})

test('a job goes to the queue of its enqueue, and only a worker of that queue runs it', async () => {
  const { engine, mail, over } = await letters()
  const bulk = await engine.enqueue(mail, 'a', { queue: 'bulk' })
  const plain = await engine.enqueue(mail, 'b')
  await using worker = await engine.work({ queues: { out: 5 } })
  await over(plain.id)
  expect(worker).toBeDefined()
  expect(await engine.job(bulk.id)).toMatchObject({ state: 'waiting', queue: 'bulk' })
  expect(await engine.queues.list()).toContainEqual(expect.objectContaining({ queue: 'bulk', ready: 1 }))
  await using other = await engine.work({ queues: { bulk: 1 } })
  expect(other).toBeDefined()
  await over(bulk.id)
})

test('maxAge counts in a queue that the enqueue named', async () => {
  const { engine, mail, clock, clean, sample } = await letters({ maxAge: hours(1) })
  const { id } = await engine.enqueue(mail, 'a', { queue: 'bulk' })
  await clock.advance(hours(2))
  await sample()
  await clean()
  expect(await engine.job(id)).toMatchObject({ state: 'failed', error: { type: 'overdue' } })
})

test('a list has the options for all its jobs, and each for one', async () => {
  const { engine, mail } = await letters()
  const alike = await engine.enqueueMany(mail, ['a', 'b'], { queue: 'bulk', maxAttempts: 5, retention: days(1) })
  const own = await engine.enqueueMany(mail, ['c', 'd'], {
    queue: 'bulk',
    maxAttempts: 5,
    each: what => (what === 'd' ? { maxAttempts: 6, timeout: seconds(9) } : {}),
  })
  const jobs = await Promise.all([...alike.ids, ...own.ids].map(id => engine.job(id)))
  expect(jobs.map(job => [job!.queue, job!.policyOverride, job!.retention?.failed])).toEqual([
    ['bulk', { maxAttempts: 5 }, days(1)],
    ['bulk', { maxAttempts: 5 }, days(1)],
    ['bulk', { maxAttempts: 5 }, undefined],
    ['bulk', { maxAttempts: 6, timeout: seconds(9) }, undefined],
  ])
})

test('the jobs of a schedule have the options of the schedule', async () => {
  const { engine, clock, schedule } = await letters()
  await schedule()
  await clock.advance(hours(1))
  await schedule()
  expect((await engine.jobs.list({ queue: 'night' })).items).toMatchObject([
    { kind: 'mail', policyOverride: { maxAttempts: 7 }, retention: { succeeded: hours(3) } },
  ])
  const { id } = await engine.schedules.run('nightly')
  expect(await engine.job(id)).toMatchObject({ queue: 'night', policyOverride: { maxAttempts: 7 } })
})

test('a job stays as long as its enqueue says, or else its kind, or else the engine, each final state by itself', async () => {
  const { engine, mail, clock, run, clean } = await letters({ retention: { succeeded: days(7), cancelled: days(200) } })
  const kept = {
    own: (await engine.enqueue(mail, 'a', { retention: hours(1) })).id,
    partly: (await engine.enqueue(mail, 'b', { retention: { failed: hours(1) } })).id,
    kind: (await engine.enqueue(mail, 'c')).id,
    failed: (await engine.enqueue(mail, 'fail', { maxAttempts: 1 })).id,
    cancelled: (await engine.enqueue(mail, 'd', { delay: days(1) })).id,
  }
  await engine.jobs.cancel(kept.cancelled)
  await run()
  const left = async () => {
    await clean()
    const ids = (await engine.jobs.list()).items.map(job => job.id)
    return Object.entries(kept).flatMap(([name, id]) => (ids.includes(id) ? [name] : [])) // biome-ignore format: one line
  }
  await clock.advance(minutes(59))
  expect(await left()).toEqual(['own', 'partly', 'kind', 'failed', 'cancelled'])
  await clock.advance(minutes(2))
  expect(await left()).toEqual(['partly', 'kind', 'failed', 'cancelled'])
  await clock.advance(days(8))
  expect(await left()).toEqual(['failed', 'cancelled'])
  await clock.advance(days(90))
  expect(await left()).toEqual(['cancelled'])
  await clock.advance(days(110))
  expect(await left()).toEqual([])
})

test('a retention shorter than a day keeps the unique key of a job and of a batch for the whole day', async () => {
  const { engine, mail, pile, clock, run, clean, tick } = await letters()
  const { id } = await engine.enqueue(mail, 'a', { key: 'k', retention: minutes(1) })
  const batch = await engine.submit(pile, ['b'], { key: 'k', retention: minutes(1) })
  await run()
  await clock.advance(hours(23))
  await clean()
  await tick()
  expect(await engine.enqueue(mail, 'a', { key: 'k' })).toMatchObject({ id, created: false })
  expect(await engine.submit(pile, ['b'], { key: 'k' })).toMatchObject({ id: batch.id, created: false })
  await clock.advance(hours(2))
  await clean()
  await tick()
  expect(await engine.job(id)).toBeNull()
  expect(await engine.batch(batch.id)).toBeNull()
})

test('a batch has the queue and the retention of its submit; its onComplete job the retention of its kind', async () => {
  const { engine, pile, clock, run, clean, tick } = await letters({ retention: minutes(5) })
  const own = await engine.submit(pile, ['a'], { queue: 'bulk', retention: { succeeded: days(1) } })
  const failed = await engine.submit(pile, ['fail'], { items: { maxAttempts: 1 }, retention: { failed: days(2) } })
  const plain = await engine.submit(pile, ['b'])
  expect((await engine.batches.items(own.id)).items).toMatchObject([{ queue: 'bulk', retention: null }])
  await run()
  expect((await engine.jobs.list({ kind: 'report' })).items).toHaveLength(3)
  const left = async () => {
    await clean()
    await tick()
    const reports = (await engine.jobs.list({ kind: 'report' })).items.length
    return [reports, ...(await engine.batches.list()).items.map(batch => batch.id).sort()]
  }
  await clock.advance(hours(3))
  expect(await left()).toEqual([0, own.id, failed.id, plain.id].sort())
  await clock.advance(hours(22))
  expect(await left()).toEqual([0, failed.id, plain.id].sort())
  await clock.advance(days(1))
  expect(await left()).toEqual([0, plain.id])
})
