/** `retoma guard` as people type it: once on a database that has never seen Retoma, then configured, beside an `up`. The order matters. */
import pg from 'pg'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../src/testing/index.ts'
import { answer, folderWith, run, start } from './support.ts'

const config = `import { defineConfig, defineGuard, defineJob, minutes, seconds } from 'retoma'
const again = defineJob({ kind: 'again', run: (_, input: { id: number }) => input.id })
export default defineConfig({ guards: [
  defineGuard({
    name: 'documents', table: 'documents', status: { column: 'status', running: 'PROCESSING' }, signal: 'updated_at',
    after: minutes(10), every: seconds(1), set: { status: 'FAILED', error_message: 'Processing timeout (watchdog)' },
  }),
  defineGuard({
    name: 'syncs', table: 'syncs', status: { column: 'state', running: 'RUNNING' }, signal: 'seen', after: minutes(1),
    set: { state: 'AGAIN' }, enqueue: { job: again, input: row => ({ id: row.id as number }) },
  }),
] })
`
/** Seed 004's watchdog. */
const oneOff = [
  'guard', '--table', 'documents', '--status', 'status=PROCESSING', '--signal', 'updated_at', '--after', '10m',
  '--set', 'status=FAILED', '--set', 'error_message=Processing timeout (watchdog)',
] // biome-ignore format: as it is typed

let database: TestDatabase
let client: pg.Client
let folder: string
let env: Record<string, string>

beforeAll(async () => {
  database = await createTestDatabase(inject('serverUrl'))
  client = new pg.Client({ connectionString: database.url })
  await client.connect()
  await client.query(`
    create table documents (id int primary key, status text, updated_at timestamptz, error_message text);
    create table syncs (id int primary key, state text, seen timestamptz)`)
  folder = folderWith({ 'retoma.config.ts': config }, 'file')
  env = { DATABASE_URL: database.url, PORT: '0' }
})

afterAll(async () => {
  await client.end()
  await database.drop()
})

const lose = (...ids: number[]) =>
  client.query(
    `insert into documents select id, 'PROCESSING', now() - interval '11 minutes' from unnest($1::int[]) id
     on conflict (id) do update set status = 'PROCESSING', updated_at = excluded.updated_at, error_message = null`,
    [ids],
  )
const documents = async () => (await client.query('select id, status, error_message from documents order by id')).rows
const portuguese = () => ({ folder, env: { ...env, LANG: 'pt_BR.UTF-8' } })

test('a dry run shows how many, the oldest and what they would get, and leaves no trace', async () => {
  await lose(1, 2)
  // Long before its ten minutes are over: it is there for all tests of this file, however slow the machine.
  await client.query(`insert into documents values (3, 'PROCESSING', now() - interval '1 minute')`)
  const { code, stdout, stderr } = await run([...oneOff, '--dry-run'], { folder, env })
  expect(code).toBe(0)
  expect(stdout).toMatch(
    /^documents: rows that would be marked: 2\n {2}status = FAILED\n {2}error_message = Processing timeout \(watchdog\)\nthe oldest:\n {2}id=1, not moved since .* \(11 min\. ago\)\n {2}id=2, .*\nnothing was changed: this was a dry run\n$/,
  )
  expect(stderr).toBe(
    'warning: no index of public.documents begins with updated_at, or with status and then updated_at, so every sweep reads the whole table; this helps: create index concurrently on public.documents (status, updated_at)\n',
  )
  expect(await documents()).toMatchObject([
    { status: 'PROCESSING' },
    { status: 'PROCESSING' },
    { status: 'PROCESSING' },
  ])
  expect((await client.query(`select to_regnamespace('retoma') as ours`)).rows).toEqual([{ ours: null }])
  const pt = await run([...oneOff, '--dry-run'], portuguese())
  expect(pt.stdout).toMatch(/^documents: linhas que seriam marcadas: 2\n[\s\S]*nada foi alterado: foi só um ensaio\n$/)
  expect(pt.stderr).toMatch(/^aviso: nenhum índice de public.documents/)
})

