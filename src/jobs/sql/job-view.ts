/** Reads jobs, queues and workers for people and programs; writes and locks nothing. */

import type { Db, Run } from '../../database/db.ts'
import { mark, readableValue, viewValue } from '../../lib/values/value-codec.ts'
import type { QueueLimits } from '../../limits/model/queue-limits.ts'
import type { CostAmount } from '../model/cost.ts'
import type { CrashSuspicion } from '../model/crash-suspicion.ts'
import type { StoredResult } from '../model/job-handle.ts'
import type { JobPolicy } from '../model/policy.ts'
import type { OwnRetention } from '../model/retention.ts'
import type { JobState } from '../model/state.ts'
import { costsOf } from './cost-sums.ts'
import { leasedByWorker, waitingJobs } from './job-floor.ts'

/** The last error of a job, or the reason of a skip. */
export interface JobError {
  type: string
  message: string
  code: string | null
  stack: string | null
  /** The error fingerprint: see `failures` of a batch. */
  cause?: string
}

/** Bytes by field; only the view of the single job has the value. */
export type OmittedFields = Partial<Record<'input' | 'result' | 'progress' | 'error', number>>

/** A job in its current state. `Input` and `Output`: the types of its kind, where the caller has named the job. */
export interface JobView<Input = unknown, Output = unknown> {
  id: string
  queue: string
  kind: string
  /** Version of the kind's code at enqueue. */
  version: number
  key: string | null
  ref: string | null
  batchId: string | null
  groupKey: string | null
  state: JobState
  priority: number
  /** Claims so far, including uncounted attempts. */
  attempt: number
  /** Started attempts, without releases before the start and without deferrals for a provider. */
  starts: number
  failures: number
  crashes: number
  restarts: number
  /** The crash suspicion after a crash or after restarts without progress. null for nearly every job. */
  crashSuspicion: CrashSuspicion | null
  /** Large values that a list leaves out or cuts, with their stored size in bytes; null: none. */
  omitted: OmittedFields | null
  runAt: Date
  /** Options of the enqueue in place of the options of the kind; null: none. */
  policyOverride: Partial<JobPolicy> | null
  /** Retention by final state, of the enqueue or of the kind; null: the retention of the engine. */
  retention: OwnRetention | null
  input: Input
  /** null until the job has succeeded. */
  result: StoredResult<Output> | null
  progress: unknown
  checkpoint: string | null
  error: JobError | null
  worker: string | null
  createdAt: Date
  startedAt: Date | null
  finishedAt: Date | null
}

/** A failed attempt, stored permanently. */
export interface FailureView {
  attempt: number
  type: string
  code: string | null
  message: string
  stack: string | null
  /** Evidence of a crashed child or process. */
  evidence: Readonly<Record<string, unknown>> | null
  worker: string | null
  /** Start of the attempt; null: the attempt had not started. */
  startedAt: Date | null
  /** End of the attempt. */
  at: Date
}

export const jobColumns = `
  id, queue, kind, coalesce(version, 1) as version, key, ref, batch_id as "batchId", group_key as "groupKey", state, claim_rank / 2 as priority, attempt, attempt - uncounted_attempts as starts, failures, crashes,
  restarts, crash_suspicion as "crashSuspicion", null::jsonb as omitted, run_at as "runAt", policy_override as "policyOverride", retention, input, result, progress, checkpoint, error, coalesce(worker_id, last_worker) as worker,
  created_at as "createdAt", started_at as "startedAt", finished_at as "finishedAt"`

/** Maximum number of characters of a value in a list. */
const shown = 2000

// Checks the stored size first: a value that is stored out of line or compressed need not be read to be left out.
const isShort = (value: string, most = shown) =>
  `case when pg_column_size(${value}) > ${most} then false else octet_length(${value}::text) <= ${most} end`
const orNull = (value: string) => `case when ${isShort(value)} then ${value} end`
const sizeUnless = (value: string) => `case when not ${isShort(value)} then pg_column_size(${value}) end`

