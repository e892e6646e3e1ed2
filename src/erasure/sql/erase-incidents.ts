/**
 * Deletes the incidents and findings about an erased job or batch, and the jobs that send their notices.
 *
 * Invariant: runs in the same transaction as the erase; otherwise a crash would leave incidents without a known subject.
 * A notice that is being sent is deleted too; its attempt then finds its lease lost.
 */
import { removeRowsOf } from '../../jobs/sql/prune-jobs.ts'
import { releaseLimits } from '../../jobs/sql/transition.ts'

export interface ErasedIncidents {
  /** Condition on incidents `i`. */
  incidents: string
  /** Condition on findings `f`: a later tick would otherwise report their end. */
  findings: string
  /** Query for the ids of further jobs to delete. */
  also: string
  now: string
}

/** The parts of the statement; `old` has the deleted jobs. */
export const eraseIncidents = ({ incidents, findings, also, now }: ErasedIncidents): string => `
    gone as (
      delete from retoma.incident i
      where ${incidents}
      returning opened_job, resolved_job
    ), found as (
      delete from retoma.finding f
      where ${findings}
    ), old as materialized (
      select id, queue, limited, limit_key, worker_id from retoma.job
      where id = any (array(
        select opened_job from gone union all select resolved_job from gone union all ${also}
      ))
      order by id
      for update
    ), removed as (
      delete from retoma.job where id = any (array(select id from old))
    ), ran as (
      select * from old where worker_id is not null
    ), ${releaseLimits('ran', now)}, ${removeRowsOf('old')}`
