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

/** One object per engine, and one per child: the tracker knows only the jobs that run through the tracker. */
export class CurrentJobTracker {
  readonly #tracked = new AsyncLocalStorage<CurrentJob>()
  /** The number of handlers that run with `trackAsync`. */
  #open = 0
  #starting: CurrentJob | undefined

  /** The job of the running code; undefined: no job, or a job that is not tracked after the first `await`. */
  get current(): CurrentJob | undefined {
    return this.#starting ?? this.#tracked.getStore()
  }

  /** Runs the handler of a job. `trackAsync`: the job is known after the first `await` too. Without `trackAsync` no promise is created here. */
  run<T>(job: CurrentJob, trackAsync: boolean, work: () => T | Promise<T>): T | Promise<T> {
    return trackAsync ? this.#trackAsync(job, work) : this.#begin(job, work)
  }

  #begin<T>(job: CurrentJob, work: () => T): T {
    const before = this.#starting
    this.#starting = job
    try {
      return work()
    } finally {
      this.#starting = before
    }
  }

  async #trackAsync<T>(job: CurrentJob, work: () => T | Promise<T>): Promise<T> {
    this.#open++
    try {
      return await this.#tracked.run(job, () => this.#begin(job, work))
    } finally {
      if (--this.#open === 0) this.#tracked.disable()
    }
  }
}
