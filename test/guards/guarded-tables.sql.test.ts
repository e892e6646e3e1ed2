/** Guards on tables of users: names, types, rights, indexes, views, partitions, triggers. */
import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type Db, openDb } from '../../src/database/db.ts'
import { sweep } from '../../src/guards/guard-sweep.ts'
import { previewLost } from '../../src/guards/sql/guard-preview.ts'
import { readGuardedTable } from '../../src/guards/sql/guarded-table.ts'
import { markLost } from '../../src/guards/sql/mark-lost-rows.ts'
import { defineGuard, type Guard, type GuardOptions, guardNow, minutes } from '../../src/index.ts'
import { silentLog } from '../../src/lib/logging/log.ts'
import { randomName } from '../../src/lib/random.ts'
import { englishIn } from '../support/portuguese.ts'
import { at, storeForFile } from '../support/store.ts'

const store = storeForFile()

/** Tables of a schema of their own, which goes with the test. */
async function tables(text: string): Promise<void> {
  await store.sql(text)
  onTestFinished(async () => {
    await store.sql('drop schema public cascade; create schema public; grant usage on schema public to public')
    await store.sql('drop schema if exists "odd; schema" cascade')
  })
}

/** A user with few rights, gone with the test; call it after `tables`. */
async function lesser(grants = '') {
  const role = randomName('lesser').replace('-', '_')
  await store.sql(`create role ${role} login; ${grants.replace('to role', `to ${role}`)}`)
  const url = new URL(store.url)
  url.username = role
  const db = openDb({ url: url.href, log: silentLog, connections: 1 })
  onTestFinished(async () => {
    await db.close()
    await store.sql(`drop owned by ${role}; drop role ${role}`)
  })
  return { role, db }
}

const guardOf = (about: Partial<GuardOptions> = {}): Guard =>
  defineGuard({
    name: 'g',
    table: 'docs',
    status: { column: 'status', running: 'PROCESSING' },
    signal: 'at',
    after: minutes(10),
    set: { status: 'FAILED' },
    ...about,
  })

const sweepOf = (guard: Guard, instant = at(601), db = store.db) =>
  sweep({ db, guard, counted: false, atMostMs: 10_000, chunks: 100, now: () => instant })

const docs = `create table docs (id int primary key, status text, at timestamptz)`
const refusal = async (work: Promise<unknown>) => {
  const error = await work.then(
    () => undefined,
    thrown => thrown,
  )
  expect(englishIn(error)).toEqual([])
  return error
}

