/**
 * Answers the heartbeat thread's question about the job of the running code: a function under a name known to both threads. The inspector
 * calls the function while the main thread is stopped in the middle of other code, so the function only reads.
 *
 * The inspector can reach only `globalThis`. So the list of workers belongs to the function there, and is one list for the whole process,
 * even if the process holds several engines or several copies of this package.
 */
export const hookName = 'retoma.current'

/** The job of the running code. */
export interface RunningJob {
  id: string
  attempt: number
  kind: string
  /** Milliseconds until the deadline; negative after the deadline. */
  leftMs: number
}

/** A worker, as the hook asks the worker. */
export interface CurrentJobSource {
  /** True if the worker's engine knows the job of the running code: no job of another engine runs now. */
  readonly knowsJob: boolean
  /** The job of the running code, if the job is a job of this worker; a guess if `knowsJob` is false. */
  current(): RunningJob | undefined
}

interface Hook {
  (): string | undefined
  sources: Set<CurrentJobSource>
}

/** Registers a worker; the returned function removes the worker again. */
export function installCurrentJobHook(source: CurrentJobSource): () => void {
  const { sources } = hook()
  sources.add(source)
  return () => void sources.delete(source)
}

function hook(): Hook {
  const hooks = globalThis as unknown as Record<symbol, Hook | undefined>
  const name = Symbol.for(hookName)
  hooks[name] ??= newHook()
  return hooks[name]
}

function newHook(): Hook {
  const sources = new Set<CurrentJobSource>()
  const answer = () => {
    const all = [...sources]
    const knowing = all.filter(each => each.knowsJob)
    for (const source of knowing.length > 0 ? knowing : all) {
      const job = source.current()
      if (job !== undefined) return JSON.stringify(job)
    }
    return undefined
  }
  return Object.assign(answer, { sources })
}
