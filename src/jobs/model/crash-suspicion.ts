/**
 * Defines the crash suspicion of a job that may have crashed its process, or whose process keeps dying. The statements in
 * recovery/sql/recover-jobs-of-dead-worker.ts and recovery/sql/recover-jobs-of-crashed-worker.ts change the suspicion; claiming/suspect-jobs.ts runs the job accordingly.
 */
export interface CrashSuspicion {
  /** 0: normal; 1: apart from the other suspected jobs of the same crash; 2: alone. */
  level: 0 | 1 | 2
  /** The dead worker whose crash the job is suspected of. */
  crashedWorker: string | null
  /** Unexplained crashes in a row with the job in flight, not yet counted as crashes of the job. */
  unexplainedCrashes: number
  /** Restarts in a row without progress. */
  restartsWithoutProgress: number
}

const noSuspicion: CrashSuspicion = { level: 0, crashedWorker: null, unexplainedCrashes: 0, restartsWithoutProgress: 0 }

/** Fills in the missing fields of the stored jsonb, which is null for nearly every job. */
export const crashSuspicionOf = (kept: Partial<CrashSuspicion> | null): CrashSuspicion =>
  kept === null ? noSuspicion : { ...noSuspicion, ...kept }

/** After so many restarts in a row without progress the job runs alone, and after so many the job is stalled. */
export const aloneAfter = 3
export const stalledAfter = 10
