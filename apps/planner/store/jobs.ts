/**
 * Stores the list of the planner's jobs, and reads the jobs in the words of the seed (the view planner.planner_job).
 *
 * Invariant: a row exists together with its job: both are inserted in one transaction, and a row is removed only after its job. A hidden row is a
 * job that is being erased.
 */
import type { Engine, JobTransaction } from 'retoma'
import { clockOf } from 'retoma/http'

export interface PlannerJob {
  id: string
  kind: 'generate-schedule' | 'extract-demand' | 'generate-thumbnail'
  status: 'PENDING' | 'RUNNING' | 'COMPLETED' | 'FAILED'
  created_at: Date
  started_at: Date | null
  completed_at: Date | null
  last_heartbeat_at: Date | null
  error_message: string | null
  progress: Record<string, unknown> | null
  result: unknown
}

const insert = `
  insert into planner.job (job_id, kind, created_by, created_at)
  values ($1, $2, $3, coalesce($4::timestamptz, now()))`

export async function insertJob(
  home: Engine,
  tx: JobTransaction,
  { id, kind, by }: { id: string; kind: PlannerJob['kind']; by: string },
): Promise<void> {
  await tx.query(insert, [id, kind, by, clockOf(home).instant()])
}

const listed = `
  v.id::text as id, v.kind, v.status, v.created_at, v.started_at, v.completed_at, v.last_heartbeat_at, v.error_message, v.progress`

const one = `select ${listed}, v.result from planner.planner_job v where v.id = $1`

/** undefined: there is no such job. */
export async function readJob(home: Pick<Engine, 'query'>, id: string): Promise<PlannerJob | undefined> {
  return (await home.query<PlannerJob>(one, [id])).rows[0]
}

const list = `
  select ${listed} from planner.planner_job v
  where v.id < $1 and ($2::text is null or v.status = $2) and ($3::text is null or v.kind = $3)
  order by v.id desc limit $4`

export type ListedJob = Omit<PlannerJob, 'result'>

/** The newest first. */
export async function listJobs(
  home: Pick<Engine, 'query'>,
  { after, status, kind, limit }: { after: string; status: string | null; kind: string | null; limit: number },
): Promise<ListedJob[]> {
  return (await home.query<ListedJob>(list, [after, status, kind, limit])).rows
}

const hide = `
  update planner.job set deleted_at = coalesce($2::timestamptz, now())
  where job_id = $1 and deleted_at is null
  returning job_id::text as id, kind`

export type HiddenJob = Pick<PlannerJob, 'id' | 'kind'>

/** Hides the job from all readers. undefined: there is no such job, or another request erases the job. */
export async function hideJob(home: Engine, id: string): Promise<HiddenJob | undefined> {
  return (await home.query<HiddenJob>(hide, [id, clockOf(home).instant()])).rows[0]
}

const hidden = `
  select job_id::text as id, kind from planner.job where deleted_at is not null order by job_id limit 100`

export async function readHiddenJobs(home: Pick<Engine, 'query'>): Promise<HiddenJob[]> {
  return (await home.query<HiddenJob>(hidden)).rows
}

const remove = `delete from planner.job where job_id = $1 and deleted_at is not null`

/** Removes the row of a hidden job, after its job is gone. */
export async function removeHiddenJob(home: Pick<Engine, 'query'>, id: string): Promise<void> {
  await home.query(remove, [id])
}

// Follows the job: the janitor removes the job after its retention. The oldest jobs go first, so a look at the oldest is enough.
const removeOld = `
  with oldest as materialized (
    select job_id from planner.job where deleted_at is null order by job_id limit 1000
  )
  delete from planner.job p
  where p.job_id = any (array(
    select o.job_id from oldest o where (select j.id from retoma.job j where j.id = any (array[o.job_id])) is null
  ))`

/** Removes the rows of old jobs that the janitor has removed. Returns the number, at most 1,000. */
export async function removeOldJobs(home: Pick<Engine, 'query'>): Promise<number> {
  return (await home.query(removeOld)).rowCount ?? 0
}
