/**
 * What was told of something that is erased: its incidents with the jobs that told them, and what the watchdog found of it.
 *
 * Invariant: it goes in the commit in which that is marked or removed; otherwise a crash would leave it behind, and nobody would
 * know of what it was. One that is being told goes too: its attempt finds its lease lost.
 */
import { doomed } from './file-removal.ts'
import { freeGates } from './gate.ts'

export interface Forgotten {
  /** Of incidents `i`. */
  incidents: string
  /** Of what was found, `f`: a later tick would tell that it is over. */
  findings: string
  /** Ids of more jobs that go. */
  also: string
  now: string
}

/** The parts of a statement that remove it; `old` are the jobs that go. */
export const forgetTold = ({ incidents, findings, also, now }: Forgotten): string => `
    gone as (
      delete from retoma.incident i
      where ${incidents}
      returning told_job, cleared_job
    ), found as (
      delete from retoma.finding f
      where ${findings}
    ), old as materialized (
      select id, queue, gated, gate_key, worker_id from retoma.job
      where id = any (array(
        select told_job from gone union all select cleared_job from gone union all ${also}
      ))
      order by id
      for update
    ), removed as (
      delete from retoma.job where id = any (array(select id from old))
    ), ran as (
      select * from old where worker_id is not null
    ), ${freeGates('ran', now)}, kept as (
      delete from retoma.checkpoint where job_id = any (array(select id from old))
    ), files as (
      update retoma.file set ${doomed} where job_id = any (array(select id from old))
    ), events as (
      delete from retoma.event where job_id = any (array(select id from old))
    )`
