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

/**
 * The exit code of a worker that wants another in its place: too many of its handlers do not end. It has handed its jobs back:
 * the death is asked for.
 */
export const wornOut = 75

/** The job that ended its process, by the word of that process itself. */
export interface Culprit {
  job: string
  attempt: number
  /** uncaught: an error nobody caught; exit: it called process.exit; timeout: it blocked the loop past its time; memory: it went over the worker's cap. */
  how: 'uncaught' | 'exit' | 'timeout' | 'memory'
  message: string
  stack: string | null
}
