/**
 * Builds the crash report of a worker process from the observations of the supervisor; the row of a dead worker stores the
 * report. `how` is `asked` (a signal to stop, or killed from outside), `named` (a known job ended the process) or `unexplained`: then
 * every started attempt is suspected.
 */
export interface CrashReport {
  how: 'asked' | 'named' | 'unexplained'
  /**
   * The process received a stop signal or asked for its restart, and no job ended it: every job of the process is released, whatever its
   * `onOrphan` says. Absent: false.
   */
  stopRequested?: boolean
  /** In words: SIGSEGV, exit code 1, memory over 512 MB … */
  why: string
  signal: string | null
  exitCode: number | null
  memoryBytes: number | null
  /** The kernel counted an out-of-memory kill in the meantime. */
  oom: boolean
  /** Attempts that had started, as `id/attempt`; some may have ended in the meantime. */
  started: readonly string[]
  suspectedJob: SuspectedJob | null
  /** Last lines of the stderr of the process. */
  stderr: string | null
}

/** The job that ended the process, named by the process itself. */
export interface SuspectedJob {
  job: string
  attempt: number
  /**
   * uncaught: an error without a catch; exit: a call of process.exit; timeout: a blocked loop past the deadline; memory: more
   * than the memory limit of the worker.
   */
  how: 'uncaught' | 'exit' | 'timeout' | 'memory'
  message: string
  stack: string | null
}

/** Observations of a supervisor about an ended process. */
export interface CrashObservation {
  signal: string | null
  exitCode: number | null
  /** The supervisor or another process sent the process a signal to stop. */
  askedToStop: boolean
  memoryBytes: number | null
  /** The process ended itself because of its memory. */
  overMemory?: boolean
  /** The process ended itself because its main loop was blocked by an unknown handler. */
  hung?: boolean
  /** Number of out-of-memory kills by the kernel, shortly before the end and after the end; null: unknown. */
  oomBefore: number | null
  oomAfter: number | null
  started: readonly string[]
  suspectedJob: SuspectedJob | null
  stderr: string | null
}

/**
 * Exit code of a process that asks for a restart because too many abandoned handlers run in the process. The process has released
 * its jobs, and the jobs have no fault.
 */
export const restartCode = 75

/** Signals from outside: no code inside a process ends the process with these signals. */
const fromOutside = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGKILL']

export function makeCrashReport(seen: CrashObservation): CrashReport {
  const { signal, exitCode, memoryBytes, started, suspectedJob, stderr } = seen
  // A kill from outside uses SIGKILL, and so does an out-of-memory kill of the kernel.
  const oom = signal === 'SIGKILL' && (seen.oomAfter ?? 0) > (seen.oomBefore ?? seen.oomAfter ?? 0)
  const how = howOf(seen, oom)
  return {
    how,
    stopRequested: how === 'asked' && (seen.askedToStop || exitCode === restartCode),
    why: whyOf(seen, oom),
    signal,
    exitCode,
    memoryBytes,
    oom,
    started,
    suspectedJob,
    stderr,
  }
}

/** A known suspected job wins over every other observation, even over a stop request. */
function howOf(
  { signal, exitCode, askedToStop, overMemory, hung, suspectedJob }: CrashObservation,
  oom: boolean,
): CrashReport['how'] {
  if (suspectedJob !== null) return 'named'
  if (overMemory || hung) return 'unexplained'
  if (askedToStop || exitCode === restartCode) return 'asked'
  return signal !== null && fromOutside.includes(signal) && !oom ? 'asked' : 'unexplained'
}

const ends: Record<SuspectedJob['how'], string> = {
  uncaught: 'threw an error that nobody caught',
  exit: 'called process.exit',
  timeout: 'blocked the process past its time',
  memory: 'took more memory than the worker may have',
}

function whyOf({ signal, exitCode, overMemory, hung, suspectedJob }: CrashObservation, oom: boolean): string {
  const cause = [
    oom && ', out of memory',
    overMemory && ', over the memory it may have',
    hung && ', its main loop blocked',
  ]
  const end = `${signal ?? `exit code ${exitCode}`}${cause.find(Boolean) || ''}`
  if (suspectedJob === null) return end
  return `${end}: job ${suspectedJob.job} ${ends[suspectedJob.how]}: ${suspectedJob.message}`
}
