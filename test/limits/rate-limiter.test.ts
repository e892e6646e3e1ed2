/** `engine.limit`: how often somebody may, for any route of an app. */

import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { internalsOf } from '../../src/engine/internals.ts'
import { type LimitOptions, minutes, seconds } from '../../src/index.ts'
import { engineOf, liveEngine, shareDatabase } from '../support/engine.ts'
import { englishIn } from '../support/portuguese.ts'

const uploads = { bucket: 'uploads', who: 'ana', limit: 2, per: minutes(1) }

test('so many pass in any minute; who is refused reads in whole seconds when the next will', async () => {
  const { engine, clock } = await engineOf({})
  const limit = () => engine.limit(uploads)
  expect(await limit()).toEqual({ allowed: true, limit: 2, remaining: 1, retryAfterSeconds: 0, resetSeconds: 60 })
  await clock.advance(seconds(20.5))
  expect(await limit()).toEqual({ allowed: true, limit: 2, remaining: 0, retryAfterSeconds: 0, resetSeconds: 40 })
  expect(await limit()).toEqual({ allowed: false, limit: 2, remaining: 0, retryAfterSeconds: 40, resetSeconds: 40 })
  await clock.advance(seconds(40))
  expect(await limit()).toMatchObject({ allowed: true, remaining: 0, resetSeconds: 20 })
})

test('others, and other buckets, are counted by themselves', async () => {
  const { engine } = await engineOf({})
  for (const other of [{}, { who: 'rui' }, { bucket: 'syncs' }]) {
    expect(await engine.limit({ ...uploads, ...other, limit: 1 })).toMatchObject({ allowed: true })
    expect(await engine.limit({ ...uploads, ...other, limit: 1 })).toMatchObject({ allowed: false })
  }
})

test('to look counts nothing', async () => {
  const { engine } = await engineOf({})
  for (let i = 0; i < 3; i++)
    expect(await internalsOf(engine).peekLimit(uploads)).toMatchObject({ allowed: true, remaining: 2 })
  await engine.limit({ ...uploads, limit: 1 })
  expect(await internalsOf(engine).peekLimit({ ...uploads, limit: 1 })).toMatchObject({
    allowed: false,
    retryAfterSeconds: 60,
  })
})

test('several processes on one database count in the same window', async () => {
  const url = await shareDatabase()
  const { engine: a } = await liveEngine([], {}, url)
  const { engine: b } = await liveEngine([], {}, url)
  const answers = await Promise.all(Array.from({ length: 200 }, (_, i) => (i % 2 ? a : b).limit(uploads)))
  expect(answers.filter(each => each.allowed)).toHaveLength(2)
})

test('off, everything passes and nothing is counted', async () => {
  const { engine } = await engineOf({ rateLimits: 'off' })
  for (let i = 0; i < 5; i++) expect(await engine.limit(uploads)).toMatchObject({ allowed: true, remaining: 2 })
})

test('windows in which nothing counts any more are removed by the janitor, and no others', async () => {
  const { engine, clock, clean, databaseUrl } = await engineOf({})
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  onTestFinished(() => client.end())
  const kept = async () => {
    await clean()
    return (await client.query(`select who from retoma.rate_window`)).rows
  }
  await engine.limit(uploads)
  await clock.advance(minutes(3))
  await engine.limit({ ...uploads, who: 'rui' })
  expect(await kept()).toEqual([{ who: 'rui' }])
  await clock.advance(minutes(3))
  expect(await kept()).toEqual([])
})

test('what is no limit is refused with its name', async () => {
  const { engine } = await engineOf({})
  const bad: [Partial<Record<keyof LimitOptions, unknown>>, string][] = [
    [{ bucket: 'a b' }, 'bucket'],
    [{ bucket: 'a/b' }, 'bucket'],
    [{ who: '' }, 'who'],
    [{ who: 'a\0' }, 'who'],
    [{ who: undefined }, 'who'],
    [{ limit: 0 }, 'limit'],
    [{ limit: undefined }, 'limit'],
    [{ per: 60 }, 'per'],
    [{ pre: 60 } as object, 'pre'],
  ]
  for (const [given, option] of bad) {
    const error = await engine.limit({ ...uploads, ...given } as LimitOptions).catch((refusal: unknown) => refusal)
    expect(error).toMatchObject({ code: 'bad_option', facts: { option } })
    expect(englishIn(error)).toEqual([])
  }
})
