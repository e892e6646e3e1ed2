/**
 * One row per worker process: it says "I live", never which jobs run. A beat is one small update that touches no index.
 *
 * Invariant: a worker that was declared dead gets no row back from its beat, and must start over under a new id.
 */
import type { Db } from './db.ts'

export interface WorkerFacts {
  id: string
  host: string
  pid: number
  version: string
  queues: Record<string, number>
  kinds: readonly string[]
}

const register = {
  name: 'worker_register',
  text: `
    insert into retoma.worker (id, host, pid, version, queues, kinds, started_at, beat_at)
    values ($1, $2, $3, $4, $5, $6, coalesce($7::timestamptz, now()), coalesce($7::timestamptz, now()))`,
}

export async function registerWorker(db: Db, worker: WorkerFacts, now: Date | null): Promise<void> {
  const { id, host, pid, version, queues, kinds } = worker
  await db.run(register, [id, host, pid, version, JSON.stringify(queues), kinds, now])
}

// The beat also answers what the database says this worker holds (an index of its own, as long as its slots): a lease
// lost to cancel or recover is noticed by a handler that writes nothing, and a claim whose answer was lost is noticed too.
const beat = {
  name: 'worker_beat',
  text: `
    with beaten as (
      update retoma.worker
      set beat_at = coalesce($2::timestamptz, now()), suspected_at = null, memory_bytes = $3
      where id = $1 and dead_at is null
      returning id
    )
    select exists (select from beaten) as alive,
      coalesce((select jsonb_agg(jsonb_build_object('id', id::text, 'attempt', attempt)) from retoma.job where worker_id = $1 and state = 'running'), '[]') as held`,
}

export interface Beat {
  /** false: this worker was declared dead. */
  alive: boolean
  held: Held[]
}

export interface Held {
  id: string
  attempt: number
}

/** One worker may hold an attempt of a job while an older one that lost its lease still runs: the id alone names neither. */
export const nameOf = ({ id, attempt }: Held): string => `${id}/${attempt}`

export async function beatWorker(
  db: Db,
  id: string,
  memoryBytes: number,
  deadlineMs: number,
  now: Date | null,
): Promise<Beat> {
  const [row] = await db.run<Beat>(beat, [id, now, memoryBytes], deadlineMs)
  return row!
}

// Only with nothing left running: a row that vanishes makes what it ran orphans at the next tick, which is right as well.
const leave = { name: 'worker_leave', text: `delete from retoma.worker where id = $1` }

export async function leaveWorker(db: Db, id: string, deadlineMs: number): Promise<void> {
  await db.run(leave, [id], deadlineMs)
}
