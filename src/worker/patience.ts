/**
 * How long a handler that was told to end is waited for. First its grace: then its attempt goes on without it. Then, unless
 * the whole worker stops, until ten seconds after it was told: then it is abandoned, and others take its place.
 */
import { abandonAfter } from '../core/policy.ts'
import type { Clock } from '../lib/clock.ts'

export interface PatienceOptions {
  clock: Clock
  graceMs: number
  stopping: boolean
  /** The attempt goes on without its handler. */
  leave: () => void
  abandon: () => void
}

export class Patience {
  readonly #over = new AbortController()

  constructor(options: PatienceOptions) {
    void this.#wait(options)
  }

  async #wait({ clock, graceMs, stopping, leave, abandon }: PatienceOptions): Promise<void> {
    const { signal } = this.#over
    const grace = stopping ? graceMs : Math.min(graceMs, abandonAfter)
    await clock.sleep(grace, signal)
    if (signal.aborted) return
    leave()
    if (stopping) return
    await clock.sleep(abandonAfter - grace, signal)
    if (!signal.aborted) abandon()
  }

  /** It has ended, or nobody asks any more. */
  end(): void {
    this.#over.abort('over')
  }
}
