/**
 * Workers whose process has ended without a goodbye, by the word of another process on the same machine that can prove it
 * (lib/process-identity.ts). They need not be missed for orphanAfter first: their jobs are orphans from now on, and orphan.ts
 * puts them right.
 *
 * Invariant: only a worker that this caller has named is declared dead, once. A kind that wants its orphans left alone for longer
 * than usual (orphanAfter) still has that time, counted from the last beat.
 */
import type { Death } from '../core/death.ts'
import type { Db } from './db.ts'
import type { WorkerProcess } from './heartbeat.ts'

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

/** Those not known to be dead. */
export const workersOnMachine = (db: Db, machine: string): Promise<MachineWorker[]> =>
  db.run<MachineWorker>(onMachine, [machine], deadlineMs)

// Suspected as well: one that nobody suspected left by itself, and its kinds' orphanAfter would not count.
const declare = {
  name: 'worker_process_gone',
  text: `
    update retoma.worker
    set dead_at = coalesce($1::timestamptz, now()),
      suspected_at = coalesce(suspected_at, coalesce($1::timestamptz, now())),
      death = coalesce(death, $3::jsonb)
    where id = any ($2::text[]) and dead_at is null
    returning id`,
}

/** Answers those that were not declared dead before. */
export async function declareProcessGone(
  db: Db,
  ids: readonly string[],
  death: Omit<Death, 'started'>,
  now: Date | null,
): Promise<string[]> {
  const rows = await db.run<{ id: string }>(declare, [now, ids, JSON.stringify(death)], deadlineMs)
  return rows.map(({ id }) => id)
}
