/** `retoma backup` and `retoma restore` as people run them: real processes, killed ones too. */
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { oddRows, place, systemNames } from '../maintenance/support.ts'
import { until } from '../support/engine.ts'
import { answer, folderWith, run, start } from './support.ts'

/** Names the systems whose tables the databases of these tests have. */
const systems = systemNames.map(name => {
  const migrations = new URL(`../../apps/${name}/sql/`, import.meta.url).href
  return `{ name: '${name}', routes: [], migrations: new URL('${migrations}') }`
})
const config = `export default { systems: [${systems}] }`
const named = { 'retoma.config.mjs': config }
const filesOf = (folder: string) => readdirSync(folder).filter(name => !(name in named))

const pt = { LANG: 'pt_BR.UTF-8' }

/** Of so many bytes each, which cost gzip some time: what repeats lies further back than it can see. */
const jobs = (count: number, size: number) => `
  insert into retoma.job (queue, kind, claim_rank, run_at, input, created_at)
  select 'q', 'k', 9, now(), jsonb_build_object('x', ${text(size)}), now()
  from generate_series(1, ${count}) i`
const block = 65_536
const text = (size: number) => `repeat(${random(Math.min(size, block))}, ${Math.ceil(size / block)})`
const random = (size: number) => `(select string_agg(md5(i::text || n), '') from generate_series(1, ${size / 32}) n)`

test('with the embedded server: out of one folder, into another, in the language', async () => {
  const folder = folderWith()
  const elsewhere = folderWith()
  expect(await run(['backup', 'b.gz'], { folder })).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('no_data'),
  })
  await start(['migrate'], { folder }).ended
  expect(await run(['backup', 'b.gz'], { folder, env: pt })).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^escrito b\.gz: [\d,]+ k?B, linhas: 4\n$/),
  })
  expect(await answer(['backup', 'b.gz', '--force'], { folder })).toMatchObject({
    file: join(folder, 'b.gz'),
    rows: { job: 0 },
  })

  expect(await run(['restore', '../none'], { folder: elsewhere })).toMatchObject({ code: 1 })
  expect(readdirSync(elsewhere)).toEqual([])
  const file = join(folder, 'b.gz')
  // Not within so many seconds: it makes the data first.
  expect(await start(['restore', file], { folder: elsewhere, env: pt }).ended).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^restaurado .*; linhas: 4\n$/),
  })
  expect(await answer(['restore', file], { folder: elsewhere })).toMatchObject({ rows: { job: 0 } })
})

test.each([
  [['backup'], 2],
  [['restore'], 2],
  [['backup', 'a', 'b'], 2],
  [['restore', 'a', '--force'], 2],
])('retoma %j is wrong use', async (args, code) => {
  expect(await run(args, { folder: folderWith() })).toMatchObject({
    code,
    stderr: expect.stringContaining('wrong_use'),
  })
})

test('rows of megabytes and many small ones need little memory, both ways', async () => {
  const from = await place('ours')
  const to = await place()
  await from.sql(jobs(5000, 32))
  await from.sql(jobs(14, 2_000_000))
  const folder = folderWith(named)
  // A heap that holds a few of the large rows at a time, but not half of them.
  const env = { NODE_OPTIONS: '--max-old-space-size=40' }
  const made = start(['backup', 'b.gz'], { folder, env: { ...env, DATABASE_URL: from.url } })
  expect(await made.ended).toMatchObject({ code: 0, stderr: '' })
  const restored = start(['restore', 'b.gz'], { folder, env: { ...env, DATABASE_URL: to.url } })
  expect(await restored.ended).toMatchObject({ code: 0, stderr: '' })
  expect(await to.digest()).toEqual(await from.digest())
})