describe('names and values', () => {
  const evil = `x"; drop table docs; --`

  test('names that would end a statement are names, and values that would are values', async () => {
    const [table, status, signal, note] = [`t${evil}`, `s${evil}`, `at ' ${evil}`, `$1 ${evil}`]
    const q = (name: string) => `"${name.replaceAll('"', '""')}"`
    await tables(`${docs}; create schema "odd; schema";
      create table "odd; schema".${q(table)} (${q(status)} text, ${q(signal)} timestamptz, ${q(note)} text)`)
    await store.sql(`insert into "odd; schema".${q(table)} values ($1, $2, null)`, [`P'; drop table docs; --`, at(0)])
    const { marked, rows } = await sweepOf(
      guardOf({
        table: `"odd; schema".${q(table)}`,
        status: { column: status, running: `P'; drop table docs; --` },
        signal,
        set: { [status]: `F'; drop table docs; --`, [note]: `$2 ' \\' ${evil}` },
        where: { [note]: null },
      }),
    )
    expect(marked).toBe(1)
    expect(rows).toEqual([{ key: { ctid: '(0,1)' }, signalAt: at(0) }])
    expect(await store.sql(`select * from "odd; schema".${q(table)}`)).toEqual([
      { [status]: `F'; drop table docs; --`, [signal]: at(0), [note]: `$2 ' \\' ${evil}` },
    ])
    await store.sql('select from docs')
  })

  test.each([
    ['table', { table: evil.replaceAll('"', '') }, 'guard_no_table'],
    ['status', { status: { column: evil, running: 'PROCESSING' }, set: { at: guardNow } }, 'guard_no_column'],
    ['signal', { signal: 'now() or true' }, 'guard_no_column'],
    ['set', { set: { status: 'FAILED', 'id = 1, status': 'x' } }, 'guard_no_column'],
    ['where', { where: { 'true) or (true': 1 } }, 'guard_no_column'],
  ])('what is no name of that database is refused as one: %s', async (_, about, code) => {
    await tables(docs)
    await expect(sweepOf(guardOf(about as Partial<GuardOptions>))).rejects.toMatchObject({ code })
  })

  test('every type reads its own values, and instants are of the clock that was passed in', async () => {
    await tables(`create type stage as enum ('QUEUED', 'RUNNING', 'DEAD'); create domain label as text;
      create table docs (
        id uuid primary key default '00000000-0000-0000-0000-000000000001',
        status stage not null, at timestamp(3), code int, big bigint, money numeric(12, 2), on_ boolean, info jsonb, more json,
        tags text[], short varchar(5), fix char(4), named label, day date, ended timestamptz, local timestamp, nothing text default 'x'
      )`)
    await store.sql(`insert into docs (status, at) values ('RUNNING', $1)`, ['2030-01-01T12:00:00'])
    const guard = guardOf({
      status: { column: 'status', running: ['QUEUED', 'RUNNING'] },
      set: {
        status: 'DEAD', code: 7, big: 9007199254740993n, money: '12.50', on_: true, info: { why: ["it's", null] }, more: [1],
        tags: ['a b', 'c"d'], short: 'abc', fix: 'ab', named: 'n', day: guardNow, ended: guardNow, local: guardNow, nothing: null,
      },
    }) // biome-ignore format: a list
    expect(await sweepOf(guard)).toMatchObject({
      marked: 1,
      rows: [{ key: { id: '00000000-0000-0000-0000-000000000001' }, signalAt: at(0) }],
    })
    const [row] = await store.sql(`select *, day::text as day, local::text as local, at::text as at from docs`)
    expect(row).toMatchObject({
      status: 'DEAD', code: 7, big: '9007199254740993', money: '12.50', on_: true, info: { why: ["it's", null] }, more: [1],
      tags: ['a b', 'c"d'], short: 'abc', fix: 'ab  ', named: 'n', day: '2030-01-01', ended: at(601),
      local: '2030-01-01 12:10:01', nothing: null, at: '2030-01-01 12:00:00',
    }) // biome-ignore format: a list
  })

  test.each([
    ['integer', 'code', 'abc', 'invalid input syntax for type integer: "abc"'],
    ['too long', 'short', 'abcdef', 'value too long for type character varying(5)'],
    ['json', 'info', 'not json', 'invalid input syntax for type json'],
    ['an enum', 'stage', 'DAED', '"DAED" is no value of "stage" (stage); did you mean "DEAD"?'],
    ['an instant that is none', 'code', guardNow, '"code" is of type integer and cannot be set to now'],
  ])('a value its column does not take is reported, and nothing changes: %s', async (_, column, value, problem) => {
    await tables(`create type stage as enum ('RUNNING', 'DEAD');
      create table docs (status text, at timestamptz, code int check (code > 0), short varchar(5), info jsonb, stage stage)`)
    await store.sql(`insert into docs (status, at) values ('PROCESSING', $1)`, [at(0)])
    const error = await refusal(sweepOf(guardOf({ set: { status: 'FAILED', [column]: value } })))
    expect(error).toMatchObject({ code: 'guard_unfit' })
    expect(error.message).toContain(problem)
    expect(await store.sql(`select status from docs`)).toEqual([{ status: 'PROCESSING' }])
  })

  test('a timestamp without time zone is UTC, or in the zone that is named', async () => {
    await tables(`create table docs (id int primary key, status text, at timestamp)`)
    const put = () =>
      store.sql(
        `insert into docs values (1, 'PROCESSING', '2030-01-01 09:00:00') on conflict (id) do update set status = 'PROCESSING'`,
      )
    await put()
    const paulo = guardOf({ timeZone: 'America/Sao_Paulo' })
    expect(await sweepOf(paulo, at(599))).toMatchObject({ marked: 0 })
    expect(await sweepOf(paulo, at(601))).toMatchObject({ marked: 1, rows: [{ signalAt: at(0) }] })
    await put()
    expect(await sweepOf(guardOf(), at(-3 * 3600 + 599))).toMatchObject({ marked: 0 })
    expect(await sweepOf(guardOf(), at(-3 * 3600 + 601))).toMatchObject({ marked: 1 })
  })

  test('without an instant of a test, the database says what time it is', async () => {
    await tables(docs)
    await store.sql(
      `insert into docs values (1, 'PROCESSING', now() - interval '601 s'), (2, 'PROCESSING', now() - interval '590 s')`,
    )
    expect(
      await sweep({ db: store.db, guard: guardOf(), counted: false, atMostMs: 9000, chunks: 9, now: () => null }),
    ).toMatchObject({
      marked: 1,
      rows: [{ key: { id: 1 } }],
    })
  })

  test('where narrows it: a value, one of several, null', async () => {
    await tables(
      `create table docs (id int primary key, status text, at timestamptz, owner text, resolving_since timestamptz)`,
    )
    await store.sql(
      `insert into docs select i, 'PROCESSING', $1, (array['a', 'b', 'c', null])[i], case i when 2 then $1::timestamptz end from generate_series(1, 4) i`,
      [at(0)],
    )
    const { rows } = await sweepOf(guardOf({ where: { owner: ['a', 'b', null], resolving_since: null } }))
    expect(rows.map(each => each.key.id)).toEqual([1, 4])
  })
})

