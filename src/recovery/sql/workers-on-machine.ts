/**
 * Declares workers dead whose process has ended without a sign-off. Another process on the same machine proves the end
 * (lib/process/process-identity.ts). There is no need to wait for `orphanAfter`: the jobs are orphans from now on, and recover-jobs-of-dead-worker.ts recovers the
 * jobs.
 *
 * Invariant: only a worker named by the caller is declared dead, and only once. A kind with a longer `orphanAfter` than the default still
 * has this time, counted from the last heartbeat.
 */

import type { Db } from '../../database/db.ts'
import type { CrashReport } from '../../supervisor/model/crash-report.ts'
import type { WorkerProcess } from '../../worker/sql/lease-heartbeat.ts'

const deadlineMs = 8000

export interface MachineWorker {
  id: string
  process: WorkerProcess
}

const onMachine = {
  name: 'worker_on_machine',
  text: `
    select id, process
    from retoma.worker
    where process ->> 'machine' = $1 and dead_at is null`,
}

/** Returns the workers of the machine that are not declared dead. */
export const workersOnMachine = (db: Db, machine: string): Promise<MachineWorker[]> =>
  db.run<MachineWorker>(onMachine, [machine], deadlineMs)

// `suspected_at` is set too: a dead worker without a suspicion counts as stopped in good order, and `orphanAfter` of its kinds would not
// apply.
const declare = {
  name: 'worker_process_ended',
  text: `
    update retoma.worker
    set dead_at = coalesce($1::timestamptz, now()),
      suspected_at = coalesce(suspected_at, coalesce($1::timestamptz, now())),
      crash_report = coalesce(crash_report, $3::jsonb)
    where id = any ($2::text[]) and dead_at is null
    returning id`,
}

/** Returns the workers that were not declared dead before. */
export async function declareProcessGone(
  db: Db,
  ids: readonly string[],
  crashReport: Omit<CrashReport, 'started'>,
  now: Date | null,
): Promise<string[]> {
  const rows = await db.run<{ id: string }>(declare, [now, ids, JSON.stringify(crashReport)], deadlineMs)
  return rows.map(({ id }) => id)
}
