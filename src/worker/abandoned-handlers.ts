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
  /** The sum over all queues. */
  slots: number
  /** The worker of the handlers. */
  worker: { readonly id: string; stop(): Promise<void> }
}

export class AbandonedHandlers {
  readonly #options: AbandonedHandlersOptions
  #abandoned = 0
  #isRestartAsked = false
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
    const { log, supervision, worker, slots } = this.#options
    this.#abandoned += more
    if (more === 1)
      log.warn({ worker: worker.id, abandoned: this.#abandoned }, 'a handler that does not end was abandoned')
    if (this.#isRestartAsked || this.#abandoned * 2 < slots) return
    this.#isRestartAsked = true
    const facts = { worker: worker.id, abandoned: this.#abandoned, slots }
    if (supervision.reportFolder === undefined) {
      log.error(facts, 'abandoned handlers fill half of the slots or more: restart this process')
      return
    }
    log.error(facts, 'abandoned handlers fill half of the slots or more: this worker stops and a new worker starts')
    void worker.stop().then(this.#out)
  }
}