/**
 * The columns of a list, from rows with `jobColumns`: large values do not leave the database, so a page of 500 jobs has a
 * few megabytes at most.
 */
export const listColumns = (of: string): string => `
  ${of}.id, ${of}.queue, ${of}.kind, ${of}.version, ${of}.key, ${of}.ref, ${of}."batchId", ${of}."groupKey", ${of}.state, ${of}.priority, ${of}.attempt,
  ${of}.starts, ${of}.failures, ${of}.crashes, ${of}.restarts, ${of}."crashSuspicion", ${of}."runAt", ${of}."policyOverride", ${of}.retention,
  ${orNull(`${of}.input`)} as input, ${orNull(`${of}.result`)} as result, ${orNull(`${of}.progress`)} as progress, ${of}.checkpoint,
  case when ${isShort(`${of}.error`)} then ${of}.error else ${of}.error || jsonb_build_object(
    'message', left(${of}.error ->> 'message', ${shown}), 'stack', left(${of}.error ->> 'stack', ${shown})) end as error,
  nullif(jsonb_strip_nulls(jsonb_build_object('input', ${sizeUnless(`${of}.input`)}, 'result', ${sizeUnless(`${of}.result`)},
    'progress', ${sizeUnless(`${of}.progress`)}, 'error', ${sizeUnless(`${of}.error`)})), '{}') as omitted,
  ${of}.worker, ${of}."createdAt", ${of}."startedAt", ${of}."finishedAt"`

const one = { name: 'view_job', text: `select ${jobColumns} from retoma.job where id = $1` }

export async function viewJob(db: Db, id: string): Promise<JobView | undefined> {
  const [row] = await db.run<JobView>(one, [id])
  return row && withValues(row)
}

/** Decodes the stored values of a row of `jobColumns`. */
export const withValues = (row: JobView): JobView => ({
  ...row,
  input: viewValue(row.input),
  result: viewValue(row.result),
  progress: viewValue(row.progress),
})

const asListed = {
  name: 'view_job_listed',
  text: `select ${listColumns('j')} from (select ${jobColumns} from retoma.job where id = $1) j`,
}

/** Reads the job as a list shows it: for callers that need only the state. */
export async function viewJobListed(db: Db, id: string): Promise<JobView | undefined> {
  const [row] = await db.run<JobView>(asListed, [id])
  return row && withValues(row)
}

const asText = {
  name: 'view_job_text',
  text: `select ${jobColumns.replace(
    'input, result, progress',
    'input::text as input, result::text as result, progress::text as progress',
  )} from retoma.job where id = $1`,
}

/**
 * Reads input, result and progress as JSON texts: 8 MB that are only passed on need not be parsed and serialised again.
 */
export async function viewJobText(db: Db, id: string): Promise<JobView | undefined> {
  const [row] = await db.run<JobView>(asText, [id])
  if (row === undefined) return undefined
  const { input, result, progress } = row
  return { ...row, input: readableText(input), result: readableText(result), progress: readableText(progress) }
}

/** Reads the same without input, result and progress that are larger than a list shows: `omitted` has their sizes. */
export async function viewJobShortText(db: Db, id: string): Promise<JobView | undefined> {
  const found = await viewJobListed(db, id)
  if (found === undefined) return undefined
  const text = (value: unknown) => (value === null || value === undefined ? null : JSON.stringify(readableValue(value)))
  return { ...found, input: text(found.input), result: text(found.result), progress: text(found.progress) }
}

/** Only a text with the codec's marker contains values that JSON lacks. */
const readableText = (text: unknown): unknown =>
  typeof text === 'string' && text.includes(mark) ? JSON.stringify(readableValue(viewValue(JSON.parse(text)))) : text

const someStates = {
  name: 'job_states',
  text: `select id::text as id, state from retoma.job where id = any ($1::bigint[])`,
}

