/**
 * One row per worker process: it says "I live", never which jobs run. A beat is one small update that touches no index.
 *
 * Invariant: a worker that was declared dead gets no row back from its beat, and must start over under a new id.
 */
import type { ProcessIdentity } from '../lib/process-identity.ts'
import type { Db } from './db.ts'

/** Who starts it again when it dies is its supervisor; null: nobody. */
export interface WorkerProcess extends ProcessIdentity {
  supervisor: ProcessIdentity | null
}

export interface WorkerFacts {
  id: string
  host: string
  pid: number
  version: string
  queues: Record<string, number>
  kinds: readonly string[]
  /** By which others on its machine can tell that its process has ended; absent: they cannot. */
  process?: WorkerProcess | undefined
  /** JSON text: kind to [oldest, newest] version, where that is not [1, 1]. */
  versions?: string
}

const register = {
  name: 'worker_register',
  text: `
    insert into retoma.worker (id, host, pid, version, queues, kinds, versions, process, started_at, beat_at)
    values ($1, $2, $3, $4, $5, $6, $8, $9, coalesce($7::timestamptz, now()), coalesce($7::timestamptz, now()))`,
}

export async function registerWorker(db: Db, worker: WorkerFacts, now: Date | null): Promise<void> {
  const { id, host, pid, version, queues, kinds, versions = '{}' } = worker
  const process = worker.process === undefined ? null : JSON.stringify(worker.process)
  await db.run(register, [id, host, pid, version, JSON.stringify(queues), kinds, now, versions, process])
}

/** How a worker's process is; told with every beat. */
export interface Vitals {
  memoryBytes: number
  /** The longest its main loop was late since the last beat. */
  loopLagMs: number
  /** Attempts whose handler runs. */
  inFlightCount: number
  /** Handlers that did not end though they were told to. */
  abandoned: number
  /** Queue to how many more of its jobs it could run now. */
  freeSlots: Readonly<Record<string, number>>
  /** How long the oldest outcome or step has waited for the database. */
  unwrittenMs: number
  /** Somebody starts it again when it dies. */
  supervised: boolean
  /** Its main loop stands still. */
  blocked: Blocked | null
  /** How long ago it came free after it had stood still for a while. */
  unblockedMs: number | null
}

export interface Blocked {
  ms: number
  /** The job on the stack, where it can be told. */
  job: string | null
  attempt: number | null
  /** Innermost first: `spin (jobs.js:12) < run (jobs.js:40)`. */
  stack: string | null
}

const well: Vitals = {
  memoryBytes: 0,
  loopLagMs: 0,
  inFlightCount: 0,
  abandoned: 0,
  freeSlots: {},
  unwrittenMs: 0,
  supervised: false,
  blocked: null,
  unblockedMs: null,
}

/** No row back: the worker was declared dead. Sent by its heart, or by its main loop where it has none. */
export const beat = {
  name: 'worker_beat',
  text: `
    update retoma.worker
    set beat_at = coalesce($2::timestamptz, now()), suspected_at = null,
      memory_bytes = $3, loop_lag_ms = $4, in_flight = $5, abandoned = $6, free_slots = $7, unwritten_ms = $8, supervised = $9,
      blocked_since = case when $10::float8 is not null
        then coalesce(blocked_since, coalesce($2::timestamptz, now()) - make_interval(secs => $10::float8 / 1000)) end,
      blocked_job = $11, blocked_attempt = $12, blocked_stack = $13,
      unblocked_at = coalesce(coalesce($2::timestamptz, now()) - make_interval(secs => $14::float8 / 1000), unblocked_at)
    where id = $1 and dead_at is null
    returning id`,
}

export function beatValues(id: string, given: Partial<Vitals>, now: Date | null): unknown[] {
  const vitals = { ...well, ...given }
  const { blocked } = vitals
  return [
    id,
    now,
    vitals.memoryBytes,
    Math.round(vitals.loopLagMs),
    vitals.inFlightCount,
    vitals.abandoned,
    JSON.stringify(vitals.freeSlots),
    Math.round(vitals.unwrittenMs),
    vitals.supervised,
    blocked?.ms ?? null,
    blocked?.job ?? null,
    blocked?.attempt ?? null,
    blocked?.stack ?? null,
    vitals.unblockedMs,
  ]
}

// Each looked up by its job's id: so a lease lost to cancel or recover is noticed by a handler that writes nothing. Not by
// a look at all it holds: behind somebody's long transaction that index is full of entries of the past.
const lost = {
  name: 'worker_lost',
  text: `
    select f.place::int - 1 as place
    from unnest($2::bigint[], $3::int[]) with ordinality as f (id, attempt, place)
    where (select true from retoma.job j where j.id = f.id and j.attempt = f.attempt and j.worker_id = $1) is null`,
}

export interface Held {
  id: string
  attempt: number
}

/** One worker may hold an attempt of a job while an older one that lost its lease still runs: the id alone names neither. */
export const nameOf = ({ id, attempt }: Held): string => `${id}/${attempt}`

/** Those in flight whose lease is gone. Nothing is asked when nothing is in flight. */
export async function lostBy(db: Db, id: string, inFlight: readonly Held[], deadlineMs: number): Promise<Held[]> {
  if (inFlight.length === 0) return []
  const values = [id, inFlight.map(each => each.id), inFlight.map(each => each.attempt)]
  const rows = await db.run<{ place: number }>(lost, values, deadlineMs)
  return rows.map(({ place }) => inFlight[place]!)
}

export interface Beat {
  /** false: this worker was declared dead. */
  alive: boolean
  /** Those in flight whose lease is gone. */
  lost: Held[]
}

/** A beat of the main loop's own: for a worker without a heart. */
export async function beatWorker(
  db: Db,
  worker: { id: string; inFlight: readonly Held[] } & Partial<Vitals>,
  deadlineMs: number,
  now: Date | null,
): Promise<Beat> {
  const { id, inFlight, ...vitals } = worker
  const rows = await db.run(beat, beatValues(id, vitals, now), deadlineMs)
  return { alive: rows.length > 0, lost: await lostBy(db, id, inFlight, deadlineMs) }
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
