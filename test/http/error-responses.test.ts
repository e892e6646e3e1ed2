/** Refusals that the other files have no reason to meet: each that a route tells of is seen once (test/support/seen-codes.ts). */

import { expect, onTestFinished, test } from 'vitest'
import { internalsOf } from '../../src/engine/internals.ts'
import { createEngine, defineBatch, defineJob, doNotRetry, seconds } from '../../src/index.ts'
import { until } from '../support/engine.ts'
import { sqlOf } from '../support/events.ts'
import { documents, guardStage, watchdog } from '../support/guards.ts'
import { doorOf, doorWith } from './support.ts'

const draft = defineJob({ kind: 'draft', queue: 'drawer', run: () => 'done' })
const drafts = defineBatch({ name: 'drafts', job: draft })

test('a job for which its queue has no room is 429, and not made', async () => {
  const { ask, engine } = await doorWith([draft], { limits: { drawer: { maxDepth: 1 } } })
  expect((await ask('POST', '/api/v1/jobs', { body: { kind: 'draft' } })).status).toBe(201)
  for (const headers of [{}, { 'idempotency-key': 'k' }])
    expect(await ask('POST', '/api/v1/jobs', { body: { kind: 'draft' }, headers })).toMatchObject({
      status: 429,
      body: { error: { code: 'queue_full' } },
    })
  expect((await engine.jobs.list()).items).toHaveLength(1)
})

test('a text that PostgreSQL cannot keep, and a place that a list does not have, are named', async () => {
  const { ask, engine } = await doorWith([], { batches: [drafts] })
  const { id } = await engine.submit(drafts, [undefined])
  const error = async (...asked: Parameters<typeof ask>) => (await ask(...asked)).body.error
  const body = { name: 'drafts', items: [null], group_key: 'a\u0000' }
  expect(await error('POST', '/api/v1/batches', { body })).toMatchObject({ code: 'bad_option', field: 'group_key' })
  const user = { user: 'a\u0000', role: 'viewer' }
  expect(await error('POST', '/api/v1/tokens', { body: user })).toMatchObject({ code: 'bad_option', field: 'user' })
  expect(await error('GET', `/api/v1/batches/${id}/items?after=NO`)).toMatchObject({
    code: 'bad_option',
    option: 'after',
  })
  expect([(await engine.batches.list()).items.length, (await engine.tokens.list()).items.length]).toEqual([1, 0])
})

test('a batch that is still being made under its Idempotency-Key is 409 after a while, and made once', async () => {
  const t = await doorWith([], { batches: [drafts] })
  const sql = await sqlOf(t)
  const drop = 'drop function if exists public.linger cascade'
  onTestFinished(async () => void (await sql(drop)))
  await sql(`
    create function public.linger() returns trigger language plpgsql as $$ begin perform pg_advisory_xact_lock(71); return new; end $$;
    create trigger linger before insert on retoma.batch for each row execute function public.linger()`)
  const asked = { body: { name: 'drafts', items: [null] }, headers: { 'idempotency-key': 'k' } }
  const [{ pid }] = (await sql<{ pid: number }>('select pg_backend_pid() as pid, pg_advisory_lock(71)')) as [
    { pid: number },
  ]
  const first = t.ask('POST', '/api/v1/batches', asked)
  await until(async () => (await sql('select key from retoma.idempotency')).length === 1)
  let open = true
  const second = t.ask('POST', '/api/v1/batches', asked).finally(() => (open = false))
  while (open) {
    await internalsOf(t.engine).ping()
    await t.clock.advance(seconds(0.1))
  }
  const { status, headers, body } = await second
  expect({ status, code: body.error.code, after: headers.get('retry-after') }).toEqual({
    status: 409,
    code: 'idempotency_running',
    after: '1',
  })
  await sql(`select pg_terminate_backend(${pid})`).catch(() => {})
  const made = await first
  expect(made.status).toBe(201)
  expect(await t.ask('POST', '/api/v1/batches', asked)).toMatchObject({ status: 201, body: made.body })
  expect((await t.engine.batches.list()).items).toHaveLength(1)
})

test('an item whose key another job has by now does not run again', async () => {
  const failing = defineJob({ kind: 'failing', run: () => Promise.reject(doNotRetry(new Error('no'))) })
  const batch = defineBatch({ name: 'failing', job: failing })
  const { ask, engine, run } = await doorWith([], { batches: [batch] })
  const { id } = await engine.submit(batch, [undefined], { each: () => ({ key: 'k', keyUntil: 'final' }) })
  await run()
  const [item] = (await engine.jobs.list()).items
  const holder = await engine.enqueue(failing, undefined, { key: 'k' })
  expect(await ask('POST', `/api/v1/batches/${id}/items/${item!.id}/retry`)).toMatchObject({
    status: 409,
    body: { error: { code: 'key_reserved', holder: holder.id } },
  })
  expect(await engine.job(item!.id)).toMatchObject({ state: 'failed' })
})

test('a guard whose column is not there, whose table is a view, or is not this user’s, is 409 with the code', async () => {
  const { process, sql, url, clock } = await guardStage(`${documents}; create view shown as select * from documents`)
  const guards = [watchdog({ name: 'typo', signal: 'updatd_at' }), watchdog({ name: 'view', table: 'shown' })]
  const error = async (engine: Parameters<typeof doorOf>[0], name: string) => {
    const { status, body } = await doorOf(engine).ask('POST', `/api/v1/guards/${name}/run`)
    return { status, code: body.error.code }
  }
  const engine = await process(guards)
  expect(await error(engine, 'typo')).toEqual({ status: 409, code: 'guard_no_column' })
  expect(await error(engine, 'view')).toEqual({ status: 409, code: 'guard_unfit' })

  const role = `lesser_${globalThis.process.pid}`
  await sql(`create role ${role}; grant usage on schema retoma, public to ${role};
    grant all on all tables in schema retoma to ${role}; grant all on all sequences in schema retoma to ${role}`)
  const lesser = new URL(url)
  lesser.searchParams.set('options', `-c role=${role}`)
  const other = await createEngine({
    databaseUrl: lesser.href,
    guards: [watchdog()],
    clock,
    connections: 2,
    migrate: false,
  })
  const reported = await error(other, 'documents').finally(async () => {
    await other.close()
    await sql(`drop owned by ${role}; drop role ${role}`)
  })
  expect(reported).toEqual({ status: 409, code: 'guard_no_rights' })
})