test('the same without --dry-run marks them, in a database where Retoma is not installed', async () => {
  await client.query('create index on documents (status, updated_at)')
  expect(await answer(oneOff, { folder, env })).toEqual({
    name: 'one-off',
    table: 'documents',
    dry_run: false,
    set: { status: 'FAILED', error_message: 'Processing timeout (watchdog)' },
    marked: 2,
    rows: [1, 2].map(id => ({ key: { id }, signal_at: expect.any(String) })),
    jobs: 0,
    private: false,
    refused: [],
    warnings: [],
  })
  const marked = { status: 'FAILED', error_message: 'Processing timeout (watchdog)' }
  expect(await documents()).toEqual([
    { id: 1, ...marked },
    { id: 2, ...marked },
    { id: 3, status: 'PROCESSING', error_message: null },
  ])
  expect((await client.query(`select to_regnamespace('retoma') as ours`)).rows).toEqual([{ ours: null }])
  const again = await run(oneOff, { folder, env })
  expect(again).toMatchObject({ code: 0, stdout: 'documents: rows marked: 0\n', stderr: '' })
})

test('two that are started at the same time mark each row once, and their counts add up', async () => {
  const ids = Array.from({ length: 5000 }, (_, i) => i + 100)
  await lose(...ids)
  const both = await Promise.all(
    [1, 2].map(() => answer<{ marked: number }>([...oneOff, '--limit', '50'], { folder, env })),
  )
  expect(both.reduce((sum, each) => sum + each.marked, 0)).toBe(5000)
  await client.query('delete from documents where id >= 100')
})

test('now(), null, more values and more conditions can be said', async () => {
  await client.query(
    `insert into syncs values (1, 'A', now() - interval '2 h'), (2, 'B', now() - interval '2 h'), (3, 'C', now() - interval '2 h')`,
  )
  const flags = [
    '--status',
    'state=A',
    '--status',
    'state=B',
    '--signal',
    'seen',
    '--after',
    '1h',
    '--where',
    'id=2',
    '--where',
    'id=3',
  ]
  const found = await answer(['guard', '--table', 'public.syncs', ...flags, '--set', 'seen=now()', '--null', 'state'], {
    folder,
    env,
  })
  expect(found).toMatchObject({ marked: 1, rows: [{ key: { id: 2 } }], set: { seen: 'now()', state: null } })
  const { rows } = await client.query(
    `select id, state, now() - seen < interval '1 min' as fresh from syncs order by id`,
  )
  expect(rows).toEqual([
    { id: 1, state: 'A', fresh: false },
    { id: 2, state: null, fresh: true },
    { id: 3, state: 'C', fresh: false },
  ])
  await client.query('delete from syncs')
})

test.each([
  ['a table that is not there', [...oneOff.with(2, 'document')], 1, /guard_no_table: .* did you mean "documents"\?\n$/],
  [
    'a column that is not there',
    [...oneOff, '--where', 'stauts=x'],
    1,
    /guard_no_column: the table documents has no column "stauts"; did you mean "status"\?\n$/,
  ],
  [
    'a table name that would end a statement',
    [...oneOff.with(2, 'documents; drop table documents')],
    1,
    /guard_no_table/,
  ],
  ['no --set', oneOff.slice(0, 9), 2, /wrong_use: a one-off guard needs --set as well/],
  [
    'flags without --table',
    ['guard', '--after', '10m'],
    2,
    /wrong_use: --after describes a one-off guard and goes with --table/,
  ],
  ['a pair that is none', [...oneOff, '--set', 'note'], 2, /wrong_use: --set is such as column=value, not "note"/],
  ['a duration that is none', oneOff.with(8, '10'), 2, /wrong_use: --after is a duration/],
  [
    'a mark that leaves it lost',
    [...oneOff.slice(0, 9), '--set', 'error_message=x'],
    2,
    /wrong_use: set leaves the row as lost as it was/,
  ],
  ['a name and a table', [...oneOff, 'documents'], 2, /wrong_use: give either the name of a guard or --table/],
  [
    'a guard that is not there',
    ['guard', 'documnts'],
    2,
    /unknown_guard: there is no guard "documnts" here; did you mean "documents"\?/,
  ],
])(/* biome-ignore format: a table */ '%s: the exit code and a sentence say so', async (_, args, code, sentence) => {
  if (args[1] === 'documnts') await run(['migrate'], { folder, env })
  const ended = await run(args, { folder, env })
  expect(ended.stderr).toMatch(sentence)
  expect(ended.code).toBe(code)
})

