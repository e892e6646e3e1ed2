/**
 * Waits for a handler after its signal aborted. After the stop grace the attempt ends without the handler. Unless the whole worker stops,
 * the handler has 10 s after the signal; then the handler is abandoned, and other jobs get the slot.
 */
import { abandonAfter } from '../jobs/model/policy.ts'
import type { Clock } from '../lib/clock.ts'

export interface StopGraceOptions {
  clock: Clock
  graceMs: number
  stopping: boolean
  /** Ends the attempt without the handler. */
  leave: () => void
  abandon: () => void
}

export class StopGrace {
  readonly #over = new AbortController()

  constructor(options: StopGraceOptions) {
    void this.#wait(options)
  }

  async #wait({ clock, graceMs, stopping, leave, abandon }: StopGraceOptions): Promise<void> {
    const { signal } = this.#over
    const grace = stopping ? graceMs : Math.min(graceMs, abandonAfter)
    await clock.sleep(grace, signal)
    if (signal.aborted) return
    leave()
    if (stopping) return
    await clock.sleep(abandonAfter - grace, signal)
    if (!signal.aborted) abandon()
  }

  /** The handler has ended, or no caller waits for the handler any more. */
  end(): void {
    this.#over.abort('over')
  }
}
