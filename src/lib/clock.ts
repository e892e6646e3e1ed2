/**
 * The source of time. All code that waits or needs the instant takes a Clock; no other code reads the time.
 *
 * The database's clock decides every comparison (P7), so `instant()` is null on the system clock, and statements then use now(). A test's
 * virtual clock returns an instant, and every statement uses this instant instead of now().
 */
export interface Clock {
  /** The instant to pass to SQL as $now; null means "the database's own clock". */
  instant(): Date | null
  /** The clock of this process, for logs and for instants given by people. The value may jump if the computer's time is set. */
  now(): Date
  /** Milliseconds that only grow, for measuring and for deadlines. Setting the computer's time does not change the value. */
  elapsed(): number
  /** Resolves after `ms`, or as soon as the signal aborts; never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /**
   * Tells the clock that a caller waits for `work`, and returns `work`. A virtual clock does not advance meanwhile.
   * Default: `work` itself.
   */
  during?<T>(work: Promise<T>): Promise<T>
}

const longestNap = 2 ** 31 - 1

export const systemClock: Clock = {
  instant: () => null,
  now: () => new Date(),
  elapsed: () => performance.now(),
  sleep: (ms, signal) =>
    new Promise(resolve => {
      if (signal?.aborted) return resolve()
      const done = () => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', done)
        resolve()
      }
      const due = performance.now() + ms
      // setTimeout fires at once for a wait beyond 2^31 ms, so a longer wait is slept in parts. setTimeout also fires up to 2 ms early,
      // so a caller that sleeps until an instant would wake before the instant.
      const nap = () => {
        const left = Math.max(Math.ceil(due - performance.now()), 0)
        timer = setTimeout(() => (performance.now() < due ? nap() : done()), Math.min(left, longestNap))
      }
      let timer: NodeJS.Timeout | undefined
      nap()
      signal?.addEventListener('abort', done, { once: true })
    }),
}

/** Milliseconds that only grow, equal for all threads of a process; `elapsed` starts at 0 in each thread. */
export const sharedElapsed = (): number => {
  const [seconds, nanoseconds] = process.hrtime()
  return seconds * 1000 + nanoseconds / 1e6
}
