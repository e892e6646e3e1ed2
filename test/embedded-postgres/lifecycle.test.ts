/** The life of the embedded server among processes that come, go and are killed. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { expect, test } from 'vitest'
import { hasData, openEmbedded } from '../../src/embedded-postgres/index.ts'
import { systemClock } from '../../src/lib/clock.ts'
import {
  commandsWith,
  endlessPackage,
  eventually,
  guest,
  house,
  mind,
  notelessPackage,
  processesBelow,
  query,
  scratch,
  serversBelow,
  signal,
  slowPackage,
  spoiltHouse,
  stuckPackage,
} from './support.ts'

const open = async (dataDir: string) => mind(await openEmbedded({ dataDir, fsync: false }))

const working = `select 1 from pg_stat_activity where state = 'active' and query like '%generate_series(1, 8%' and pid <> pg_backend_pid()`

test('a server left behind by a killed process is attached to, with its data', async () => {
  const dataDir = await house()
  const first = guest({ dataDir, fsync: false })
  const { url, started } = await first.ask('open')
  expect(started).toBe(true)
  await query(url, 'drop table if exists kept; create table kept as select 42 as answer')
  first.kill()
  await first.exited
  const [pid] = serversBelow(dataDir)

  const second = await open(dataDir)
  expect(second.started).toBe(false)
  expect(second.url).toBe(url)
  expect(serversBelow(dataDir)).toEqual([pid])
  expect(await query(second.url, 'select answer from kept')).toEqual([{ answer: 42 }])
})

test('after SIGKILL of every postgres process the next start recovers all committed rows', async () => {
  const dataDir = await house()
  const first = guest({ dataDir })
  const { url } = await first.ask('open')
  await query(url, 'drop table if exists kept; create table kept (n int)')
  const writer = new pg.Client({ connectionString: url })
  writer.on('error', () => {})
  await writer.connect()
  let acknowledged = 0
  const writing = (async () => {
    while (true) {
      await writer.query('insert into kept values ($1)', [acknowledged + 1])
      acknowledged++
    }
  })().catch(() => {})
  await eventually(() => acknowledged > 100, 'a hundred rows are written')
  first.kill()
  signal(processesBelow(dataDir), 'SIGKILL')
  await writing
  await first.exited

  const second = mind(await openEmbedded({ dataDir }))
  expect(second.started).toBe(true)
  const [row] = await query(second.url, 'select count(*)::int as rows, max(n) as newest from kept')
  expect(row!.newest).toBeGreaterThanOrEqual(acknowledged)
  expect(row!.rows).toBe(row!.newest)
})

test('after SIGKILL of the postmaster alone the next start waits for its orphans', async () => {
  const dataDir = await house()
  const first = guest({ dataDir, fsync: false })
  const { url } = await first.ask('open')
  await query(url, 'drop table if exists kept; create table kept as select 1 as n')
  // A backend that computes and never waits does not notice the end of its server.
  const busy = query(url, 'select count(*) from generate_series(1, 8000000)').catch(() => {})
  await eventually(async () => (await query(url, working)).length > 0, 'the long statement runs')
  first.kill()
  await first.exited
  process.kill(serversBelow(dataDir)[0]!, 'SIGKILL')

  const second = await open(dataDir)
  expect(second.started).toBe(true)
  expect(await query(second.url, 'select n from kept')).toEqual([{ n: 1 }])
  await busy
})

test('processes that start at once on an empty folder share one server', async () => {
  const dataDir = join(scratch(), 'data')
  const all = [1, 2, 3].map(() => guest({ dataDir, fsync: false }))
  const answers = await Promise.all(all.map(each => each.ask('open')))
  expect(answers.map(answer => answer.code)).toEqual([undefined, undefined, undefined])
  expect(answers.filter(answer => answer.started)).toHaveLength(1)
  expect(serversBelow(dataDir)).toHaveLength(1)
  expect(readdirSync(dataDir).sort()).toEqual(['.gitignore', 'postgres', 'postgres.log', 'socket'])
})

test('of servers launched at the same moment one wins, and the others attach to it', async () => {
  const dataDir = await house()
  const lock = /lock file "postmaster.pid" (already exists|is empty)/g
  const refused = () => readFileSync(join(dataDir, 'postgres.log'), 'utf8').match(lock)?.length ?? 0
  const before = refused()
  const folder = join(scratch(), "in somebody's folder")
  const launches = join(folder, 'launches')
  const packageFolder = slowPackage(folder, launches)
  const machine = { packageFolder: () => packageFolder }
  const all = await Promise.all([1, 2, 3].map(() => openEmbedded({ dataDir, fsync: false, machine }).then(mind)))
  expect(readFileSync(launches, 'utf8').length).toBeGreaterThanOrEqual(3)
  expect(all.filter(each => each.started)).toHaveLength(1)
  await eventually(() => refused() >= before + 2, 'the others were refused by its lock')
  expect(serversBelow(dataDir)).toHaveLength(1)
})

test('whoever launched a server too late has seen it end before he comes in, so it does not start once all have left', async () => {
  const dataDir = await house()
  const folder = scratch()
  const launches = join(folder, 'launches')
  const packageFolder = slowPackage(folder, launches)
  const late = openEmbedded({ dataDir, fsync: false, machine: { packageFolder: () => packageFolder } }).then(mind)
  await eventually(() => existsSync(launches), 'the late one is launched')
  const all = [await open(dataDir), await late]
  expect(all.filter(each => each.started)).toHaveLength(1)
  for (const each of all) await each.leave()
  expect(commandsWith(`${dataDir}/postgres`)).toEqual([])
})

test('a server without its note is attached to, and stopped by the last one out', async () => {
  const dataDir = await house()
  const packageFolder = notelessPackage(scratch())
  const machine = { packageFolder: () => packageFolder }
  const first = mind(await openEmbedded({ dataDir, fsync: false, machine }))
  expect(first.started).toBe(true)
  await eventually(() => !existsSync(join(dataDir, 'postgres', 'postmaster.pid')), 'the note is gone')
  const second = await open(dataDir)
  expect(second.started).toBe(false)
  await first.leave()
  expect(serversBelow(dataDir)).toHaveLength(1)
  await second.leave()
  expect(processesBelow(dataDir)).toEqual([])
})

test('whoever gives up on a server that he launched takes it back', async () => {
  const dataDir = await house()
  const folder = scratch()
  const file = join(folder, 'pid')
  const packageFolder = stuckPackage(folder, file)
  const pid = () => (existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0)
  const clock = { ...systemClock, now: () => new Date(pid() > 0 ? 60_000 : 0) }
  await expect(
    openEmbedded({ dataDir, fsync: false, clock, machine: { packageFolder: () => packageFolder } }),
  ).rejects.toMatchObject({ code: 'postgres_failed' })
  expect(() => process.kill(pid(), 0)).toThrow('ESRCH')
})

test('the last one out stops the server, the first one out does not', async () => {
  const dataDir = await house()
  const other = guest({ dataDir, fsync: false })
  const mine = await open(dataDir)
  const { started } = await other.ask('open')
  expect([mine.started, started]).toEqual([true, false])

  await mine.leave()
  expect(serversBelow(dataDir)).toHaveLength(1)
  await other.ask('leave')
  expect(processesBelow(dataDir)).toEqual([])
  expect(readdirSync(join(dataDir, 'postgres'))).not.toContain('postmaster.pid')
  expect(readdirSync(join(dataDir, 'socket'))).toEqual([])
})

test('of several that leave at once the last one stops the server', async () => {
  const dataDir = await house()
  for (let round = 0; round < 3; round++) {
    const all = await Promise.all([open(dataDir), open(dataDir), open(dataDir)])
    await Promise.all(all.map(each => each.leave()))
    expect(processesBelow(dataDir)).toEqual([])
  }
})

test('who comes while the last one leaves still gets a server', async () => {
  const dataDir = await house()
  let inside = await open(dataDir)
  for (let round = 0; round < 16; round++) {
    const leaving = inside.leave()
    inside = await open(dataDir)
    await leaving
    expect(await query(inside.url, 'select 1 as n')).toEqual([{ n: 1 }])
  }
})

test('a killed server is revived while someone uses it', async () => {
  const dataDir = await house()
  const mine = await open(dataDir)
  const other = guest({ dataDir, fsync: false })
  await other.ask('open')
  await query(mine.url, 'drop table if exists kept; create table kept as select 1 as n')
  const [killed] = serversBelow(dataDir)
  signal(processesBelow(dataDir), 'SIGKILL')

  await eventually(() => serversBelow(dataDir).some(pid => pid !== killed), 'a new server runs, though nobody asked')
  await Promise.all([mine.revive(), other.ask('revive')])
  expect(await query(mine.url, 'select n from kept')).toEqual([{ n: 1 }])
  expect(serversBelow(dataDir)).toHaveLength(1)
  await other.ask('leave')
  expect(serversBelow(dataDir)).toHaveLength(1)
})

test('leaving before a killed server is revived leaves nothing behind', async () => {
  const dataDir = await house()
  const mine = await open(dataDir)
  signal(processesBelow(dataDir), 'SIGKILL')
  const reviving = mine.revive().catch(() => {})
  await mine.leave()
  await reviving
  await eventually(() => processesBelow(dataDir).length === 0, 'the killed ones are gone')
})

test('leaving in the middle of a revival leaves nothing behind', async () => {
  const dataDir = await house()
  const folder = scratch()
  const launches = join(folder, 'launches')
  const packageFolder = slowPackage(folder, launches)
  const mine = mind(await openEmbedded({ dataDir, fsync: false, machine: { packageFolder: () => packageFolder } }))
  rmSync(launches)
  signal(processesBelow(dataDir), 'SIGKILL')
  await eventually(() => existsSync(launches), 'a new server is being started')
  await mine.leave()
  expect(processesBelow(dataDir)).toEqual([])
  expect(readdirSync(join(dataDir, 'postgres'))).not.toContain('postmaster.pid')
})

test('holding a server does not keep a finished program alive', async () => {
  const dataDir = await house()
  const program = guest({ dataDir, fsync: false })
  await program.ask('open')
  program.tell('finish')
  expect(await program.exited).toBe(0)
  expect((await open(dataDir)).started).toBe(false)
})

test('a server that cannot be brought back does not keep a finished program alive, nor make a removed folder anew', async () => {
  const dataDir = await spoiltHouse()
  const program = guest({ dataDir, fsync: false })
  await program.ask('open')
  const pids = processesBelow(dataDir)
  rmSync(dataDir, { recursive: true })
  signal(pids, 'SIGKILL')
  expect(await program.ask('revive')).toMatchObject({ code: 'data_unreadable' })
  program.tell('finish')
  expect(await program.exited).toBe(0)
  expect(existsSync(dataDir)).toBe(false)
})

test('Ctrl-C in the terminal does not reach the server', async () => {
  const dataDir = await house()
  const program = guest({ dataDir, fsync: false }, { detached: true })
  await program.ask('open')
  process.kill(-program.process.pid!, 'SIGINT')
  await program.exited
  expect((await open(dataDir)).started).toBe(false)
})

test('a pid that now belongs to another program does not block the start', async () => {
  const dataDir = await house()
  await (await open(dataDir)).leave()
  // As after a reboot or in a new container: the number lives, but it is not a server.
  const { pid } = guest({}).process
  const note = (file: string) => writeFileSync(join(dataDir, file), `${pid}\n${dataDir}/postgres\n1700000000\n5432\n`)
  note('postgres/postmaster.pid')
  note('socket/.s.PGSQL.5432.lock')
  expect((await open(dataDir)).started).toBe(true)
})

test('a half-made folder of a dead process is removed, one of a live process is left alone', async () => {
  const dataDir = join(scratch(), 'data')
  const dead = guest({})
  dead.kill()
  await dead.exited
  mkdirSync(join(dataDir, `postgres.init-${dead.process.pid}-d-1`, 'base'), { recursive: true })
  mkdirSync(join(dataDir, `postgres.init-${process.pid}-d-2`), { recursive: true })
  await open(dataDir)
  expect(readdirSync(dataDir).filter(name => name.includes('init'))).toEqual([`postgres.init-${process.pid}-d-2`])
})

test('an initdb that outlives the process it was run by is ended, and does not fail the next start', async () => {
  const folder = scratch()
  const dataDir = join(folder, 'data')
  const drafts = () => readdirSync(dataDir).filter(name => name.includes('init'))
  const first = guest({ dataDir, fsync: false, package: endlessPackage(folder) })
  first.ask('open').catch(() => {})
  await eventually(
    () => existsSync(dataDir) && drafts().some(name => existsSync(join(dataDir, name, '9'))),
    'it writes',
  )
  const [draft] = drafts()
  first.kill()
  await first.exited
  expect(commandsWith(draft!)).not.toEqual([])

  expect((await open(dataDir)).started).toBe(true)
  await eventually(() => commandsWith(draft!).length === 0, 'it is gone')
  expect(drafts()).toEqual([])
})

test('a process that exits while it makes data takes its initdb along', async () => {
  const folder = scratch()
  const dataDir = join(folder, 'data')
  const drafts = () => readdirSync(dataDir).filter(name => name.includes('init'))
  const maker = guest({ dataDir, fsync: false, package: endlessPackage(folder) })
  maker.ask('open').catch(() => {})
  await eventually(
    () => existsSync(dataDir) && drafts().some(name => existsSync(join(dataDir, name, '9'))),
    'it writes',
  )
  const [draft] = drafts()
  maker.tell('exit')
  expect(await maker.exited).toBe(1)
  await eventually(() => commandsWith(draft!).length === 0, 'it is gone', 10)
})

test('data that a live process is making counts as data, what a dead one left does not', async () => {
  const dataDir = join(scratch(), 'data')
  const maker = guest({})
  mkdirSync(join(dataDir, `postgres.init-${maker.process.pid}-d-1`), { recursive: true })
  expect(await hasData(dataDir)).toBe(true)
  maker.kill()
  await maker.exited
  expect(await hasData(dataDir)).toBe(false)
})

test('libpq settings in the environment do not disturb it', async () => {
  const dataDir = await house()
  const env = {
    PGPORT: '1',
    PGHOST: 'example.invalid',
    PGSSLMODE: 'require',
    PGUSER: 'x',
    PGDATABASE: 'y',
    PGDATA: '/nowhere',
  }
  const program = guest({ dataDir, fsync: false }, { env })
  const answer = await program.ask('open')
  expect(answer).toMatchObject({ started: true, folder: dataDir })
  expect(await query(answer.url, 'select current_user, current_database() as db')).toEqual([
    { current_user: 'retoma', db: 'retoma' },
  ])
})

test('fsync is on, nothing listens on the network, and only the owner may enter', async () => {
  const dataDir = join(scratch(), 'data')
  const { url } = mind(await openEmbedded({ dataDir }))
  const shown = async (name: string) => (await query(url, `select current_setting('${name}') as value`))[0]!.value
  expect(await shown('fsync')).toBe('on')
  expect(await shown('listen_addresses')).toBe('')
  expect(await shown('unix_socket_permissions')).toBe('0700')
  expect(readFileSync(join(dataDir, 'postgres', 'pg_hba.conf'), 'utf8')).not.toMatch(/^host/m)
})

test('a table that somebody makes lies in public, not in the schema that is called like the user', async () => {
  const { url } = await open(await house())
  await query(url, 'create schema if not exists retoma; drop table if exists mine; create table mine (n int)')
  const made = await query(
    url,
    `select relnamespace::regnamespace::text as schema from pg_class where relname = 'mine'`,
  )
  expect(made).toEqual([{ schema: 'public' }])
})
