/**
 * Renews the leases of a worker by a heartbeat: a row per worker process, which proves that the process lives. No job has a lease time of
 * its own, so one small update that touches no index renews all leases of the worker. Also registers and removes workers, and finds lost
 * leases.
 *
 * Invariant: the heartbeat of a worker declared dead returns no row; the worker must start a new incarnation.
 */

import type { Db } from '../../database/db.ts'
import type { ProcessIdentity } from '../../lib/process/process-identity.ts'

/** `supervisor`: the process that restarts a crashed worker; null: none. */
export interface WorkerProcess extends ProcessIdentity {
  supervisor: ProcessIdentity | null
}

export interface NewWorker {
  id: string
  host: string
  pid: number
  version: string
  queues: Record<string, number>
  kinds: readonly string[]
  /** Lets other processes on the same machine detect the end of the process; absent: detection is not possible. */
  process?: WorkerProcess | undefined
  /** JSON text: kind to [oldest, newest] version, for kinds other than [1, 1]. */
  versions?: string
}

const register = {
  name: 'worker_register',
  text: `
    insert into retoma.worker (id, host, pid, version, queues, kinds, versions, process, started_at, heartbeat_at)
    values ($1, $2, $3, $4, $5, $6, $8, $9, coalesce($7::timestamptz, now()), coalesce($7::timestamptz, now()))`,
}

export async function registerWorker(db: Db, worker: NewWorker, now: Date | null): Promise<void> {
  const { id, host, pid, version, queues, kinds, versions = '{}' } = worker
  const process = worker.process === undefined ? null : JSON.stringify(worker.process)
  await db.run(register, [id, host, pid, version, JSON.stringify(queues), kinds, now, versions, process])
}

/** The condition of the worker process, sent with every heartbeat. */
export interface HeartbeatPayload {
  memoryBytes: number
  /** The longest delay of the main loop since the last heartbeat. */
  loopLagMs: number
  /** Attempts with a running handler. */
  inFlightCount: number
  /** Abandoned handlers. */
  abandoned: number
  /** Free slots by queue. */
  freeSlots: Readonly<Record<string, number>>
  /** The longest time an outcome or a checkpoint has waited for the database. */
  writeLagMs: number
  /** A supervisor restarts the process after a crash. */
  supervised: boolean
  /** The blocked loop; null: the event loop turns. */
  blocked: Blocked | null
  /** Milliseconds since the end of the last long block of the event loop. */
  unblockedMs: number | null
}

export interface Blocked {
  ms: number
  /** The job on the stack, if known. */
  job: string | null
  attempt: number | null
  /** Innermost first: `spin (jobs.js:12) < run (jobs.js:40)`. */
  stack: string | null
}

const well: HeartbeatPayload = {
  memoryBytes: 0,
  loopLagMs: 0,
  inFlightCount: 0,
  abandoned: 0,
  freeSlots: {},
  writeLagMs: 0,
  supervised: false,
  blocked: null,
  unblockedMs: null,
}

/**
 * Writes a heartbeat; returns no row if the worker was declared dead. The heartbeat thread sends the statement, or the
 * main loop if the worker has no heartbeat thread.
 */
export const heartbeat = {
  name: 'worker_heartbeat',
  text: `
    update retoma.worker
    set heartbeat_at = coalesce($2::timestamptz, now()), suspected_at = null,
      memory_bytes = $3, loop_lag_ms = $4, in_flight = $5, abandoned = $6, free_slots = $7, write_lag_ms = $8, supervised = $9,
      blocked_since = case when $10::float8 is not null
        then coalesce(blocked_since, coalesce($2::timestamptz, now()) - make_interval(secs => $10::float8 / 1000)) end,
      blocked_job = $11, blocked_attempt = $12, blocked_stack = $13,
      unblocked_at = coalesce(coalesce($2::timestamptz, now()) - make_interval(secs => $14::float8 / 1000), unblocked_at)
    where id = $1 and dead_at is null
    returning id`,
}

