/**
 * Attempts whose outcome is decided and whose handler goes on all the same. Each keeps its slot until its handler has ended,
 * or is abandoned.
 */
import type { Attempt } from './attempt.ts'

export class LeftBehind {
  readonly #all = new Map<Attempt, Promise<void>>()

  get size(): number {
    return this.#all.size
  }

  /** Resolves when its place is free. */
  async outlive(attempt: Attempt): Promise<void> {
    const cleared = attempt.cleared()
    this.#all.set(attempt, cleared)
    await cleared
    this.#all.delete(attempt)
  }

  /** Nobody looks after them any more. */
  forget(): void {
    for (const attempt of this.#all.keys()) attempt.forget()
  }

  /** Resolves when those of now are out of the way. */
  async over(): Promise<void> {
    await Promise.all(this.#all.values())
  }
}
