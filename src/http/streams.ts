/**
 * The streams of events that are open in this app, with one heart for all of them: every five seconds it cuts off who does
 * not read, asks once a minute whether each may still be here, and beats where the last beat is fifteen seconds old.
 *
 * Invariant: nothing ticks while no stream is open, and a stream that has ended is not among them.
 */
import { RetomaError } from '../errors.ts'
import type { Clock } from '../lib/clock.ts'
import { type Loop, loop } from '../lib/service.ts'

const lookEveryMs = 5000
/** Half of the connections that a server has: the others are for requests that end. */
const mostStreams = 5000
const retrySeconds = 10

export interface OpenStream {
  /** Never throws. */
  look(): void
  /** Ends it as if nothing more came. */
  end(): void
}

export class Streams {
  readonly clock: Clock
  readonly #counted: (more: number) => void
  readonly #most: number
  readonly #open = new Set<OpenStream>()
  #heart: Loop | undefined
  #ended = false

  /** `counted`: hears how many more are open, or fewer. */
  constructor(clock: Clock, counted: (more: number) => void = () => {}, most = mostStreams) {
    this.clock = clock
    this.#counted = counted
    this.#most = most
  }

  /** How many are open. */
  get size(): number {
    return this.#open.size
  }

  /** Throws too_many_streams. */
  refuseMore(): void {
    if (this.#open.size < this.#most) return
    const options = { retryAfterSeconds: retrySeconds }
    throw new RetomaError('too_many_streams', { most: this.#most, seconds: retrySeconds }, options)
  }

  add(stream: OpenStream): void {
    this.#open.add(stream)
    this.#counted(1)
    this.#heart ??= this.#beat()
    // One that comes while the server closes is told to come back.
    if (this.#ended) stream.end()
  }

  remove(stream: OpenStream): void {
    if (this.#open.delete(stream)) this.#counted(-1)
    if (this.#open.size > 0) return
    void this.#heart?.stop()
    this.#heart = undefined
  }

  /** All of them, and whichever still come. */
  end(): void {
    this.#ended = true
    for (const stream of [...this.#open]) stream.end()
  }

  #beat(): Loop {
    return loop({
      clock: this.clock,
      every: lookEveryMs,
      tick: async () => {
        for (const stream of [...this.#open]) stream.look()
        return undefined
      },
      failed: () => {},
    })
  }
}
