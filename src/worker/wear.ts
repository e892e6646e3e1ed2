/**
 * How worn a worker is: handlers that did not end though they were told to, and hold what they hold for as long as the process
 * lives.
 *
 * Invariant: with half of its slots or more taken by such handlers a worker is worn, once and for good. Where somebody can
 * start another in its place it is told to stop; elsewhere it goes on, and only says so.
 */
import type { Log } from '../lib/log.ts'
import { papersFolder } from '../supervisor/papers.ts'

export interface WearOptions {
  log: Log
  /** The worker's id of now. */
  id: () => string
  /** Of all its queues. */
  slots: number
  stop: () => Promise<void>
}

export class Wear {
  readonly #options: WearOptions
  #abandoned = 0
  #isWorn = false
  #out: () => void = () => {}
  /** Resolves when it was worn and has stopped, for another to take its place. */
  readonly out = new Promise<void>(resolve => {
    this.#out = resolve
  })

  constructor(options: WearOptions) {
    this.#options = options
  }

  get abandoned(): number {
    return this.#abandoned
  }

  /** A handler was given up, or one that was has ended after all. */
  count(more: 1 | -1): void {
    const { log, id, slots, stop } = this.#options
    this.#abandoned += more
    if (more === 1) log.warn({ worker: id(), abandoned: this.#abandoned }, 'a handler that does not end was abandoned')
    if (this.#isWorn || this.#abandoned * 2 < slots) return
    this.#isWorn = true
    const facts = { worker: id(), abandoned: this.#abandoned, slots }
    if (papersFolder() === undefined) {
      log.error(facts, 'half of its slots or more were abandoned: this process should be started anew')
      return
    }
    log.error(facts, 'half of its slots or more were abandoned: this worker stops, and another takes its place')
    void stop().then(this.#out)
  }
}
