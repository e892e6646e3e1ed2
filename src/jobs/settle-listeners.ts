/**
 * Notifies callers of `engine.wait` in this process when a local worker settles their job, so that they need not poll for local
 * changes.
 */
export class SettleListeners {
  readonly #waiting = new Map<string, Set<() => void>>()

  /** Resolves when `settled` is called for the job, or `turn` aborts. */
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

  /** The engine closes: wakes all waiting callers, which then see the closed engine. */
  end(): void {
    for (const job of this.#waiting.keys()) this.settled(job)
  }
}
