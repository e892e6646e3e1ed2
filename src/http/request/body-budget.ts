/**
 * Bounds the bytes of all request bodies that an app keeps at the same time. A body counts as it arrives, not by its declared length: a
 * slow client occupies only the bytes it has sent. Bodies of at most `uncounted` bytes do not count: the number of connections bounds
 * them.
 *
 * Invariant: `release` gives back all bytes that `take` added, however the request ends.
 */
import { RetomaError } from '../../errors/errors.ts'

const mostBytes = 64 * 1024 * 1024
export const uncounted = 16 * 1024
const retrySeconds = 2

export class BodyBudget {
  #bytes = 0
  readonly #most: number

  constructor(most = mostBytes) {
    this.#most = most
  }

  /** The bytes of all bodies now. */
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

/** The part of the budget that one request uses. */
export interface BodyShare {
  /** Throws `server_busy` if all bodies together would exceed the budget. */
  take(bytes: number): void
  release(): void
}
