/** `retoma watchdog` as people and an outside cron start it. */
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { TestDatabase } from '../../src/testing/index.ts'
import { migratedDatabase } from '../support/database.ts'
import { until } from '../support/engine.ts'
import { answer, folderWith, run, start } from './support.ts'

const config = `import { defineConfig, defineJob, hours } from 'retoma'
const old = defineJob({ kind: 'old', maxAge: hours(1), run: () => 1 })
export default defineConfig({ jobs: [old] })
`

let database: TestDatabase
let client: pg.Client
let folder: string
let env: Record<string, string>

beforeAll(async () => {
  database = await migratedDatabase()
  client = new pg.Client({ connectionString: database.url })
  await client.connect()
  folder = folderWith({ 'retoma.config.ts': config }, 'file')
  env = { DATABASE_URL: database.url }
  expect((await run(['migrate'], { folder, env })).code).toBe(0)
})
afterAll(async () => {
  await client.end()
  await database.drop()
})
beforeEach(() =>
  client.query(`delete from retoma.job; delete from retoma.worker; update retoma.periodic_lease set at = '-infinity'`),
)

const job = (state: string, worker: string | null, created = 'now()') =>
  client
    .query(
      `insert into retoma.job (queue, kind, state, claim_rank, run_at, input, attempt, worker_id, created_at, started_at)
       values ('default', 'old', $1, 9, ${created}, '{}', 1, $2, ${created}, ${created}) returning id`,
      [state, worker],
    )
    .then(({ rows }) => rows[0].id as string)
const worker = (id: string, silent: string) =>
  client.query(
    `insert into retoma.worker (id, host, pid, version, queues, kinds, started_at, heartbeat_at)
     values ($1, 'h', 1, '0', '{"default": 1}', '{old}', now(), now() - $2::interval)`,
    [id, silent],
  )

test('one pass ends at once when all is well, and says so in the language of the reader', async () => {
  await worker('w-live', '0 s')
  const { code, stdout } = await run(['watchdog', '--once'], { folder, env })
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'all is well: nothing was to be put right\n' })
  // It lives on: a run of its own may take half of the ten seconds after which one is suspected.
  await client.query(`update retoma.worker set heartbeat_at = now()`)
  const spoken = await run(['watchdog', '--once'], { folder, env: { ...env, LANG: 'pt_BR.UTF-8' } })
  expect(spoken.stdout).toBe('tudo bem: não havia nada a corrigir\n')
  // Nobody was suspected, so nothing was waited for: a second look would have been another row version.
  expect((await client.query(`select suspected_at from retoma.worker`)).rows).toEqual([{ suspected_at: null }])
})

test('one pass finds what a dead worker left and what is too old, within the ten seconds a verdict takes', async () => {
  await worker('w-gone', '3 minutes')
  const orphan = await job('running', 'w-gone')
  const old = await job('waiting', null, `now() - interval '2 hours'`)
  const passed = await answer(['watchdog', '--once'], { folder, env })
  expect(passed).toMatchObject({ dead: ['w-gone'], recovered: [orphan], overdue: [old], timed_out: [], batches: [] })
  const { rows } = await client.query(`select id, state from retoma.job order by id`)
  expect(rows).toEqual([
    { id: orphan, state: 'waiting' },
    { id: old, state: 'failed' },
  ])
})

test('in the first second after an outage one pass makes no orphan of a worker whose heartbeats come again', async () => {
  await worker('w-live', '3 minutes')
  const id = await job('running', 'w-live')
  const pass = start(['watchdog', '--once', '--json'], { folder, env })
  // As soon as it suspects: a heart beats at once when it reconnects.
  await until(async () => {
    const { rows } = await client.query(
      `update retoma.worker set heartbeat_at = now(), suspected_at = null where suspected_at is not null returning id`,
    )
    return rows.length > 0
  })
  const { code, stdout } = await pass.ended
  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({ dead: [], recovered: [] })
  expect((await client.query(`select state from retoma.job where id = $1`, [id])).rows).toEqual([{ state: 'running' }])
})

test('without --once it ticks until it gets the signal to stop, and status shows what it found', async () => {
  const dog = start(['watchdog'], { folder, env })
  await dog.said('Ctrl-C')
  await until(
    async () => (await client.query(`select from retoma.periodic_lease where at > '-infinity'`)).rows.length > 0,
  )
  dog.tell('SIGTERM')
  expect(await dog.ended).toMatchObject({ code: 0 })
  await client.query(`insert into retoma.finding (verdict, subject, since, seen_at, facts)
    values ('starved', 'queue:mail/kind:send', now(), now(), '{"queue": "mail", "kind": "send", "noWorker": true}')`) // biome-ignore format: one statement
  expect((await run(['status'], { folder, env })).stdout).toContain('no live worker takes queue mail (send)')
  expect(await answer(['status'], { folder, env })).toMatchObject({
    findings: [{ verdict: 'starved', facts: { no_worker: true } }],
  })
  await client.query(`delete from retoma.finding`)
})