describe('what is missing is named', () => {
  test('a table, with the nearest there is, in another schema too', async () => {
    await tables(`${docs}; create schema "odd; schema"; create table "odd; schema".invoices (id int)`)
    const error = await refusal(readGuardedTable(store.db, guardOf({ table: 'doc' })))
    expect(error.message).toBe('guard_no_table: there is no table doc in this database; did you mean "docs"?')
    const capital = await refusal(readGuardedTable(store.db, guardOf({ table: 'Docs' })))
    expect(capital.message).toContain('did you mean "docs"?')
    const other = await refusal(readGuardedTable(store.db, guardOf({ table: 'public.invoices' })))
    expect(other.message).toContain('there is: docs, odd; schema.invoices')
  })

  test('a column, with the nearest there is', async () => {
    await tables(
      `create table docs (id int, status text, at timestamptz, dropped text); alter table docs drop column dropped`,
    )
    const error = await refusal(readGuardedTable(store.db, guardOf({ set: { status: 'X', statsu: 'Y' } })))
    expect(error.message).toBe('guard_no_column: the table docs has no column "statsu"; did you mean "status"?')
    const gone = await refusal(readGuardedTable(store.db, guardOf({ where: { dropped: 'x' } })))
    expect(gone.message).toContain('has no column "dropped"; there is: id, status, at')
  })

  test('a right, with the grant that gives it, and then it works', async () => {
    await tables(`create schema "odd; schema"; create table "odd; schema".docs (id int, status text, at timestamptz)`)
    const { role, db } = await lesser()
    const guard = guardOf({ table: '"odd; schema".docs' })
    const rights: string[] = []
    for (;;) {
      const error = await sweepOf(guard, at(601), db).catch(thrown => thrown)
      if (error.code === undefined) break
      expect(error).toMatchObject({ code: 'guard_no_rights', facts: { user: role, table: 'odd; schema.docs' } })
      expect(error.in('pt')).toContain('como dono dela rode: grant ')
      rights.push(error.facts.right)
      await store.sql(error.facts.grant)
    }
    expect(rights).toEqual(['usage (schema)', 'select', 'update (status)'])
  })

  test('an index: a look at the whole table is warned of, with the index that helps', async () => {
    await tables(docs)
    const guard = guardOf()
    const { warnings } = await readGuardedTable(store.db, guard)
    expect(warnings).toHaveLength(1)
    const advice = /this helps: (create index concurrently .*)$/.exec(warnings[0]!.en)![1]!
    expect(advice).toBe('create index concurrently on public.docs (status, at)')
    expect(warnings[0]!.pt).toContain(`isto ajuda: ${advice}`)
    await store.sql(advice)
    expect((await readGuardedTable(store.db, guard)).warnings).toEqual([])
  })

  test.each([
    ['(at)', true],
    ['(at, status)', true],
    ['(status, at)', true],
    [`(at) where status = 'PROCESSING'`, true],
    ['(id, at)', false],
    ['(status, id, at)', false],
    ['(at) where id > 7', false],
    ['((id + 1), at)', false],
  ])('an index %s serves: %s', async (index, serves) => {
    await tables(`create table docs (id int, status text, at timestamptz); create index on docs ${index}`)
    const { warnings } = await readGuardedTable(store.db, guardOf())
    expect(warnings.length === 0).toBe(serves)
  })
})

