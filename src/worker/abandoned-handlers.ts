/**
 * Counts abandoned handlers: handlers that did not end after their signal and occupy memory and connections as long as the process runs.
 *
 * Invariant: once abandoned handlers take half of the slots or more, the worker needs a restart, once and for good. Under a supervisor the
 * worker stops, and the supervisor starts another; elsewhere the worker continues and only logs the need.
 */
import type { Log } from '../lib/logging/log.ts'
import type { Supervision } from '../supervisor/supervision.ts'

export interface AbandonedHandlersOptions {
  log: Log
  supervision: Supervision
  /** The current worker id. */
  id: () => string
  /** The sum over all queues. */
  slots: number
  stop: () => Promise<void>
}

export class AbandonedHandlers {
  readonly #options: AbandonedHandlersOptions
  #abandoned = 0
  #isWorn = false
  #out: () => void = () => {}
  /** Resolves when the worker has stopped because of abandoned handlers. */
  readonly out = new Promise<void>(resolve => {
    this.#out = resolve
  })

  constructor(options: AbandonedHandlersOptions) {
    this.#options = options
  }

  get abandoned(): number {
    return this.#abandoned
  }

  /** A handler was abandoned (1), or an abandoned handler has ended (-1). */
  count(more: 1 | -1): void {
    const { log, supervision, id, slots, stop } = this.#options
    this.#abandoned += more
    if (more === 1) log.warn({ worker: id(), abandoned: this.#abandoned }, 'a handler that does not end was abandoned')
    if (this.#isWorn || this.#abandoned * 2 < slots) return
    this.#isWorn = true
    const facts = { worker: id(), abandoned: this.#abandoned, slots }
    if (supervision.reportFolder === undefined) {
      log.error(facts, 'half of its slots or more were abandoned: this process should be started anew')
      return
    }
    log.error(facts, 'half of its slots or more were abandoned: this worker stops, and another takes its place')
    void stop().then(this.#out)
  }
}
