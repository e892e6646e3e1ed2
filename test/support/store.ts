/**
 * The store on a real PostgreSQL, for the tests of one file: one migrated database, emptied after each test, and the
 * instants those tests pass in.
 */
import pg from 'pg'
import { afterAll, afterEach, beforeAll } from 'vitest'
import { type Db, openDb } from '../../src/database/db.ts'
import type { NewJob } from '../../src/enqueue/enqueue.sql.ts'
import type { JobState } from '../../src/jobs/model/state.ts'
import { silentLog } from '../../src/lib/logging/log.ts'
import type { TestDatabase } from '../../src/testing/index.ts'
import { registerWorker } from '../../src/worker/sql/lease-heartbeat.ts'
import { migratedDatabase } from './database.ts'

/** Noon plus so many seconds, in the year the virtual clock begins. */
export const at = (seconds: number): Date => new Date(Date.UTC(2030, 0, 1, 12, 0, 0) + seconds * 1000)

/** The first sweep from then on, of a kind that is swept every five minutes. */
export function sweepFrom(seconds: number): number {
  const every = 295_000
  return (Math.ceil(at(seconds).getTime() / every) * every - at(0).getTime()) / 1000
}

/** Everything a test may have written; a new table belongs in here. */
export const emptyTables = `
  do $$ begin
    if to_regclass('classifier.run') is not null then
      delete from classifier.purchase;
      delete from classifier.document;
      delete from classifier.run;
      delete from classifier.project;
    end if;
    if to_regclass('planner.job') is not null then
      delete from planner.job;
    end if;
    if to_regclass('quotes.quote') is not null then
      delete from quotes.turn;
      delete from quotes.fipe;
      delete from quotes.reading;
      delete from quotes.quote;
      delete from quotes.batch;
    end if;
    if to_regclass('documents.documents') is not null then
      delete from documents.documents;
      delete from documents.pluggy_key;
      delete from documents.bank_sync;
      delete from documents.bank_transaction;
      delete from documents.bank_account;
      delete from documents.bank_item;
      delete from documents.bank_user;
    end if;
    if to_regclass('snaps.snap') is not null then
      delete from snaps.snap;
    end if;
  end $$;
  delete from retoma.file;
  delete from retoma.token;
  delete from retoma.event;
  update retoma.event_pruned set seq = 0;
  delete from retoma.limit_counter;
  delete from retoma.job_floor;
  delete from retoma.provider;
  delete from retoma.rate_window;
  delete from retoma.checkpoint;
  delete from retoma.failure;
  delete from retoma.job_cost;
  delete from retoma.batch_cost;
  delete from retoma.batch_count;
  delete from retoma.batch_chunk;
  delete from retoma.batch;
  delete from retoma.job;
  delete from retoma.worker;
  delete from retoma.finding;
  delete from retoma.incident;
  delete from retoma.periodic_lease where name = 'notify';
  delete from retoma.job_count_sample;
  delete from retoma.metric;
  delete from retoma.queue_history;
  update retoma.periodic_lease set at = '-infinity', since = '-infinity';
  delete from retoma.schedule;
  delete from retoma.guard;
  delete from retoma.idempotency;
  delete from retoma.kind;
  delete from retoma.queue`

interface JobRow {
  id: string
  state: JobState
  attempt: number
  worker_id: string | null
  last_worker: string | null
  failures: number
  restarts: number
  claim_rank: number
  run_at: Date
  finished_at: Date | null
  unique_until: string | null
  error: { type: string; message: string; code: string | null } | null
  result: unknown
}

export interface Store {
  readonly db: Db
  readonly url: string
  /** A second pool, as another process has one. */
  another(): Db
  sql<Row = Record<string, unknown>>(text: string, values?: unknown[]): Promise<Row[]>
  job(id: string): Promise<JobRow>
  failures(id: string): Promise<{ attempt: number; failure_type: string; worker: string; code: string | null }[]>
  /** A job put into a state by hand; running ones are attempt 1 of worker `w`. */
  put(state: JobState, given?: { kind?: string; worker?: string; attempt?: number; queue?: string }): Promise<string>
  putMany(count: number, state: JobState, given?: { kind?: string; worker?: string; queue?: string }): Promise<string[]>
  worker(id: string, beat?: Date): Promise<void>
}

export function storeForFile(): Store {
  let database: TestDatabase
  let db: Db
  let raw: pg.Pool
  let others: Db[] = []

  beforeAll(async () => {
    database = await migratedDatabase()
    db = openDb({ url: database.url, log: silentLog })
    raw = new pg.Pool({ connectionString: database.url })
    raw.on('error', () => {})
  })
  afterEach(async () => {
    await Promise.all(others.map(each => each.close()))
    others = []
    await raw.query(emptyTables)
  })
  afterAll(async () => {
    await raw?.end()
    await db?.close()
    await database?.drop()
  })

  const store: Store = {
    get db() {
      return db
    },
    get url() {
      return database.url
    },
    another() {
      const another = openDb({ url: database.url, log: silentLog, connections: 2 })
      others.push(another)
      return another
    },
    sql: async <Row>(text: string, values: unknown[] = []) => (await raw.query(text, values)).rows as Row[],
    async job(id) {
      const [row] = await store.sql<JobRow>(`select * from retoma.job where id = $1`, [id])
      return row!
    },
    failures: id =>
      store.sql(`select attempt, failure_type, worker, code from retoma.failure where job_id = $1 order by attempt`, [
        id,
      ]),
    async put(state, given = {}) {
      const [id] = await store.putMany(1, state, given)
      if (given.attempt !== undefined) {
        await store.sql(`update retoma.job set attempt = $2 where id = $1`, [id, given.attempt])
      }
      return id!
    },
    async putMany(count, state, given = {}) {
      const final = ['succeeded', 'failed', 'skipped', 'cancelled'].includes(state)
      // As whoever enqueues does: every queue has a row, and what runs has started.
      const rows = await store.sql<{ id: string }>(
        `with queue as (insert into retoma.queue (name) values ($2) on conflict do nothing)
         insert into retoma.job (queue, kind, state, claim_rank, run_at, input, attempt, worker_id, started_at, created_at, finished_at)
         select $2, $3, $4, 9, $5, '{}', $6, $7, case when $7::text is not null then $5::timestamptz end, $5, $8
         from generate_series(1, $1) returning id`,
        [
          count,
          given.queue ?? 'q',
          given.kind ?? 'k',
          state,
          at(0),
          state === 'waiting' ? 0 : 1,
          state === 'running' ? (given.worker ?? 'w') : null,
          final ? at(0) : null,
        ],
      )
      return rows.map(row => row.id)
    },
    worker: (id, beat = at(0)) =>
      registerWorker(db, { id, host: 'h', pid: 1, version: '0', queues: { q: 1 }, kinds: ['k'] }, beat),
  }
  return store
}

export function newJob(given: Partial<NewJob> = {}): NewJob {
  return {
    queue: 'q',
    kind: 'k',
    key: null,
    keyHold: given.key == null ? null : 'day',
    ref: null,
    priority: 4,
    runAt: null,
    delayMs: 0,
    input: '{}',
    groupKey: null,
    ...given,
  }
}
