/** Batches on the system clock, with several engines, real connections and people who act at once. */
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { createEngine, defineBatch, defineJob, doNotRetry, type Engine, type EngineOptions } from '../../src/index.ts'
import { startAuditor } from '../support/batches.ts'
import { shareDatabase, until } from '../support/engine.ts'

const ran = new Map<string, number>()
const item = defineJob<string>({
  kind: 'item',
  queue: 'q',
  maxAttempts: 2,
  backoff: { first: 0 as never },
  run: async (ctx, name) => {
    ran.set(name, (ran.get(name) ?? 0) + 1)
    if (name.endsWith('7')) throw doNotRetry(`bad item ${name}`)
    if (name.endsWith('3') && ctx.attempt === 1) throw new Error(`not yet ${name}`)
  },
})
const ends: string[] = []
const over = defineJob<{ batch: string }>({ kind: 'over', queue: 'ends', run: (_, { batch }) => void ends.push(batch) })
const batch = defineBatch({ name: 'b', job: item, onComplete: over })

async function world(count: number, options: EngineOptions = {}) {
  const url = await shareDatabase()
  const engines: Engine[] = []
  for (let n = 0; n < count; n++) engines.push(await createEngine({ ...options, databaseUrl: url, batches: [batch] }))
  const admin = new pg.Client({ connectionString: url })
  await admin.connect()
  onTestFinished(async () => {
    await Promise.all(engines.map(each => each.close()))
    await admin.end()
  })
  const sql = async <T>(text: string, values: unknown[] = []) => (await admin.query(text, values)).rows as T[]
  const deadlocks = async () => {
    await sql(`select pg_stat_clear_snapshot()`)
    const [row] = await sql<{ n: number }>(
      `select deadlocks::int as n from pg_stat_database where datname = current_database()`,
    )
    return row!.n
  }
  return { url, engines, sql, deadlocks }
}

test('a thousand batches of two items, settled by two workers at once: each ends once, with one onComplete', async () => {
  const { engines, sql, deadlocks } = await world(2)
  const [one, two] = engines as [Engine, Engine]
  const before = await deadlocks()
  ends.length = 0
  const ids: string[] = []
  for (let n = 0; n < 1000; n++) ids.push((await one.submit(batch, ['a', 'b'])).id)
  await Promise.all([one.work({ queues: { q: 20, ends: 5 } }), two.work({ queues: { q: 20, ends: 5 } })])
  await until(() => ends.length >= 1000)
  expect(ends.toSorted()).toEqual(ids.toSorted())
  expect(
    await sql(
      `select state, completions, count(*)::int as n, count(distinct complete_job)::int as jobs from retoma.batch group by 1, 2`,
    ),
  ).toEqual([{ state: 'succeeded', completions: 1, n: 1000, jobs: 1000 }])
  expect(await sql(`select count(*)::int as n from retoma.job where kind = 'over'`)).toEqual([{ n: 1000 }])
  expect(await deadlocks()).toBe(before)
})

test('what nobody asked about, because its process died after the flush, ends at a tick of another', async () => {
  const { engines, sql } = await world(1)
  const [engine] = engines as [Engine]
  ends.length = 0
  const { id } = await engine.submit(batch, ['a', 'b'])
  // As a flush leaves it, and nothing after.
  await sql(`update retoma.job set state = 'succeeded', finished_at = now() where batch_id = $1`, [id])
  await sql(`insert into retoma.batch_count (batch_id, shard, succeeded) values ($1, 3, 1), ($1, 9, 1)`, [id])
  await engine.work({ queues: { ends: 1 } })
  expect(await engine.wait({ batch: id })).toMatchObject({ state: 'succeeded', succeeded: 2 })
  await until(() => ends.length > 0)
  expect(ends).toEqual([id])
})

test('the counters equal a recount in every snapshot while connections are killed and ten callers run cancel and retryFailed', async () => {
  const { url, engines, sql, deadlocks } = await world(4, { connections: 4 })
  const [one] = engines as [Engine]
  const before = await deadlocks()
  ran.clear()
  const names = (prefix: string, length: number) => Array.from({ length }, (_, n) => `${prefix}${n}`)
  const auditor = startAuditor(url)
  const submitted = await Promise.all(
    ['a', 'b', 'c'].map((prefix, n) => engines[n]!.submit(batch, names(prefix, 1500), { ref: name => name })),
  )
  const [a, b, c] = submitted.map(each => each.id) as [string, string, string]
  await Promise.all(engines.map(each => each.work({ queues: { q: 10, ends: 2 } })))
  const surely = async <T>(call: () => Promise<T>): Promise<T | undefined> => {
    for (let left = 50; ; left--) {
      try {
        return await call()
      } catch (error) {
        // A killed connection; the call is repeated, as a person would.
        if (left === 0 || !['database_unreachable', 'database_timeout'].includes((error as { code: string }).code))
          throw error
      }
    }
  }
  const kill = () =>
    sql(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'retoma' and random() < 0.3`,
    )
  let storming = true
  const storm = (async () => {
    while (storming) {
      await kill()
      await until(async () => (await sql<{ n: number }>(`select pg_sleep(0.05), 1 as n`)).length === 1)
    }
  })()
  await until(() => ran.size > 1000)
  const ten = <T>(call: (engine: Engine) => Promise<T>) =>
    Promise.all(Array.from({ length: 10 }, (_, n) => surely(() => call(engines[n % 4]!))))
  await ten(engine => engine.batches.cancel(a))
  await ten(engine => engine.batches.retryFailed(b))
  storming = false
  await storm
  await surely(() => one.wait({ batch: b }))
  await surely(() => one.wait({ batch: c }))
  await ten(engine => engine.batches.retryFailed(c))
  const last = await surely(() => one.wait({ batch: c }))
  await until(async () => !(await one.batch(a))!.following)
  const { wrong, checks } = await auditor.stop()
  expect(wrong).toEqual([])
  expect(checks).toBeGreaterThan(5)
  expect(last).toMatchObject({ state: 'completed_with_failures', total: 1500, succeeded: 1350, failed: 150 })
  expect(await one.batch(a)).toMatchObject({ state: 'cancelled', waiting: 0, running: 0 })
  expect(await deadlocks()).toBe(before)
})

test('pause stops new starts within a second, also of what was claimed ahead in another process', async () => {
  const { engines, sql } = await world(2)
  const [one, two] = engines as [Engine, Engine]
  await two.work({ queues: { q: 2 } })
  const { id } = await one.submit(
    batch,
    Array.from({ length: 20_000 }, () => 'x'),
  )
  await until(async () => (await one.batch(id))!.succeeded > 2000)
  const began = performance.now()
  await one.batches.pause(id)
  const pressMs = performance.now() - began
  const [answers] = await sql<{ at: Date }>(`select clock_timestamp() as at`)
  await until(async () => (await one.batch(id))!.running === 0)
  const [stood] = await sql<{ ms: number }>(
    `select extract(epoch from clock_timestamp() - $1::timestamptz)::float8 * 1000 as ms`,
    [answers!.at],
  )
  // On a machine on which the action itself takes its time, everything does.
  expect(stood!.ms).toBeLessThan(Math.max(1000, pressMs * 10))
  const { waiting } = (await one.batch(id))!
  expect(waiting).toBeGreaterThan(0)
  // And they are found again at once: no poll is waited for.
  await one.batches.resume(id)
  await until(async () => (await one.batch(id))!.waiting < waiting)
  expect(await one.wait({ batch: id })).toMatchObject({ state: 'succeeded', succeeded: 20_000 })
})
