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
  /** JSON text: kind to [oldest, newest] version, where that is not [1, 1]. */
  versions?: string
}

const register = {
  name: 'worker_register',
  text: `
    insert into retoma.worker (id, host, pid, version, queues, kinds, versions, started_at, beat_at)
    values ($1, $2, $3, $4, $5, $6, $8, coalesce($7::timestamptz, now()), coalesce($7::timestamptz, now()))`,
}

export async function registerWorker(db: Db, worker: WorkerFacts, now: Date | null): Promise<void> {
  const { id, host, pid, version, queues, kinds, versions = '{}' } = worker
  await db.run(register, [id, host, pid, version, JSON.stringify(queues), kinds, now, versions])
}

// The beat also answers which of the attempts in flight this worker no longer holds, each looked up by its job's id: so a
// lease lost to cancel or recover is noticed by a handler that writes nothing. Not by a look at all it holds: behind
// somebody's long transaction that index is full of entries of the past, and a beat must not be late.
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
      array(
        select f.place::int - 1
        from unnest($4::bigint[], $5::int[]) with ordinality as f (id, attempt, place)
        where (select true from retoma.job j where j.id = f.id and j.attempt = f.attempt and j.worker_id = $1) is null
      ) as lost`,
}

export interface Beat {
  /** false: this worker was declared dead. */
  alive: boolean
  /** Those in flight whose lease is gone. */
  lost: Held[]
}

export interface Held {
  id: string
  attempt: number
}

/** One worker may hold an attempt of a job while an older one that lost its lease still runs: the id alone names neither. */
export const nameOf = ({ id, attempt }: Held): string => `${id}/${attempt}`

export async function beatWorker(
  db: Db,
  worker: { id: string; memoryBytes: number; inFlight: readonly Held[] },
  deadlineMs: number,
  now: Date | null,
): Promise<Beat> {
  const { id, memoryBytes, inFlight } = worker
  const values = [id, now, memoryBytes, inFlight.map(each => each.id), inFlight.map(each => each.attempt)]
  const [row] = await db.run<{ alive: boolean; lost: number[] }>(beat, values, deadlineMs)
  const { alive, lost } = row!
  return { alive, lost: lost.map(place => inFlight[place]!) }
}

const held = {
  name: 'worker_held',
  text: `select id, attempt from retoma.job where worker_id = $1 and state = 'running'`,
}

/** All that the database says this worker holds. */
export const heldBy = (db: Db, id: string): Promise<Held[]> => db.run<Held>(held, [id], 8000)

// What still runs is the watchdog's to give back, at its next tick.
const leave = {
  name: 'worker_leave',
  text: `
    with runs as materialized (
      select exists (select from retoma.job where worker_id = $1 and state = 'running') as busy
    ), gone as (
      delete from retoma.worker where id = $1 and not (select busy from runs)
    )
    update retoma.worker set dead_at = coalesce(dead_at, coalesce($2::timestamptz, now()))
    where id = $1 and (select busy from runs)`,
}

export async function leaveWorker(db: Db, id: string, deadlineMs: number, now: Date | null): Promise<void> {
  await db.run(leave, [id, now], deadlineMs)
}