export async function statesOf(run: Run, ids: readonly string[]): Promise<Map<string, JobState>> {
  const rows = await run<{ id: string; state: JobState }>(someStates, [ids])
  return new Map(rows.map(row => [row.id, row.state]))
}

const failures = {
  name: 'view_failures',
  text: `
    select attempt, failure_type as type, code, case when place > 100 then left(message, ${shown}) else message end as message,
      case when place <= 100 then stack end as stack, case when place <= 100 then evidence end as evidence, worker, started_at as "startedAt", at
    from (
      select *, row_number() over (order by attempt desc) as place
      from (select * from retoma.failure where job_id = $1 order by attempt desc limit 1000) newest
    ) numbered
    order by attempt`,
}

/** Returns the last 1000 failures; the last 100 with stacks and evidence. */
export const viewFailures = (db: Db, id: string): Promise<FailureView[]> => db.run<FailureView>(failures, [id])

/** A finished step without its value. */
export interface CheckpointView {
  name: string
  attempt: number
  at: Date
  /** Stored size of the value; large values are compressed. */
  bytes: number
  /** For a sleep: its end. */
  sleepUntil: Date | null
}

// Reads only values as short as a sleep's: other values may be 1000 times 1 MB.
const checkpoints = {
  name: 'view_checkpoints',
  text: `
    select name, attempt, at, pg_column_size(value) as bytes,
      case when pg_column_size(value) < 100 and value ->> '$retoma' = 'sleep'
        then to_timestamp((value ->> 'value')::float8 / 1000) end as "sleepUntil"
    from retoma.checkpoint where job_id = $1
    order by at, name
    limit 1000`,
}

/** Returns the first 1000 checkpoints. */
export const viewCheckpoints = (db: Db, id: string): Promise<CheckpointView[]> =>
  db.run<CheckpointView>(checkpoints, [id])

/** A finished step with its value. */
export interface CheckpointValue {
  name: string
  attempt: number
  at: Date
  /** JSON text. */
  value: string
}

const checkpoint = {
  name: 'view_checkpoint',
  text: `select name, attempt, at, value::text as value from retoma.checkpoint where job_id = $1 and name = $2`,
}

/** Reads the value of one step as a JSON text: up to 8 MB that are only passed on. */
export async function viewCheckpoint(db: Db, id: string, name: string): Promise<CheckpointValue | undefined> {
  const [row] = await db.run<CheckpointValue>(checkpoint, [id, name])
  return row && { ...row, value: readableText(row.value) as string }
}

/** A stored event: a job action, a failure or a warning. */
export interface JobEventView {
  type: 'state' | 'action' | 'warning'
  at: Date
  data: Readonly<Record<string, unknown>>
}

const events = {
  name: 'view_job_events',
  text: `
    select type, at,
      case when ${isShort('data', 8 * shown)} then data else jsonb_build_object('omitted', pg_column_size(data)) end as data
    from (select id, type, at, data from retoma.event where job_id = $1 order by id + 0 limit 1000) first
    order by id`,
}

/** Returns the first 1000 events. */
export const viewJobEvents = (db: Db, id: string): Promise<JobEventView[]> => db.run<JobEventView>(events, [id])

const cost = { name: 'view_job_cost', text: costsOf(`retoma.job_cost where job_id = $1`) }

/** Returns the costs of all attempts, by currency. */
export const viewJobCost = (db: Db, id: string): Promise<CostAmount[]> => db.run<CostAmount>(cost, [id])

/** A queue with its limits and the number of its jobs. */
export interface QueueView {
  queue: string
  paused: boolean
  limits: QueueLimits
  ready: number
  scheduled: number
  running: number
  stalled: number
}