test('guard NAME runs the one that is configured, and its row counts', async () => {
  await lose(1, 2)
  expect(await answer(['guard', 'documents', '--dry-run'], { folder, env })).toMatchObject({ dry_run: true, marked: 2 })
  expect(await answer(['guard', 'documents'], { folder, env })).toMatchObject({ name: 'documents', marked: 2 })
  const { items } = await answer<{ items: object[] }>(['guard', '--list'], { folder, env })
  expect(items).toMatchObject([
    { name: 'documents', last_marked: 2, total: 2, last_error: null, after_ms: 600_000, every_ms: 1000 },
    { name: 'syncs', kind: 'again', last_sweep_at: null, total: 0 },
  ])
})

test('guard alone runs all of them; one that fails is reported and keeps no other back: exit 1', async () => {
  await lose(1)
  await client.query(`insert into syncs values (7, 'RUNNING', now() - interval '2 minutes')`)
  const { code, stdout } = await run(['guard'], { folder, env })
  expect(code).toBe(0)
  expect(stdout).toMatch(
    /^documents \(documents\): rows marked: 1\n[\s\S]*\nsyncs \(syncs\): rows marked: 1\n {2}state = AGAIN\njobs made: 1\n/,
  )
  await lose(1)
  await client.query('alter table syncs rename to gone')
  const failed = await run(['guard'], portuguese())
  expect(failed.code).toBe(1)
  expect(failed.stdout).toContain('documents (documents): linhas marcadas: 1\n')
  expect(failed.stderr).toContain('erro guard_no_table: syncs: não existe a tabela syncs neste banco; ')
  const listed = await run(['guard', '--list'], { folder, env })
  expect(listed.stdout).toMatch(/^guard +table +at work +lost +sweeps/)
  expect(listed.stdout).toMatch(
    /syncs +syncs +state = RUNNING +seen > 1m +every 1m .* there is no table syncs in this database/,
  )
  const { checks } = await answer<{ checks: { check: string; verdict: string; sentence: string }[] }>(['doctor'], {
    folder,
    env,
  })
  expect(checks.find(each => each.check === 'guards')).toMatchObject({
    verdict: 'warning',
    sentence: expect.stringContaining('the last sweep of syncs failed: there is no table syncs'),
  })
  await client.query('alter table gone rename to syncs')
})

test('up names its guards and keeps them: rows are marked by themselves, and their jobs run', async () => {
  await client.query(`update syncs set state = 'RUNNING'; update retoma.guard set swept_at = null`)
  const up = start(['up'], { folder, env })
  try {
    await up.said('Ctrl-C')
    expect(await up.said('guards:')).toContain('guards: documents, syncs\n')
    await lose(1)
    while ((await documents())[0].status !== 'FAILED');
    while ((await client.query(`select state from syncs`)).rows[0].state !== 'AGAIN');
    const jobs = () =>
      answer<{ items: { state: string; ref: string }[] }>(['jobs', 'list', '--kind', 'again'], { folder, env })
    while (!(await jobs()).items.every(job => job.state === 'succeeded'));
    expect((await jobs()).items.map(job => job.ref)).toContain('7')
  } finally {
    up.tell('SIGTERM')
    await up.ended
  }
  const { items } = await answer<{ items: object[] }>(['guard', '--list'], { folder, env })
  expect(items).toMatchObject([
    { active: true, last_error: null },
    { last_error: null, failing_since: null },
  ])
})

test('a guard that no process has kept for a while is late, and doctor says so; after a week it is forgotten', async () => {
  const check = async () => {
    const { checks } = await answer<{ checks: { check: string; sentence: string }[] }>(['doctor'], { folder, env })
    return checks.find(each => each.check === 'guards')!.sentence
  }
  await client.query(`update retoma.guard set swept_at = now() - interval '5 minutes' where name = 'documents'`)
  expect(await check()).toBe('guards with a late sweep: documents')
  await client.query(`update retoma.guard set swept_at = now() - interval '8 days'`)
  expect(await check()).toBe('there are none')
})

test('a guard that cannot be read ends up with its file and line', async () => {
  const broken = folderWith({ 'retoma.config.ts': config.replace("signal: 'updated_at'", "sginal: 'updated_at'") })
  const { code, stderr } = await run(['guard'], { folder: broken, env })
  expect(code).toBe(1)
  expect(stderr).toContain(
    'retoma.config.ts:4 cannot be used: the definition of the guard "documents" is not usable: there is no option "sginal", did you mean "signal"?',
  )
})
