/** A database of somebody else's, with a table of documents as an application has one, and engines that guard it. */
import pg from 'pg'
import { onTestFinished } from 'vitest'
import type { Engine } from '../../src/engine/create-engine.ts'
import { createEngine, defineGuard, type Guard, type GuardOptions, minutes } from '../../src/index.ts'
import { type Log, silentLog } from '../../src/lib/logging/log.ts'
import { VirtualClock } from '../../src/testing/index.ts'
import { borrowDatabase } from './engine.ts'

/** Seed 004, word for word. */
export const watchdog = (about: Partial<GuardOptions> = {}): Guard =>
  defineGuard({
    name: 'documents',
    table: 'documents',
    status: { column: 'status', running: 'PROCESSING' },
    signal: 'updated_at',
    after: minutes(10),
    set: { status: 'FAILED', error_message: 'Processing timeout (watchdog)' },
    ...about,
  })

export const documents = `
  create table documents (
    id bigint generated always as identity primary key,
    status text not null,
    updated_at timestamptz,
    created_at timestamptz,
    error_message text
  );
  create index on documents (status, updated_at)`

export async function guardStage(tables = documents) {
  const { url, giveBack } = await borrowDatabase()
  const pool = new pg.Pool({ connectionString: url, max: 4 })
  pool.on('error', () => {})
  const sql = async <Row = Record<string, unknown>>(text: string, values: unknown[] = []): Promise<Row[]> =>
    (await pool.query(text, values)).rows
  const clock = new VirtualClock()
  const engines: Engine[] = []
  onTestFinished(async () => {
    await Promise.all(engines.map(each => each.close()))
    await pool.query('drop schema public cascade; create schema public; drop schema if exists "other schema" cascade')
    await pool.end()
    await giveBack()
  })
  await sql(tables)

  /** A process that has these guards in its code. */
  async function process(guards: Guard[] = [watchdog()], log: Log = silentLog): Promise<Engine> {
    const engine = await createEngine({ databaseUrl: url, guards, clock, connections: 3, log })
    engines.push(engine)
    return engine
  }
  /** Documents whose signal is of the clock's instant; answers their ids. */
  async function put(count = 1, status = 'PROCESSING'): Promise<string[]> {
    const text = `insert into documents (status, updated_at) select $1, $2 from generate_series(1, $3) returning id`
    return (await sql<{ id: string }>(text, [status, clock.now(), count])).map(each => each.id)
  }
  const statuses = async () =>
    Object.fromEntries(
      (await sql<{ id: string; status: string }>(`select id, status from documents order by id`)).map(each => [
        each.id,
        each.status,
      ]),
    )
  return { url, clock, sql, pool, process, put, statuses }
}
