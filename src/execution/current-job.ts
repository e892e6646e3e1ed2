/**
 * Tells the job of the code running now: for the stack of a blocked loop, for an uncaught error, for `process.exit`.
 *
 * The first synchronous part of a handler is known at no cost. Code after the first `await` is tracked only on request: with
 * AsyncLocalStorage, Node 20 tracks every promise of the process, which slows down quick jobs. Without a request no promise is tracked.
 */
import { AsyncLocalStorage } from 'node:async_hooks'

export interface CurrentJob {
  readonly id: string
  readonly attempt: number
  readonly kind: string
}

const followed = new AsyncLocalStorage<CurrentJob>()
let open = 0
let starting: CurrentJob | undefined

/** Runs the handler of a job. `follow`: the job is known after the first `await` too. Without `follow` no promise is created here. */
export function runAsJob<T>(job: CurrentJob, follow: boolean, work: () => T | Promise<T>): T | Promise<T> {
  return follow ? runFollowed(job, work) : begin(job, work)
}

function begin<T>(job: CurrentJob, work: () => T): T {
  const before = starting
  starting = job
  try {
    return work()
  } finally {
    starting = before
  }
}

async function runFollowed<T>(job: CurrentJob, work: () => T | Promise<T>): Promise<T> {
  open++
  try {
    return await followed.run(job, () => begin(job, work))
  } finally {
    if (--open === 0) followed.disable()
  }
}

export const currentJob = (): CurrentJob | undefined => starting ?? followed.getStore()
