/** The guard over the documents: ten minutes without progress, the cron route, and a guard and an attempt at the same instant. */
import pg from 'pg'
import { minutes, seconds } from 'retoma'
import { expect, onTestFinished, test } from 'vitest'
import { sqlOn } from '../../test/support/application.ts'
import { type Gate, gate, until } from '../../test/support/engine.ts'
import { followJobStates } from './store/processing.ts'
import { cronSecret, documentsDoor } from './test/door.ts'

const timedOut = 'Processing timeout (watchdog)'

/** A document whose picture takes until the gate opens: all that is left of the attempt is its last write. */
async function held() {
  const [begun, open] = [gate(), gate()]
  // A held attempt would hold up the end of a failed test.
  onTestFinished(() => open.open())
  const t = await documentsDoor({
    async draw() {
      begun.open()
      await open.passed
      return null
    },
  })
  const id = await t.send()
  const running = t.run()
  await begun.passed
  return { ...t, id, open, running }
}

const cron = (method = 'POST') => [method, '/api/cron/watchdog-documents', { token: cronSecret }] as const

test('PROCESSING for more than ten minutes is FAILED by the cron route, not one second earlier, and a late finish changes nothing', async () => {
  const t = await held()
  await t.clock.advance(minutes(10))
  expect((await t.ask(...cron())).body).toEqual({ marked: 0, ids: [] })
  expect(await t.read(t.id)).toMatchObject({ status: 'PROCESSING', error_message: null })
  await t.clock.advance(seconds(1))
  const { status, body, headers } = await t.ask(...cron('GET'))
  expect([status, body, headers.get('cache-control')]).toEqual([200, { marked: 1, ids: [t.id] }, 'no-store'])
  const failed = await t.read(t.id)
  expect(failed).toMatchObject({ status: 'FAILED', error_message: timedOut, pages: null })
  t.open.open()
  await t.running
  expect(await t.read(t.id)).toEqual(failed)
  const [job] = (await t.engine.jobs.list({ kind: 'process-document' })).items
  expect(job).toMatchObject({ state: 'failed', failures: 1, error: { code: 'document_over' } })
  expect((await t.ask(...cron())).body).toEqual({ marked: 0, ids: [] })
})

test('the cron route needs CRON_SECRET, as a Bearer or as ?secret=, and a token of a user does not open it', async () => {
  const t = await documentsDoor()
  const path = '/api/cron/watchdog-documents'
  const { token } = await t.engine.tokens.create({ user: 'ana', role: 'admin' })
  expect((await t.ask('GET', `${path}?secret=${cronSecret}`)).status).toBe(200)
  expect((await t.ask('POST', path, { token: cronSecret })).status).toBe(200)
  for (const asked of [{}, { token }, { token: `${cronSecret}x` }]) {
    const refused = await t.ask('GET', path, asked)
    expect([refused.status, refused.body.error.code]).toEqual([401, 'cron_refused'])
  }
})

test('a document whose worker is silent runs again and is not marked, neither by the cron route nor by the sweep; a job that waits shows it as PENDING', async () => {
  const t = await held()
  await t.clock.advance(minutes(11))
  const sql = await sqlOn(t)
  // As a process that died leaves its rows behind.
  const silence = `update retoma.worker set heartbeat_at = heartbeat_at - interval '1 hour' returning id`
  const workers = await sql(silence)
  expect(workers.length).toBeGreaterThan(0)
  expect((await t.ask(...cron())).body).toEqual({ marked: 0, ids: [] })
  await t.guard()
  expect(await t.read(t.id)).toMatchObject({ status: 'PROCESSING', error_message: null })
  // The watchdog has recovered the job, and no worker has claimed the job yet.
  await sql(`update retoma.job set state = 'waiting', worker_id = null where kind = 'process-document'`)
  expect((await t.ask(...cron())).body).toEqual({ marked: 0, ids: [] })
  expect(await followJobStates(t.engine, () => 'ended')).toBe(0)
  expect(await t.read(t.id)).toMatchObject({ status: 'PENDING', error_message: null })
  t.open.open()
  await t.running
})