describe('a table of another sort', () => {
  test.each([
    ['a view', 'create view docs as select * from base', 'it is a view; name the table it reads'],
    ['a materialized view', 'create materialized view docs as select * from base', 'it is a materialized view'],
  ])('%s is refused', async (_, make, problem) => {
    await tables(`create table base (id int, status text, at timestamptz); ${make}`)
    const error = await refusal(readGuardedTable(store.db, guardOf()))
    expect(error).toMatchObject({ code: 'guard_unfit' })
    expect(error.message).toContain(problem)
  })

  test('one of ours is refused, also where the search_path leads to it', async () => {
    const url = new URL(store.url)
    url.searchParams.set('options', '-c search_path=retoma')
    const db = openDb({ url: url.href, log: silentLog, connections: 1 })
    onTestFinished(() => db.close())
    await expect(readGuardedTable(db, guardOf({ table: 'job' }))).rejects.toThrow('it is a table of Retoma')
  })

  test('a partitioned one is guarded whole, also where the mark moves a row to another part', async () => {
    await tables(`create table docs (id int, status text, at timestamptz) partition by list (status);
      create table docs_open partition of docs for values in ('PROCESSING', 'QUEUED');
      create table docs_rest partition of docs default`)
    await store.sql(`insert into docs select i, 'PROCESSING', $1 from generate_series(1, 50) i`, [at(0)])
    await store.sql(`insert into docs select i, 'DONE', $1 from generate_series(51, 100) i`, [at(0)])
    const guard = guardOf({ limit: 7 })
    expect((await readGuardedTable(store.db, guard)).warnings[0]!.en).toContain(
      'create index on public.docs (status, at)',
    )
    expect(await sweepOf(guard)).toMatchObject({ marked: 50, more: false })
    expect(
      await store.sql(`select status, count(*)::int as n, max(id) as last from only docs_rest group by 1 order by 1`),
    ).toEqual([
      { status: 'DONE', n: 50, last: 100 },
      { status: 'FAILED', n: 50, last: 50 },
    ])
  })

  test('one with row security says that rows may be hidden', async () => {
    await tables(`${docs}; create index on docs (at); alter table docs enable row level security`)
    const { db } = await lesser('grant select, update on docs to role')
    expect((await readGuardedTable(db, guardOf())).warnings).toMatchObject([
      { en: expect.stringContaining('row security') },
    ])
    expect((await readGuardedTable(store.db, guardOf())).warnings).toEqual([])
  })

  test('a signal of another type is refused', async () => {
    await tables(`create table docs (id int, status text, at bigint)`)
    await expect(readGuardedTable(store.db, guardOf())).rejects.toThrow(
      'the signal "at" is of type bigint; it must be timestamptz or timestamp',
    )
  })
})

