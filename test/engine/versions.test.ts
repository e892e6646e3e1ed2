/** Two releases of an app beside each other: one policy holds for all, the newest. */
import { expect, onTestFinished, test } from 'vitest'
import { type AnyJob, createEngine, defineJob } from '../../src/index.ts'
import { silentLog } from '../../src/lib/log.ts'
import { openDb } from '../../src/store/db.ts'
import { borrowDatabase } from '../support/engine.ts'

async function releases() {
  const { url, giveBack } = await borrowDatabase()
  const start = async (...jobs: AnyJob[]) => {
    await using _engine = await createEngine({ databaseUrl: url, jobs })
  }
  const db = openDb({ url, log: silentLog, connections: 1 })
  onTestFinished(async () => {
    await db.close()
    await giveBack()
  })
  const stored = async () => {
    const text = `select version, queue, (policy ->> 'attempts')::int as attempts, xmin::text as written from retoma.kind`
    const [row] = await db.run<Record<string, unknown>>({ name: '', text }, [])
    return row!
  }
  return { start, stored }
}

const old = defineJob({ kind: 'bill', queue: 'old', attempts: 3, run: () => 1 })
const next = defineJob({ kind: 'bill', queue: 'new', version: 2, attempts: 5, run: () => 1 })

test('the newest version holds, whoever starts last, and its row is written once', async () => {
  const { start, stored } = await releases()
  await start(old)
  expect(await stored()).toMatchObject({ version: 1, queue: 'old', attempts: 3 })
  await start(next)
  const newest = await stored()
  expect(newest).toMatchObject({ version: 2, queue: 'new', attempts: 5 })
  for (const job of [old, next, old, next]) await start(job)
  expect(await stored()).toEqual(newest)
})

test('of one version, the definition that started last holds', async () => {
  const { start, stored } = await releases()
  await start(old)
  await start(defineJob({ kind: 'bill', queue: 'old', attempts: 7, run: () => 1 }))
  expect(await stored()).toMatchObject({ version: 1, attempts: 7 })
})