test('a document in PROCESSING without a running job is FAILED, and an erased document is left alone', async () => {
  const t = await documentsDoor()
  const [ended, never, erased] = [await t.send(), await t.send(), await t.send()]
  await t.engine.query(
    `update documents.documents set status = 'PROCESSING', updated_at = updated_at - interval '11 minutes'`,
  )
  await t.engine.query(`update documents.documents set deleted_at = now() where id = $1`, [erased])
  await t.engine.query(`update documents.documents set job_id = 0 where id = $1`, [ended])
  const { marked, ids } = (await t.ask(...cron())).body
  expect([marked, ids.sort()]).toEqual([2, [ended, never].sort()])
})

test('the same sweep runs by itself, with no outside cron', async () => {
  const t = await held()
  await t.clock.advance(minutes(11))
  await t.guard()
  expect(await t.read(t.id)).toMatchObject({ status: 'FAILED', error_message: timedOut })
  t.open.open()
  await t.running
})

test('a marked document is processed again while its first attempt still hangs; the late attempt changes nothing, and an erasure leaves nothing', async () => {
  const t = await held()
  await t.clock.advance(minutes(11))
  await t.guard()
  expect((await t.ask('POST', `/api/documents/${t.id}/reprocess`)).body).toEqual({ id: t.id, status: 'PENDING' })
  // The first job is gone with its steps, although its attempt still runs.
  expect((await t.engine.jobs.list({ kind: 'process-document' })).items).toMatchObject([
    { state: 'waiting', starts: 0 },
  ])
  t.open.open()
  await t.running
  expect(await t.read(t.id)).toMatchObject({ status: 'DONE', error_message: null, pages: 1 })
  expect((await t.engine.jobs.list({ kind: 'process-document' })).items).toMatchObject([
    { state: 'succeeded', starts: 1 },
  ])
  expect((await t.ask('DELETE', `/api/documents/${t.id}`)).status).toBe(204)
  for (const table of [
    'documents.documents',
    'retoma.job',
    'retoma.checkpoint',
    'retoma.failure',
    'retoma.file',
    'retoma.file_chunk',
  ])
    expect((await t.engine.query(`select from ${table}`)).rowCount, table).toBe(0)
})

/** Lets the guard, or the attempt, wait in the middle of its transaction, with its row locked. */
const waitAt = (status: 'FAILED' | 'DONE') => `
  create function public.hold() returns trigger language plpgsql as $$
  begin
    if new.status = '${status}' then perform pg_advisory_xact_lock(4711); end if;
    return new;
  end $$;
  create trigger hold after update on documents.documents for each row execute function public.hold()`

const waitingFor = (lock: 'advisory' | 'transactionid') => `
  select from pg_locks l join pg_stat_activity a on a.pid = l.pid
  where l.locktype = '${lock}' and not l.granted and a.datname = current_database()`

/** `first` waits with its row locked, until `release`. */
async function interleaved(first: 'FAILED' | 'DONE') {
  const t = await held()
  const sql = await sqlOn(t)
  await sql(waitAt(first))
  onTestFinished(async () => {
    await sql(`drop trigger hold on documents.documents; drop function public.hold()`)
  })
  const lock = new pg.Client({ connectionString: t.databaseUrl })
  await lock.connect()
  onTestFinished(() => lock.end())
  await lock.query(`select pg_advisory_lock(4711)`)
  await t.clock.advance(minutes(11))
  const release: Gate['open'] = () => void lock.query(`select pg_advisory_unlock(4711)`)
  return {
    ...t,
    release,
    waits: (how: Parameters<typeof waitingFor>[0]) => until(async () => (await sql(waitingFor(how))).length > 0),
  }
}

test('the guard marks, and the attempt finishes before the mark is committed: the guard wins, and status and error agree', async () => {
  const t = await interleaved('FAILED')
  const marking = t.ask(...cron())
  await t.waits('advisory')
  t.open.open()
  await t.waits('transactionid')
  t.release()
  expect((await marking).body).toEqual({ marked: 1, ids: [t.id] })
  await t.running
  expect(await t.read(t.id)).toMatchObject({ status: 'FAILED', error_message: timedOut, pages: null, title: null })
})

test('the attempt finishes, and the guard sweeps before the finish is committed: the attempt wins, and status and error agree', async () => {
  const t = await interleaved('DONE')
  t.open.open()
  await t.waits('advisory')
  expect((await t.ask(...cron())).body).toEqual({ marked: 0, ids: [] })
  t.release()
  await t.running
  expect(await t.read(t.id)).toMatchObject({ status: 'DONE', error_message: null, pages: 1 })
  expect((await t.ask(...cron())).body).toEqual({ marked: 0, ids: [] })
})
