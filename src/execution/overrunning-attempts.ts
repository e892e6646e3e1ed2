/**
 * Watches handlers that still run after the outcome of their attempt is decided. Each keeps its slot until the handler has ended or is
 * abandoned.
 */
import type { Attempt } from './attempt.ts'

export class OverrunningAttempts {
  readonly #all = new Map<Attempt, Promise<void>>()

  get size(): number {
    return this.#all.size
  }

  /** Resolves when the slot is free. */
  async outlive(attempt: Attempt): Promise<void> {
    const cleared = attempt.cleared()
    this.#all.set(attempt, cleared)
    await cleared
    this.#all.delete(attempt)
  }

  /** Stops watching all handlers. */
  forget(): void {
    for (const attempt of this.#all.keys()) attempt.forget()
  }

  /** Resolves when the current handlers have ended or are abandoned. */
  async over(): Promise<void> {
    await Promise.all(this.#all.values())
  }
}
