/** `retoma doctor` on the command line, on databases with a problem each. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { expect, inject, onTestFinished, test } from 'vitest'
import { randomName } from '../../src/lib/random.ts'
import { type Place, place } from '../maintenance/support.ts'
import { answer, folderWith, run } from './support.ts'

interface Found {
  ok: boolean
  failures: number
  warnings: number
  bundle: string | null
  checks: { check: string; verdict: string; sentence: string; advice: string | null }[]
}

async function doctor(url: string, env: Record<string, string> = {}): Promise<Record<string, string>> {
  const { checks } = await answer<Found>(['doctor'], { folder: folderWith(), env: { DATABASE_URL: url, ...env } })
  return Object.fromEntries(checks.map(({ check, verdict, sentence }) => [check, `${verdict}: ${sentence}`]))
}

const worker = (id: string, ago: string, kinds = ['k']) => `
  insert into retoma.worker (id, host, pid, version, queues, kinds, started_at, heartbeat_at)
  values ('${id}', 'secret-host', 1, '0', '{"q": 1}', '{${kinds}}', now(), now() - interval '${ago}')`

const job = (kind: string, state = 'waiting', by: string | null = null) => `
  insert into retoma.job (queue, kind, key, unique_until, state, claim_rank, run_at, input, attempt, worker_id, created_at)
  values ('q', '${kind}', 'private-key', null, '${state}', 9, now(), '{"name": "private-input"}', 1, ${by === null ? 'null' : `'${by}'`}, now())`

async function queue(from: Place, paused = false): Promise<void> {
  await from.sql(`insert into retoma.queue (name, paused) values ('q', $1)`, [paused])
}

test('a sound database: exit 0, whatever is only a warning', async () => {
  const well = await place('ours')
  await queue(well)
  await well.sql(worker('w', '1 s'))
  await well.sql(`update retoma.periodic_lease set at = now()`)
  const { code, stdout } = await run(['doctor'], { folder: folderWith(), env: { DATABASE_URL: well.url } })
  expect(code).toBe(0)
  expect(stdout).toMatch(/^ok +settings: every setting is usable\nok +database: the database at \S+ \S+ answers\n/)
  // The server of the tests runs without fsync, because its data need not survive.
  expect(stdout).toMatch(/^warning +durability: off: .*fsync/m)
  expect(stdout).toMatch(/^ok +listen: notifications arrive/m)
  expect(stdout).toMatch(/^failures: 0, warnings: 1\n$/m)
})

test('what is stopped is named: starved kinds, lost workers, paused queues', async () => {
  const ill = await place('ours')
  await queue(ill)
  await ill.sql(worker('w-live', '1 s'))
  await ill.sql(worker('w-dead', '5 min'))
  for (const each of [job('k'), job('unknown'), job('k', 'running', 'w-dead'), job('k', 'running', 'w-gone')])
    await ill.sql(each)
  expect(await doctor(ill.url)).toMatchObject({
    starved: expect.stringMatching(/^warning: .*q\/unknown 1 \(/),
    workers: expect.stringMatching(/^warning: running jobs .*: 2; the workers: w-dead \(5 min\), w-gone$/),
    paused: expect.stringMatching(/^ok/),
  })
  await ill.sql(`update retoma.queue set paused = true`)
  expect(await doctor(ill.url)).toMatchObject({
    starved: expect.stringMatching(/^ok/),
    paused: 'warning: paused queues with waiting jobs: q 2',
  })
})

test('many starved jobs are counted up to a bound', async () => {
  const ill = await place('ours')
  await queue(ill)
  await ill.sql(
    `insert into retoma.job (queue, kind, claim_rank, run_at, input, created_at) select 'q', 'k', 9, now(), '{}', now() from generate_series(1, 10100)`,
  )
  expect((await doctor(ill.url)).starved).toContain('q/k 10000+ (')
})

test('a watchdog that is late is a failure while workers live', async () => {
  const ill = await place('ours')
  const tick = (ago: string) =>
    ill.sql(`update retoma.periodic_lease set at = now() - $1::interval where name = 'watchdog'`, [ago])
  await ill.sql(worker('w', '1 s'))
  await tick('2 s')
  expect((await doctor(ill.url)).watchdog).toMatch(/^ok: its last tick was \d s ago/)
  await tick('10 min')
  expect((await doctor(ill.url)).watchdog).toBe("failure: the watchdog's last tick was 10 min ago")
})

test('a schema that is not up to date, and one that is not there, are failures', async () => {
  const bare = await place()
  const none = await run(['doctor', '--json'], { folder: folderWith(), env: { DATABASE_URL: bare.url } })
  expect(none.code).toBe(1)
  const { checks } = JSON.parse(none.stdout) as Found
  expect(checks).toContainEqual(
    expect.objectContaining({ check: 'schema', verdict: 'failure', advice: expect.stringContaining('retoma migrate') }),
  )
  expect(checks.filter(each => each.verdict === 'unseen').map(each => each.check)).toEqual([
    ...['rights', 'vacuum', 'starved', 'workers', 'paused', 'watchdog', 'findings', 'guards'],
  ])
  const newer = await place('ours')
  await newer.sql(`insert into retoma.migration (version, name, applied_at) values (9999, 'next', now())`)
  expect((await doctor(newer.url)).schema).toMatch(/^failure: the database has schema version 9999/)
})

test('a user without rights sees the grant', async () => {
  const ill = await place('ours')
  const role = randomName('doctor').replace('-', '_')
  await ill.sql(
    `create role ${role} login; grant usage on schema retoma to ${role}; grant select on all tables in schema retoma to ${role}`,
  )
  onTestFinished(async () => {
    const admin = new pg.Client({ connectionString: inject('serverUrl') })
    await admin.connect()
    await admin.query(`drop role ${role}`).finally(() => admin.end())
  })
  const url = new URL(ill.url)
  url.username = role
  const found = await doctor(url.href)
  expect(found.rights).toMatch(new RegExp(`^failure: the user ${role} lacks delete on retoma\\.\\w+, .*, …$`))
  await ill.sql(`drop owned by ${role}`)
})

test('where a notification does not arrive, polling is named and the way out', async () => {
  const here = await place('ours')
  const elsewhere = await place()
  const { checks } = await answer<Found>(['doctor'], {
    folder: folderWith(),
    env: { DATABASE_URL: here.url, DATABASE_DIRECT_URL: elsewhere.url },
  })
  expect(checks.find(each => each.check === 'listen')).toMatchObject({
    verdict: 'warning',
    sentence: expect.stringContaining('polling'),
    advice: expect.stringContaining('DATABASE_DIRECT_URL'),
  })
})

test('a database that is not there is the failure; the rest is not seen; bad settings are all named', async () => {
  const folder = folderWith({ '.env': 'PORT=99999\nTRUST_PROXY=maybe\nLANG=pt_BR.UTF-8\n' })
  const env = { DATABASE_URL: 'postgres://ana:secret-word@127.0.0.1:1/db', LANG: 'pt_BR.UTF-8' }
  const { code, stdout } = await run(['doctor', '--bundle'], { folder, env })
  expect(code).toBe(1)
  expect(stdout).toMatch(/^falha +settings: PORT .*; TRUST_PROXY /)
  expect(stdout).toMatch(/^falha +database: o banco de dados em 127\.0\.0\.1:1\/db não responde/m)
  expect(stdout.match(/^não visto/gm)).toHaveLength(16)
  const [file] = readdirSync(folder).filter(name => name.startsWith('retoma-doctor-'))
  const bundle = readFileSync(join(folder, file!), 'utf8')
  expect(bundle).not.toMatch(/secret-word|ana|99999|maybe|:1\/db/)
  expect(JSON.parse(bundle)).toMatchObject({ settings_set: ['DATABASE_URL', 'PORT', 'TRUST_PROXY'], server: null })
})

test('a host that does not resolve is named to the person and not in the bundle', async () => {
  const folder = folderWith()
  const env = { DATABASE_URL: 'postgres://ana@db.internal.invalid:5432/prod' }
  const { code, stdout } = await run(['doctor', '--bundle'], { folder, env })
  expect(code).toBe(1)
  expect(stdout).toContain('db.internal.invalid:5432/prod')
  const [file] = readdirSync(folder)
  expect(readFileSync(join(folder, file!), 'utf8')).not.toMatch(/internal|prod|ana/)
})

// Root may write everywhere but there.
test.skipIf(process.platform !== 'linux')(
  'where the bundle cannot be written the checks are reported first',
  async () => {
    const well = await place('ours')
    const there = { folder: '/proc', env: { DATABASE_URL: well.url } }
    const { code, stdout, stderr } = await run(['doctor', '--bundle'], there)
    expect(code).toBe(1)
    expect(stdout).toMatch(/^ok +settings: .*\nfailures: 0, warnings: \d\n$/s)
    expect(stderr).toMatch(/^error file_not_written: /)
    expect(await answer(['doctor', '--bundle'], there)).toMatchObject({
      failures: 0,
      checks: expect.arrayContaining([expect.objectContaining({ check: 'settings', verdict: 'ok' })]),
      bundle: null,
      error: { code: 'file_not_written' },
    })
  },
)

test('where there is no data yet nothing is made to look at', async () => {
  const folder = folderWith()
  expect(await run(['doctor'], { folder })).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('failure   database: there is no data'),
  })
  expect(readdirSync(folder)).toEqual([])
})

test('the bundle has what helps and nothing that is private', async () => {
  const ill = await place('ours')
  await queue(ill)
  await ill.sql(worker('w', '1 s'))
  await ill.sql(job('k'))
  const folder = folderWith()
  const env = { DATABASE_URL: ill.url, RETOMA_ADMIN_TOKEN: 'sk-private-0123456789', HOST: '127.0.0.1' }
  const { bundle } = await answer<Found>(['doctor', '--bundle'], { folder, env })
  expect(bundle).toMatch(/^retoma-doctor-\d{8}T\d{6}\.json$/)
  const text = readFileSync(join(folder, bundle!), 'utf8')
  expect(JSON.parse(text)).toMatchObject({
    retoma: expect.any(String),
    node: process.version,
    settings_set: ['DATABASE_URL', 'HOST', 'RETOMA_ADMIN_TOKEN'],
    schema: { found: expect.any(Number) },
    server: { number: expect.any(Number), max_connections: expect.any(Number) },
    tables: expect.arrayContaining([expect.objectContaining({ name: 'job', vacuum_off: false })]),
    queues: [{ queue: 'q', ready: 1 }],
    workers: [{ id: 'w', kinds: ['k'] }],
  })
  expect(text).not.toMatch(/private|secret/)
})