test('a backup that is killed leaves nothing that looks like one', async () => {
  const from = await place('ours')
  await from.sql(jobs(4000, 3200))
  const folder = folderWith(named)
  const env = { DATABASE_URL: from.url }
  const killed = start(['backup', 'b.gz'], { folder, env })
  await until(() => readdirSync(folder).some(name => statSync(join(folder, name)).size > 100_000))
  killed.tell('SIGKILL')
  expect(await killed.ended).toMatchObject({ signal: 'SIGKILL' })
  const left = filesOf(folder)
  expect(left).toEqual([expect.stringMatching(/^b\.gz\.\w+\.partial$/)])
  expect(await run(['restore', left[0]!, '--replace'], { folder, env })).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('error backup_damaged'),
  })
  expect(await run(['backup', 'b.gz'], { folder, env })).toMatchObject({ code: 0 })
})

test('Ctrl-C ends a backup by the signal and leaves no file', async () => {
  const from = await place('ours')
  await from.sql(jobs(4000, 3200))
  const folder = folderWith(named)
  const asked = start(['backup', 'b.gz'], { folder, env: { DATABASE_URL: from.url } })
  await until(() => readdirSync(folder).some(name => statSync(join(folder, name)).size > 100_000))
  asked.tell('SIGINT')
  expect(await asked.ended).toMatchObject({ signal: 'SIGINT' })
  expect(filesOf(folder)).toEqual([])
})

test('a restore that is killed half-way changes nothing, and can be run again', async () => {
  const from = await place('ours')
  await from.sql(oddRows)
  await from.sql(jobs(3000, 320))
  const folder = folderWith(named)
  await run(['backup', 'b.gz'], { folder, env: { DATABASE_URL: from.url } })

  const to = await place('ours')
  await to.sql(oddRows)
  // Stands still at the 2,000th job until this test lets it go on.
  await to.sql(`
    create function public.wait() returns trigger language plpgsql as $$
    begin
      if new.id = 2000 then perform pg_advisory_xact_lock(42); end if;
      return new;
    end $$;
    create trigger wait before insert on retoma.job for each row execute function public.wait()`)
  const before = await to.digest()
  const holder = new pg.Client({ connectionString: to.url })
  await holder.connect()
  onTestFinished(() => holder.end())
  await holder.query(`select pg_advisory_lock(42)`)

  const waiting = async () =>
    (
      await to.sql(
        `select from pg_locks where locktype = 'advisory' and objid = 42 and not granted and database = (select oid from pg_database where datname = current_database())`,
      )
    ).length
  const killed = start(['restore', 'b.gz', '--replace'], { folder, env: { DATABASE_URL: to.url } })
  await until(async () => (await waiting()) === 1)
  killed.tell('SIGKILL')
  await killed.ended
  await holder.query(`select pg_advisory_unlock(42)`)
  await until(async () => {
    const [busy] = await to.sql<{ n: number }>(
      `select count(*)::int as n from pg_stat_activity where datname = current_database() and application_name = 'retoma'`,
    )
    return busy!.n === 0
  })
  expect(await to.digest()).toEqual(before)
  expect(await run(['restore', 'b.gz', '--replace'], { folder, env: { DATABASE_URL: to.url } })).toMatchObject({
    code: 0,
  })
  expect(await to.digest()).toEqual(await from.digest())
})

test('a full disk is named, and nothing of the file is left', async context => {
  const folder = folderWith(named)
  const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))
  const isRoot = process.getuid?.() === 0
  const from = await place('ours')
  await from.sql(jobs(1000, 3200))
  const [unshare, ...apart] = ['unshare', isRoot ? '-m' : '-rm', 'sh', '-c']
  const inside = (script: string) => {
    const mounted = `mount -t tmpfs -o size=200k,mode=755 tmpfs . && cd "$PWD" && ${script}`
    const options = { cwd: folder, env: { PATH: process.env.PATH, DATABASE_URL: from.url } }
    return spawnSync(unshare!, [...apart, mounted, 'sh', process.execPath, main], { ...options, encoding: 'utf8' })
  }
  if (inside('true').status !== 0) return context.skip('a small disk cannot be mounted here')
  const { stdout, stderr } = inside('"$@" backup b.gz; echo "exit $?, left:" $(ls)')
  expect(stderr).toMatch(
    /^error file_not_written: \S+b\.gz could not be written: the disk is full; nothing of it is left\n$/,
  )
  expect(stdout).toBe('exit 1, left:\n')
  expect(existsSync(join(folder, 'b.gz'))).toBe(false)
})
