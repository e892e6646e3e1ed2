/**
 * How a worker's process died, as its supervisor saw it: what the row of a dead worker keeps. A death is *asked for* (it was
 * told to stop, or killed from outside), *named* (one job did it, and it is known which) or *unexplained*: then those that
 * had started are suspects.
 */
export interface Death {
  how: 'asked' | 'named' | 'unexplained'
  /** In words: SIGSEGV, exit code 1, memory over 512 MB … */
  why: string
  signal: string | null
  exitCode: number | null
  memoryBytes: number | null
  /** The kernel counted an out-of-memory kill meanwhile. */
  oom: boolean
  /** Attempts that had started, as `id/attempt`; some may have ended since. */
  started: readonly string[]
  culprit: Culprit | null
  /** The end of what it wrote to stderr. */
  stderr: string | null
}

/** The job that ended its process, by the word of that process itself. */
export interface Culprit {
  job: string
  attempt: number
  /** uncaught: an error nobody caught; exit: it called process.exit; timeout: it blocked the loop past its time; memory: it went over the worker's cap. */
  how: 'uncaught' | 'exit' | 'timeout' | 'memory'
  message: string
  stack: string | null
}

/** What a supervisor saw of a process that has ended. */
export interface Seen {
  signal: string | null
  exitCode: number | null
  /** It was told to stop, by its supervisor or by anybody else. */
  askedToStop: boolean
  memoryBytes: number | null
  /** It ended itself because of the memory it had. */
  overMemory?: boolean
  /** It ended itself because its main loop was blocked, and nobody could tell by whom. */
  hung?: boolean
  /** How often the kernel had killed for want of memory, a moment before the end and after it; null: not to be told. */
  oomBefore: number | null
  oomAfter: number | null
  started: readonly string[]
  culprit: Culprit | null
  stderr: string | null
}

/**
 * What a process exits with that wants to be started again: too many of its handlers do not end. It has handed its jobs back, and
 * there is nothing wrong with them.
 */
export const restartCode = 75

/** Sent from outside: nothing that runs in a process ends it by these. */
const fromOutside = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGKILL']

export function makeDeath(seen: Seen): Death {
  const { signal, exitCode, memoryBytes, started, culprit, stderr } = seen
  // Whoever kills from outside uses SIGKILL, and so does the kernel for want of memory.
  const oom = signal === 'SIGKILL' && (seen.oomAfter ?? 0) > (seen.oomBefore ?? seen.oomAfter ?? 0)
  return {
    how: howOf(seen, oom),
    why: whyOf(seen, oom),
    signal,
    exitCode,
    memoryBytes,
    oom,
    started,
    culprit,
    stderr,
  }
}

/** A job that is known to have ended its process has, whatever else was asked of that. */
function howOf({ signal, exitCode, askedToStop, overMemory, hung, culprit }: Seen, oom: boolean): Death['how'] {
  if (culprit !== null) return 'named'
  if (overMemory || hung) return 'unexplained'
  if (askedToStop || exitCode === restartCode) return 'asked'
  return signal !== null && fromOutside.includes(signal) && !oom ? 'asked' : 'unexplained'
}

const ends: Record<Culprit['how'], string> = {
  uncaught: 'threw an error that nobody caught',
  exit: 'called process.exit',
  timeout: 'blocked the process past its time',
  memory: 'took more memory than the worker may have',
}

function whyOf({ signal, exitCode, overMemory, hung, culprit }: Seen, oom: boolean): string {
  const cause = [
    oom && ', out of memory',
    overMemory && ', over the memory it may have',
    hung && ', its main loop blocked',
  ]
  const end = `${signal ?? `exit code ${exitCode}`}${cause.find(Boolean) || ''}`
  if (culprit === null) return end
  return `${end}: job ${culprit.job} ${ends[culprit.how]}: ${culprit.message}`
}
