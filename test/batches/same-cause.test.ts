/** `stopAfter: { sameCause }`: an outage pauses a batch before it has failed one item after the other. */
import { expect, test } from 'vitest'
import { z } from 'zod'
import { recordStreak } from '../../src/batches/sql/batch-streak.ts'
import type { Db, Statement } from '../../src/database/db.ts'
import { defineBatch, defineJob, minutes, seconds } from '../../src/index.ts'
import { engineOf } from '../support/engine.ts'
import { jobsOf, passes } from '../support/providers.ts'

const backoff = { first: seconds(5), factor: 2, max: minutes(10), jitter: 0 }

/** Items fail as `fails` says, or not; `runs` has the order in which they ran. */
async function outage(attempts = 3) {
  const runs: number[] = []
  const world = { fails: (_n: number): string | undefined => undefined as string | undefined, runs }
  const job = defineJob({
    kind: 'ask',
    queue: 'q',
    input: z.object({ n: z.number() }),
    maxAttempts: attempts,
    backoff,
    run(_, { n }) {
      runs.push(n)
      const error = world.fails(n)
      if (error !== undefined) throw new Error(error)
      return n
    },
  })
  const batch = defineBatch({ name: 'b', job, stopAfter: { sameCause: 20 } })
  const t = await engineOf({ batches: [batch] })
  const submit = async (count: number) =>
    (
      await t.engine.submit(
        batch,
        Array.from({ length: count }, (_, n) => ({ n })),
      )
    ).id
  return { t, world, runs, submit }
}

test('the same failure in 20 different items in a row pauses the batch with its cause, and no item is failed for it', async () => {
  const { t, world, submit } = await outage()
  world.fails = n => `connect ECONNREFUSED 127.0.0.1:${5000 + n}`
  const id = await submit(60)
  await t.run()
  expect(await t.engine.batch(id)).toMatchObject({
    state: 'paused',
    failed: 0,
    reason: { code: 'same_cause', message: expect.stringContaining('ECONNREFUSED') },
  })
  const { sentence } = await t.engine.explain({ batch: id })
  expect(sentence).toMatch(/paused because \d+ items in a row failed the same way: connect ECONNREFUSED/)
  expect(await t.engine.providers.list()).toEqual([])
})

test('one item a minute tries while the outage lasts, pays nothing for it, and the first that succeeds has the batch go on', async () => {
  const { t, world, runs, submit } = await outage()
  world.fails = () => 'the AI is away'
  const id = await submit(60)
  await t.run()
  const failures = async () => (await jobsOf(t, id)).reduce((sum, each) => sum + each.failures, 0)
  const [before, spent] = [runs.length, await failures()]
  for (let passed = 0; passed < 30; passed++) await passes(t, minutes(1))
  expect(runs.length - before).toBeGreaterThan(20)
  expect(runs.length - before).toBeLessThanOrEqual(31)
  expect(await t.engine.batch(id)).toMatchObject({ state: 'paused', failed: 0 })
  expect(await failures()).toBe(spent)
  world.fails = () => undefined
  for (let passed = 0; passed < 4; passed++) await passes(t, minutes(1))
  expect(await t.engine.batch(id)).toMatchObject({ state: 'succeeded', succeeded: 60, failed: 0 })
})

test('items on their last try lose no try to an outage: each that tries waits again, and succeeds when the outage has ended', async () => {
  const { t, world, runs, submit } = await outage(1)
  world.fails = () => 'the AI is away'
  const id = await submit(80)
  await t.run()
  const { failed } = (await t.engine.batch(id))!
  const before = runs.length
  for (let passed = 0; passed < 10; passed++) await passes(t, minutes(1))
  expect(runs.length - before).toBeGreaterThanOrEqual(8)
  expect(runs.length - before).toBeLessThanOrEqual(11)
  expect(await t.engine.batch(id)).toMatchObject({ state: 'paused', failed })
  world.fails = () => undefined
  for (let passed = 0; passed < 3; passed++) await passes(t, minutes(1))
  expect(await t.engine.batch(id)).toMatchObject({ state: 'completed_with_failures', succeeded: 80 - failed, failed })
  await t.engine.batches.erase(id)
  for (let passed = 0; passed < 2; passed++) await passes(t, minutes(1))
  expect((await t.engine.query(`select name from retoma.provider`)).rows).toEqual([])
})

/** Notes failures of these items as a worker does. */
async function noting(count: number) {
  const { t } = await outage()
  const job = defineJob({ kind: 'other', queue: 'q', run: () => null })
  const batch = defineBatch({ name: 'other', job, stopAfter: { sameCause: 2 } })
  const { id } = await t.engine.submit(batch, Array.from({ length: count }))
  const items = (await t.engine.batches.items(id)).items.map(each => ({ id: each.id }))
  const run = async (statement: Statement, values: unknown[]) => (await t.engine.query(statement.text, values)).rows
  const streak = { batch: id, cause: 'c', code: null, message: 'm', isAll: true }
  const note = (failed: { id: string }[]) => recordStreak({ run } as unknown as Db, { ...streak, items: failed }, null)
  return { t, id, items, note }
}

test('one item that fails often counts once, however late its failures are noted', async () => {
  const { items, note } = await noting(2)
  const [first, second] = items
  expect(await note([first!, first!])).toMatchObject({ paused: false })
  expect(await note([second!])).toMatchObject({ paused: true })
})

test('a failure that is noted after the end of its batch does not switch sameCause off for that batch', async () => {
  const { t, id, items, note } = await noting(2)
  await t.run()
  expect(await t.engine.batch(id)).toMatchObject({ state: 'succeeded' })
  expect(await note(items)).toMatchObject({ paused: false })
})

test('a person who resumes has it go on at once, and the next 20 in a row pause it again', async () => {
  const { t, world, submit } = await outage()
  world.fails = () => 'the AI is away'
  const id = await submit(100)
  await t.run()
  await t.engine.batches.resume(id)
  expect(await t.engine.batch(id)).toMatchObject({ state: 'running' })
  // All may have run before the pause was written: then all wait for their backoff.
  await passes(t, seconds(6))
  expect(await t.engine.batch(id)).toMatchObject({ state: 'paused', reason: { code: 'same_cause' } })
  world.fails = () => undefined
  await t.engine.batches.resume(id)
  for (let passed = 0; passed < 3; passed++) await passes(t, minutes(1))
  expect(await t.engine.batch(id)).toMatchObject({ state: 'succeeded', succeeded: 100 })
})

test('a success in between, another cause in between, or the same item again and again is no streak', async () => {
  const once = await outage(1)
  const often = await outage()
  const cases: [Awaited<ReturnType<typeof outage>>, (n: number) => string | undefined][] = [
    [once, n => (n % 10 === 9 ? undefined : 'away')],
    [once, n => (n % 10 === 9 ? 'another trouble' : 'away')],
    [often, n => (n < 15 ? 'broken' : undefined)],
  ]
  for (const [{ t, world, submit }, fails] of cases) {
    world.fails = fails
    const id = await submit(60)
    for (let passed = 0; passed < 4; passed++) await passes(t, minutes(1))
    expect(await t.engine.batch(id)).toMatchObject({ state: 'completed_with_failures' })
  }
})

test('a number that makes no streak is refused', () => {
  const job = defineJob({ kind: 'k', run: () => null })
  for (const sameCause of [0, 1, 1.5, 1001, '20' as unknown as number])
    expect(() => defineBatch({ name: 'b', job, stopAfter: { sameCause } })).toThrow(/sameCause/)
})
