/** Real processes, killed in the middle of a batch. */
import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { createEngine, defineBatch, defineJob } from '../../src/index.ts'
import { startAuditor } from '../support/batches.ts'
import { migratedDatabase } from '../support/database.ts'
import { until } from '../support/engine.ts'

const script = fileURLToPath(new URL('./batch-guest.mjs', import.meta.url))

function hire(url: string): { child: ChildProcess; ready: Promise<void> } {
  const child = spawn(process.execPath, [script, url], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  return { child, ready: new Promise(resolve => child.stdout!.once('data', () => resolve())) }
}

test('all workers of a batch are killed in its middle: it goes on, nothing that was finished runs again, its books are right', async () => {
  const { url, drop } = await migratedDatabase()
  onTestFinished(drop)
  const item = defineJob<number>({ kind: 'item', queue: 'items', run: () => {} })
  const batch = defineBatch({
    name: 'b',
    job: item,
    onComplete: defineJob<unknown>({ kind: 'over', queue: 'items', run: () => {} }),
  })
  const engine = await createEngine({ databaseUrl: url, batches: [batch] })
  const admin = new pg.Client({ connectionString: url })
  await admin.connect()
  onTestFinished(async () => {
    await engine.close()
    await admin.end()
  })
  const sql = async <T>(text: string) => (await admin.query(text)).rows as T[]
  await sql(`create table public.starts (n integer not null)`)
  const total = 1000
  const { id } = await engine.submit(
    batch,
    Array.from({ length: total }, (_, n) => n),
  )
  const auditor = startAuditor(url)

  const pool = [hire(url), hire(url)]
  await Promise.all(pool.map(each => each.ready))
  await until(async () => (await engine.batch(id))!.succeeded >= 80)
  for (const { child } of pool) child.kill('SIGKILL')
  await Promise.all(pool.map(({ child }) => new Promise(resolve => child.once('close', resolve))))
  const inFlight = (await engine.batch(id))!.running
  expect((await engine.batch(id))!.succeeded).toBeLessThan(total)
  await sql(`create table public.done as select (input #>> '{}')::int as n from retoma.job where state = 'succeeded'`)
  await sql(`create table public.before as select n from public.starts`)

  // The next worker sees that their processes have ended, and need not miss their beats for 20 s.
  await hire(url).ready
  expect(await engine.wait({ batch: id })).toMatchObject({ state: 'succeeded', succeeded: total, failed: 0 })
  const { wrong, checks } = await auditor.stop()
  expect(wrong).toEqual([])
  expect(checks).toBeGreaterThan(5)
  const [again] = await sql<{ finished: number; twice: number; most: number }>(
    `select (select count(*)::int from public.starts where n in (select n from public.done)) - (select count(*)::int from public.before where n in (select n from public.done)) as finished,
       (select count(*)::int from (select n from public.starts group by n having count(*) > 1) t) as twice,
       (select max(count)::int from (select count(*) from public.starts group by n) t) as most`,
  )
  expect(again!.finished).toBe(0)
  expect(again!.twice).toBeLessThanOrEqual(inFlight)
  expect(again!.most).toBeLessThanOrEqual(2)
  expect(await sql(`select from retoma.job where kind = 'over'`)).toHaveLength(1)
})
