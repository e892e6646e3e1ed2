/**
 * Keeps the open event streams of this app, with one loop for all streams. Every 5 s the loop cuts off clients that do not read,
 * authenticates each client again once a minute, and sends a heartbeat event if the last is 15 s old.
 *
 * Invariant: the loop runs only while a stream is open, and an ended stream is not in the set.
 */
import { RetomaError } from '../../errors/errors.ts'
import type { Clock } from '../../lib/clock.ts'
import { type Loop, loop } from '../../lib/loop.ts'

const checkEveryMs = 5000
/** Half of the connections of a server: the others are for requests that end. */
const mostStreams = 5000
const retrySeconds = 10

/** An open event stream. */
export interface OpenStream {
  /** Never throws. */
  check(): void
  /** Ends the stream as if no more events came. */
  end(): void
}

/** The open event streams of an app; `call.streams` of a route. */
export class Streams {
  readonly clock: Clock
  readonly #counted: (more: number) => void
  readonly #most: number
  readonly #open = new Set<OpenStream>()
  #heartbeats: Loop | undefined
  #ended = false

  /** `counted`: called with the change of the number of open streams. */
  constructor(clock: Clock, counted: (more: number) => void = () => {}, most = mostStreams) {
    this.clock = clock
    this.#counted = counted
    this.#most = most
  }

  /** The number of open streams. */
  get size(): number {
    return this.#open.size
  }

  /** Throws `too_many_streams`. */
  refuseMore(): void {
    if (this.#open.size < this.#most) return
    const options = { retryAfterSeconds: retrySeconds }
    throw new RetomaError('too_many_streams', { most: this.#most, seconds: retrySeconds }, options)
  }

  /** Adds an open stream. */
  add(stream: OpenStream): void {
    this.#open.add(stream)
    this.#counted(1)
    this.#heartbeats ??= this.#sendHeartbeat()
    // A stream that opens while the server closes ends at once; the client reconnects.
    if (this.#ended) stream.end()
  }

  /** Removes a stream that has ended. */
  remove(stream: OpenStream): void {
    if (this.#open.delete(stream)) this.#counted(-1)
    if (this.#open.size > 0) return
    void this.#heartbeats?.stop()
    this.#heartbeats = undefined
  }

  /** Ends all streams, and every stream opened later. */
  end(): void {
    this.#ended = true
    for (const stream of [...this.#open]) stream.end()
  }

  #sendHeartbeat(): Loop {
    return loop({
      clock: this.clock,
      every: checkEveryMs,
      tick: async () => {
        for (const stream of [...this.#open]) stream.check()
        return undefined
      },
      failed: () => {},
    })
  }
}