test('a trigger that puts the row back is found out, and the bite is undone, instead of marking it for ever', async () => {
  await tables(`${docs};
    create function back() returns trigger language plpgsql as 'begin new.status := old.status; return new; end';
    create trigger back before update on docs for each row execute function back()`)
  await store.sql(`insert into docs values (1, 'PROCESSING', $1)`, [at(0)])
  const before = await store.sql(`select *, ctid from docs`)
  const { marked, refused, more } = await sweepOf(guardOf())
  expect({ marked, more }).toEqual({ marked: 0, more: false })
  expect(refused).toMatchObject([{ key: { id: 1 }, error: { code: 'guard_unfit' } }])
  expect(englishIn(refused[0]!.error)).toEqual([])
  expect(refused[0]!.error.message).toContain('a row is looked for as before once it was marked')
  expect(await store.sql(`select *, ctid from docs`)).toEqual(before)
})

describe('a row that cannot be marked is passed by and reported, and the others are marked:', () => {
  test.each([
    [
      'a constraint forbids it',
      `alter table docs add check (status <> 'FAILED' or id % 40 <> 7)`,
      'violates check constraint',
    ],
    ['a trigger raises', trigger(`raise exception 'not that one'`), 'not that one'],
    ['a trigger puts it back', trigger('new.status := old.status'), 'a row is looked for as before once it was marked'],
  ])('%s', async (_, made, problem) => {
    await tables(
      `${docs}; insert into docs select i, 'PROCESSING', '${at(0).toISOString()}' from generate_series(1, 100) i; ${made}`,
    )
    const { marked, refused, more } = await sweepOf(guardOf({ limit: 30 }))
    expect({ marked, more }).toEqual({ marked: 97, more: false })
    expect(refused.map(each => each.key.id).sort()).toEqual([47, 7, 87])
    for (const { error } of refused) expect(error.message).toContain(problem)
    expect(await store.sql(`select array_agg(id order by id) as left from docs where status = 'PROCESSING'`)).toEqual([
      { left: [7, 47, 87] },
    ])
  })

  test('where none can be, it ends after a hundred', async () => {
    await tables(`${docs}; insert into docs select i, 'PROCESSING', '${at(0).toISOString()}' from generate_series(1, 500) i;
      alter table docs add check (status <> 'FAILED')`)
    let asked = 0
    const counting: Db = {
      ...store.db,
      transaction: (work, deadlineMs) => {
        asked++
        return store.db.transaction(work, deadlineMs)
      },
    }
    const { marked, refused, more } = await sweepOf(guardOf(), at(601), counting)
    expect({ marked, refused: refused.length, more }).toEqual({ marked: 0, refused: 100, more: false })
    expect(asked).toBeLessThan(110)
  })

  test('where the check itself fails, it ends there', async () => {
    await tables(`${docs}; insert into docs values (1, 'PROCESSING', '${at(0).toISOString()}');
      create function odd(int) returns boolean language plpgsql as $$ begin raise exception 'no look'; end $$;
      alter table docs enable row level security; create policy odd on docs using (odd(id))`)
    const { db } = await lesser('grant select, update on docs to role')
    await expect(sweepOf(guardOf(), at(601), db)).rejects.toThrow('no look')
  })

  function trigger(body: string): string {
    return `create function odd() returns trigger language plpgsql as $$ begin if new.id % 40 = 7 then ${body}; end if; return new; end $$;
      create trigger odd before update on docs for each row execute function odd()`
  }
})

test('a row that moves between the check and the lock is judged as it is then', async () => {
  await tables(`${docs}; insert into docs select i, 'PROCESSING', '${at(0).toISOString()}' from generate_series(1, 3) i;
    create function hold(int) returns boolean language plpgsql as
      'begin if $1 = 3 then perform pg_advisory_xact_lock_shared(4); end if; return true; end';
    alter table docs enable row level security; create policy hold on docs using (hold(id))`)
  const { db } = await lesser('grant select, update on docs to role')
  const theirs = new pg.Client({ connectionString: store.url })
  await theirs.connect()
  onTestFinished(() => theirs.end())
  // The look has seen rows 1 and 2 and stands at row 3; nothing is locked yet.
  await theirs.query('select pg_advisory_lock(4)')
  const going = sweepOf(guardOf(), at(601), db)
  while (
    (
      await store.sql(
        `select 1 from pg_locks where locktype = 'advisory' and not granted and database = (select oid from pg_database where datname = current_database())`,
      )
    ).length === 0
  );
  await theirs.query(`update docs set at = $1 where id = 1`, [at(600)])
  await theirs.query(`update docs set status = 'DONE' where id = 2`)
  await theirs.query('select pg_advisory_unlock(4)')
  expect(await going).toMatchObject({ marked: 1, rows: [{ key: { id: 3 } }] })
  expect(await store.sql(`select id, status from docs order by id`)).toEqual([
    { id: 1, status: 'PROCESSING' },
    { id: 2, status: 'DONE' },
    { id: 3, status: 'FAILED' },
  ])
})

