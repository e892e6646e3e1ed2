/** The admission of jobs: the rate of a group, and the time until a full queue has room. */
import pg from 'pg'
import { expect, test } from 'vitest'
import { defineBatch, defineJob, minutes, seconds } from '../../src/index.ts'
import { engineOf, liveEngine, shareDatabase } from '../support/engine.ts'

const job = defineJob({ kind: 'k', queue: 'q', run: (_, n: number) => n })
const limits = { q: { perGroup: { admit: { limit: 3, per: minutes(1) } } } }
const refused = { code: 'rate_limited', status: 429, retryable: true }

test('of a group only so many come in within a time; past it nothing is written, and the error says when one may', async () => {
  const { engine, clock } = await engineOf({ jobs: [job], limits })
  const enqueue = (groupKey: string) => engine.enqueue(job, 1, { groupKey })
  await enqueue('a')
  await clock.advance(seconds(10))
  await enqueue('a')
  await enqueue('a')
  await expect(enqueue('a')).rejects.toMatchObject({ ...refused, retryAfterSeconds: 50 })
  await expect(enqueue('a')).rejects.toMatchObject({ facts: { limit: 3, per: '1 min', seconds: 50 } })
  await enqueue('b')
  await engine.enqueue(job, 1)
  expect(await engine.queues.list()).toMatchObject([{ ready: 5 }])
  await clock.advance(seconds(50))
  await enqueue('a')
  await expect(enqueue('a')).rejects.toMatchObject({ ...refused, retryAfterSeconds: 10 })
})

test('of a list nothing comes in when one of its groups may not', async () => {
  const { engine } = await engineOf({ jobs: [job], limits })
  await engine.enqueueMany(job, [1, 2], { groupKey: 'a' })
  await expect(engine.enqueueMany(job, [3, 4], { groupKey: 'a' })).rejects.toMatchObject(refused)
  const each = (n: number) => ({ groupKey: n < 3 ? 'a' : 'b' })
  await expect(engine.enqueueMany(job, [1, 2, 3, 4, 5], { each })).rejects.toMatchObject(refused)
  expect(await engine.queues.list()).toMatchObject([{ ready: 2 }])
  // What was refused took nothing of the other group's.
  await engine.enqueueMany(job, [3, 4, 5], { each })
})

test('a list that holds more of a group than ever may come in is refused as such, not asked to come again', async () => {
  const { engine } = await engineOf({ jobs: [job], limits })
  const error = engine.enqueueMany(job, [1, 2, 3, 4], { groupKey: 'a' })
  await expect(error).rejects.toMatchObject({ code: 'bad_option', facts: { option: 'inputs' } })
})

test('many at once, from several processes: exactly as many come in', async () => {
  const url = await shareDatabase()
  const { engine: a } = await liveEngine([job], { limits }, url)
  const { engine: b } = await liveEngine([job], {}, url)
  const all = Array.from({ length: 60 }, (_, i) => (i % 2 ? a : b).enqueue(job, i, { groupKey: 'a' }))
  const came = (await Promise.allSettled(all)).filter(each => each.status === 'fulfilled')
  expect(came).toHaveLength(3)
  expect(await a.queues.list()).toMatchObject([{ ready: 3 }])
})

test("in the caller's own transaction it counts at once, for good, and holds up nobody of its group", async () => {
  const { engine, databaseUrl } = await engineOf({ jobs: [job], limits })
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    await client.query('begin')
    await engine.enqueue(job, 1, { groupKey: 'a', tx: client })
    await engine.enqueue(job, 2, { groupKey: 'a' })
    await engine.enqueue(job, 3, { groupKey: 'a' })
    await expect(engine.enqueue(job, 4, { groupKey: 'a', tx: client })).rejects.toMatchObject(refused)
    await client.query('rollback')
  } finally {
    await client.end()
  }
  expect(await engine.queues.list()).toMatchObject([{ ready: 2 }])
  await expect(engine.enqueue(job, 5, { groupKey: 'a' })).rejects.toMatchObject(refused)
})

test('a batch is not held to it: its pace is what the rate of its group is for', async () => {
  const numbers = defineBatch({ name: 'numbers', job })
  const { engine } = await engineOf({ batches: [numbers], limits })
  const { total } = await engine.submit(numbers, [1, 2, 3, 4, 5], { groupKey: 'a' })
  expect(total).toBe(5)
})

test('with rate limits off groups are not limited', async () => {
  const { engine } = await engineOf({ jobs: [job], limits, rateLimits: 'off' })
  await engine.enqueueMany(job, [1, 2, 3, 4, 5], { groupKey: 'a' })
})

test('a full queue tells when there may be room: by how fast it empties, soon where nobody knows, late where it stands', async () => {
  const { engine, clock, run } = await engineOf({ jobs: [job], limits: { q: { maxDepth: 10 } } })
  const room = (count: number) =>
    engine
      .enqueueMany(
        job,
        Array.from({ length: count }, (_, i) => i),
      )
      .then(
        () => 0,
        (error: { retryAfterSeconds?: number }) => error.retryAfterSeconds,
      )
  expect(await room(11)).toBe(5)
  expect(await room(10)).toBe(0)
  await clock.advance(seconds(2))
  expect(await room(1)).toBe(60)
  expect(await run()).toBe(10)
  await clock.advance(seconds(2))
  // Ten in four seconds, and one too many.
  expect(await room(11)).toBe(1)
  expect(await room(10)).toBe(0)
  await clock.advance(seconds(1))
  // Ten in five seconds, and ten too many.
  expect(await room(10)).toBe(5)
})