// Reads live rows only, each state by its own partial index, from the first live entry on (job-floor.ts); reads no finished
// job.
const queues = {
  name: 'view_queues',
  text: `
    with live as (
      select q.name as queue, j.ready, 0 as running, 0 as stalled, count(*)::int as waiting
      from retoma.queue q cross join generate_series(0, 19) as r (claim_rank)
        cross join lateral (${waitingJobs('q.name', 'run_at <= coalesce($1::timestamptz, now()) as ready')}) j
      group by 1, 2
      union all
      select j.queue, false, count(*)::int, 0, 0
      from retoma.worker w cross join lateral (select queue from retoma.job where ${leasedByWorker('w.id')} offset 0) j
      group by 1
      union all
      select queue, false, 0, count(*)::int, 0 from retoma.job where state = 'stalled' group by 1
    )
    select coalesce(q.name, l.queue) as queue, coalesce(bool_or(q.paused), false) as paused,
      coalesce((array_agg(q.limits))[1], '{}') as limits,
      coalesce(sum(waiting) filter (where ready), 0)::int as ready,
      coalesce(sum(waiting) filter (where not ready), 0)::int as scheduled,
      coalesce(sum(running), 0)::int as running,
      coalesce(sum(stalled), 0)::int as stalled
    from retoma.queue q full join live l on l.queue = q.name
    group by 1 order by 1`,
}

export const viewQueues = (db: Db, now: Date | null): Promise<QueueView[]> => db.run<QueueView>(queues, [now])

/** A worker of any process. */
export interface WorkerView {
  id: string
  host: string
  pid: number
  version: string
  queues: Record<string, number>
  /** By queue: the further jobs that the worker could run, at the last heartbeat. */
  freeSlots: Record<string, number>
  kinds: string[]
  startedAt: Date
  /** Seconds since the last heartbeat, by the database's clock. */
  heartbeatAgeSeconds: number
  suspected: boolean
  dead: boolean
  running: number
  memoryBytes: number | null
  /** The longest delay of the main loop between the last two heartbeats. */
  loopLagMs: number | null
  /** Abandoned handlers. */
  abandoned: number
  /** The longest time an outcome or a checkpoint had waited for the database, at the last heartbeat. */
  writeLagMs: number
  /** A supervisor restarts the process after a crash. */
  supervised: boolean
  /** The blocked loop; null: the event loop turns. */
  blocked: BlockedLoopView | null
}

/** An event loop of a worker that does not turn. */
export interface BlockedLoopView {
  seconds: number
  /** The job on the stack, if known. */
  job: string | null
  attempt: number | null
  /** Innermost first. */
  stack: string | null
}

const workers = {
  name: 'view_workers',
  text: `
    select id, host, pid, version, queues, free_slots as "freeSlots", kinds, started_at as "startedAt",
      greatest(0, extract(epoch from coalesce($1::timestamptz, now()) - heartbeat_at))::float8 as "heartbeatAgeSeconds",
      suspected_at is not null as suspected, dead_at is not null as dead, memory_bytes::float8 as "memoryBytes",
      loop_lag_ms as "loopLagMs", abandoned, write_lag_ms as "writeLagMs", supervised,
      case when blocked_since is not null and dead_at is null then jsonb_build_object(
        'seconds', greatest(0, extract(epoch from coalesce($1::timestamptz, now()) - blocked_since)),
        'job', blocked_job::text, 'attempt', blocked_attempt, 'stack', blocked_stack) end as blocked,
      (select count(*)::int from retoma.job where ${leasedByWorker('w.id')}) as running
    from retoma.worker w
    order by started_at, id`,
}

export const viewWorkers = (db: Db, now: Date | null): Promise<WorkerView[]> => db.run<WorkerView>(workers, [now])

const alive = { name: 'database_ping', text: `select 1 as alive` }

/** Throws if the database does not answer within the deadline. */
export async function pingDatabase(db: Db, deadlineMs: number): Promise<void> {
  await db.run(alive, [], deadlineMs)
}

const instant = { name: 'database_now', text: `select coalesce($1::timestamptz, clock_timestamp()) as now` }

/** The instant of the database; `now` under a virtual clock. */
export async function databaseNow(db: Db, now: Date | null): Promise<Date> {
  return (await db.run<{ now: Date }>(instant, [now]))[0]!.now
}