test('a check that takes too long is given up, and says what would help', async () => {
  await tables(`${docs}; insert into docs select i, 'PROCESSING', '${at(0).toISOString()}' from generate_series(1, 2000) i;
    create function slow(text) returns boolean language plpgsql as 'begin perform pg_sleep(0.01); return true; end';
    alter table docs enable row level security; alter table docs force row level security;
    create policy slow on docs using (slow(status))`)
  const { db } = await lesser('grant select, update on docs to role')
  const guard = guardOf()
  const table = await readGuardedTable(db, guard)
  const error = await refusal(previewLost(db, guard, table, 200, at(601)))
  expect(error).toMatchObject({ code: 'guard_slow', retryable: true })
  expect(error.message).toMatch(/could not be read within 0.2 s; no index of public.docs/)
})

describe('the plan of a bite', () => {
  /** With the real settings of the statement, and prepared: `explain` of an unprepared statement knows its values. */
  async function planOf(guard: Guard, change = (text: string) => text): Promise<string> {
    const table = await readGuardedTable(store.db, guard)
    let plan = ''
    const explaining: Db = {
      ...store.db,
      transaction: work =>
        store.db.transaction(client =>
          work({
            async query(text, values = []) {
              if (!text.includes('with lost')) return client.query(change(text), values)
              const literal = (value: unknown) =>
                pg.escapeLiteral(value instanceof Date ? value.toISOString() : `${value}`)
              await client.query(`prepare bite as ${text}`)
              const { rows } = await client.query(`explain execute bite (${values.map(literal).join(', ')})`)
              await client.query('deallocate bite')
              plan = (rows as { 'QUERY PLAN': string }[]).map(row => row['QUERY PLAN']).join('\n')
              return { rows: [] }
            },
          }),
        ),
    }
    const jobsOf = async () => ({ jobs: [], refused: [] })
    const options = { refused: [], limit: guard.limit, name: undefined, atMostMs: 9000 }
    await markLost(explaining, { guard, table, jobsOf, now: at(601) }, options)
    return plan
  }
  const many = `${docs}; insert into docs select i, 'DONE', '${at(0).toISOString()}' from generate_series(1, 20000) i`

  test('an index of running rows alone serves, though the status is a bound value; with a general plan it would not', async () => {
    await tables(`${many}; create index running on docs (at) where status = 'PROCESSING'; analyze docs`)
    expect(await planOf(guardOf())).toContain('Index Scan using running on docs')
    const general = (text: string) => text.replace('force_custom_plan', 'force_generic_plan')
    expect(await planOf(guardOf(), general)).not.toContain('running on docs')
  })

  test('the index that is advised is read in its order, without a sort, also in a table without statistics', async () => {
    await tables(`${many.replace("'DONE'", "'PROCESSING'")}; create index advised on docs (status, at)`)
    const plan = await planOf(guardOf())
    expect(plan).toContain('Index Scan using advised on docs')
    expect(plan).not.toContain('Sort')
    const collecting = (text: string) => text.replace('set local enable_bitmapscan = off; ', '')
    expect(await planOf(guardOf(), collecting)).toContain('Sort')
  })

  test('the rows of a bite are found again by their place, never by reading the table', async () => {
    await tables(`${many.replace("'DONE'", "'PROCESSING'")}; create index on docs (status, at); analyze docs`)
    const plan = await planOf(guardOf())
    expect(plan).toContain('Tid Scan on docs')
    expect(plan).not.toContain('Seq Scan')
  })
})
