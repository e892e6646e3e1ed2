/** A database that does not answer: each error says whether what was being written may have been committed. */

import pg from 'pg'
import { expect, test } from 'vitest'
import { openDb } from '../../src/database/db.ts'
import { internalsOf, withInternals } from '../../src/engine/internals.ts'
import { createApp } from '../../src/http/index.ts'
import { createEngine, defineJob, isRetomaError } from '../../src/index.ts'
import { silentLog } from '../../src/lib/logging/log.ts'
import { liveEngine } from '../support/engine.ts'
import { englishIn } from '../support/portuguese.ts'
import { storeForFile } from '../support/store.ts'

const store = storeForFile()

async function refusalOf(work: Promise<unknown>) {
  const error = await work.catch((refusal: unknown) => refusal)
  if (!isRetomaError(error)) throw new Error(`not refused: ${String(error)}`)
  // The words of PostgreSQL are its own.
  if (!error.message.includes('terminating connection')) expect(englishIn(error)).toEqual([])
  return error
}

/** Ends the connection of a waiting statement from another connection. */
async function cut(url: string, application = 'retoma'): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const text = `
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid() and application_name = $1 and wait_event = 'PgSleep'`
  while ((await client.query(text, [application])).rows.length === 0);
  await client.end()
}

test('nothing was written where no connection was made', async () => {
  const error = await refusalOf(createEngine({ databaseUrl: 'postgres://ana:secret@127.0.0.1:1/app' }))
  expect(error).toMatchObject({ code: 'database_unreachable', maybeCommitted: false })
  expect(error.in('en')).toMatch(/; nothing was written$/)
})

test('what was being written may have been committed where the link was cut under a statement', async () => {
  const db = openDb({ url: store.url, log: silentLog, connections: 1 })
  const asked = refusalOf(db.run({ name: '', text: 'select pg_sleep(60)' }, []))
  await cut(store.url)
  const error = await asked
  expect(error).toMatchObject({ code: 'database_unreachable', maybeCommitted: true })
  expect(error.in('en')).toMatch(/; what was being written may have been committed$/)
  await db.close()
})

test('a transaction that is cut before its commit has written nothing', async () => {
  const db = openDb({ url: store.url, log: silentLog, connections: 1 })
  const asked = refusalOf(db.transaction(client => client.query('select pg_sleep(60)')))
  await cut(store.url)
  expect(await asked).toMatchObject({ code: 'database_unreachable', maybeCommitted: false })
  await db.close()
})

test('so does a statement that is not answered in time say it, and one that found no connection', async () => {
  const db = openDb({ url: store.url, log: silentLog, connections: 1 })
  const slow = refusalOf(db.run({ name: '', text: 'select pg_sleep(60)' }, [], 200))
  expect(await slow).toMatchObject({ code: 'database_timeout', maybeCommitted: true })
  await db.close()
})

test('over HTTP it is a field of the error', async () => {
  const any = defineJob({ kind: 'any', run: () => 1 })
  const { engine } = await liveEngine([any])
  const list = () => createEngine({ databaseUrl: 'postgres://127.0.0.1:1/app' }) as never
  const away = withInternals({ ...engine, jobs: { ...engine.jobs, list } }, internalsOf(engine))
  const app = createApp(away, { open: true })
  const answer = await app.fetch(new Request('http://127.0.0.1/api/v1/jobs'))
  expect(answer.status).toBe(503)
  expect(await answer.json()).toMatchObject({ error: { code: 'database_unreachable', maybe_committed: false } })
})

test('the version of the schema is public', async () => {
  const { engine } = await liveEngine([])
  const { schemaVersion } = await engine.metrics.stats()
  const { rows } = await engine.query<{ version: number }>('select max(version) as version from retoma.migration')
  expect(schemaVersion).toBe(rows[0]!.version)
  const answer = await createApp(engine, { open: true }).fetch(new Request('http://127.0.0.1/api/v1/stats'))
  expect(await answer.json()).toMatchObject({ schema_version: schemaVersion })
})