export function heartbeatValues(id: string, given: Partial<HeartbeatPayload>, now: Date | null): unknown[] {
  const measurements = { ...well, ...given }
  const { blocked } = measurements
  return [
    id,
    now,
    measurements.memoryBytes,
    Math.round(measurements.loopLagMs),
    measurements.inFlightCount,
    measurements.abandoned,
    JSON.stringify(measurements.freeSlots),
    Math.round(measurements.writeLagMs),
    measurements.supervised,
    blocked?.ms ?? null,
    blocked?.job ?? null,
    blocked?.attempt ?? null,
    blocked?.stack ?? null,
    measurements.unblockedMs,
  ]
}

// Looks up each attempt by its job id, so a handler that writes nothing also notices a lease lost to a cancel or a
// recovery. A query for all jobs of the worker would be slow: behind a long transaction that index is full of dead
// entries.
const lost = {
  name: 'worker_lost_leases',
  text: `
    select f.place::int - 1 as place
    from unnest($2::bigint[], $3::int[]) with ordinality as f (id, attempt, place)
    where (select true from retoma.job j where j.id = f.id and j.attempt = f.attempt and j.worker_id = $1) is null`,
}

export interface HeldAttempt {
  id: string
  attempt: number
}

/**
 * Names an attempt. A worker may run an attempt while an older attempt of the same job, with its lease lost, still runs,
 * so the job id alone is ambiguous.
 */
export const nameOf = ({ id, attempt }: HeldAttempt): string => `${id}/${attempt}`

/** Returns the attempts in flight whose lease is lost. Sends no query if no attempt is in flight. */
export async function lostBy(
  db: Db,
  id: string,
  inFlight: readonly HeldAttempt[],
  deadlineMs: number,
): Promise<HeldAttempt[]> {
  if (inFlight.length === 0) return []
  const values = [id, inFlight.map(each => each.id), inFlight.map(each => each.attempt)]
  const rows = await db.run<{ place: number }>(lost, values, deadlineMs)
  return rows.map(({ place }) => inFlight[place]!)
}

export interface HeartbeatResult {
  /** false: the worker was declared dead. */
  alive: boolean
  /** Attempts in flight whose lease is lost. */
  lost: HeldAttempt[]
}

/** Sends a heartbeat from the main loop, for a worker without a heartbeat thread. */
export async function writeHeartbeat(
  db: Db,
  worker: { id: string; inFlight: readonly HeldAttempt[] } & Partial<HeartbeatPayload>,
  deadlineMs: number,
  now: Date | null,
): Promise<HeartbeatResult> {
  const { id, inFlight, ...measurements } = worker
  const rows = await db.run(heartbeat, heartbeatValues(id, measurements, now), deadlineMs)
  return { alive: rows.length > 0, lost: await lostBy(db, id, inFlight, deadlineMs) }
}

const held = {
  name: 'worker_leases',
  text: `select id, attempt from retoma.job where worker_id = $1 and state = 'running'`,
}

/** Returns all attempts of the worker according to the database. */
export const attemptsHeldBy = (db: Db, id: string): Promise<HeldAttempt[]> => db.run<HeldAttempt>(held, [id], 8000)

// If jobs of the worker still run, or a claim may still be committed, the row stays as dead with `left_at`, and the watchdog releases
// the jobs at its next check.
const leave = {
  name: 'worker_end',
  text: `
    with runs as materialized (
      select $3 or exists (select from retoma.job where worker_id = $1 and state = 'running') as busy
    ), gone as (
      delete from retoma.worker where id = $1 and not (select busy from runs)
    )
    update retoma.worker set dead_at = coalesce(dead_at, coalesce($2::timestamptz, now())), left_at = coalesce($2::timestamptz, now())
    where id = $1 and (select busy from runs)`,
}

/** Removes the row of a worker that stops. `claims`: whether the database has answered all claims of the worker. */
export async function leaveWorker(
  db: Db,
  id: string,
  deadlineMs: number,
  now: Date | null,
  claims: 'claims answered' | 'claims in doubt' = 'claims answered',
): Promise<void> {
  await db.run(leave, [id, now, claims === 'claims in doubt'], deadlineMs)
}
