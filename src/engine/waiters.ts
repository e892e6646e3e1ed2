/**
 * Who waits for which job in this process: a worker here that settles a job tells them at once, so `engine.wait` need
 * not poll for what happens next door to it.
 */
export class Waiters {
  readonly #waiting = new Map<string, Set<() => void>>()

  /** Resolves when `settled` is called for the job, or the turn is over. */
  next(job: string, turn: AbortSignal): Promise<void> {
    return new Promise(resolve => {
      const waiting = this.#waiting.get(job) ?? new Set()
      this.#waiting.set(job, waiting.add(resolve))
      turn.addEventListener('abort', () => {
        resolve()
        waiting.delete(resolve)
        if (waiting.size === 0 && this.#waiting.get(job) === waiting) this.#waiting.delete(job)
      })
    })
  }

  settled(job: string): void {
    for (const resolve of this.#waiting.get(job) ?? []) resolve()
  }

  /** The engine closes: whoever waits looks up and finds that. */
  end(): void {
    for (const job of this.#waiting.keys()) this.settled(job)
  }
}
