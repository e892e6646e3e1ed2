/**
 * Where time comes from. Everything that waits or asks for the instant takes a Clock; nothing else reads one.
 *
 * The database's clock decides every comparison (P7), so `instant()` is null on the system clock: statements then use
 * their own now(). A test's virtual clock answers an instant, and every statement uses that instead.
 */
export interface Clock {
  /** The instant to pass to SQL as $now; null means "the database's own clock". */
  instant(): Date | null
  /** This process's clock, for logs and for instants people name; it may jump when the computer's time is set. */
  now(): Date
  /** Milliseconds that only grow, for measuring and for deadlines: no setting of the computer's time moves them. */
  elapsed(): number
  /** Resolves after `ms`, or as soon as the signal aborts; never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /** Says that this is being waited for, and answers it: a clock that a test moves does not move meanwhile. */
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
      // setTimeout turns a wait beyond 2^31 ms into none, so a longer one is slept in parts; and it fires up to two
      // milliseconds early, so that whoever slept until an instant would find it not yet come.
      const nap = () => {
        const left = Math.max(Math.ceil(due - performance.now()), 0)
        timer = setTimeout(() => (performance.now() < due ? nap() : done()), Math.min(left, longestNap))
      }
      let timer: NodeJS.Timeout | undefined
      nap()
      signal?.addEventListener('abort', done, { once: true })
    }),
}

/** Milliseconds that only grow and that all threads of a process agree on; `elapsed` begins anew in each. */
export const sharedElapsed = (): number => {
  const [seconds, nanoseconds] = process.hrtime()
  return seconds * 1000 + nanoseconds / 1e6
}
