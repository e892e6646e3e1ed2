/**
 * The bytes of all request bodies that an app holds at the same time. A body counts as it arrives, not by its declared length:
 * a slow client holds only what the client has sent. Bodies of at most `uncounted` bytes do not count: the number of connections
 * bounds them.
 *
 * Invariant: what `take` added is given back by `release`, whatever becomes of the request.
 */
import { RetomaError } from '../errors.ts'

const mostBytes = 64 * 1024 * 1024
export const uncounted = 16 * 1024
const retrySeconds = 2

export class BodyBudget {
  #bytes = 0
  readonly #most: number

  constructor(most = mostBytes) {
    this.#most = most
  }

  /** What all bodies hold now. */
  get bytes(): number {
    return this.#bytes
  }

  open(): BodyShare {
    let held = 0
    return {
      take: bytes => {
        if (this.#bytes + bytes > this.#most)
          throw new RetomaError('server_busy', { seconds: retrySeconds }, { retryAfterSeconds: retrySeconds })
        held += bytes
        this.#bytes += bytes
      },
      release: () => {
        this.#bytes -= held
        held = 0
      },
    }
  }
}

/** One request's part of the budget. */
export interface BodyShare {
  /** Throws server_busy when all bodies together would exceed the budget. */
  take(bytes: number): void
  release(): void
}
