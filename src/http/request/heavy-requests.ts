/**
 * Bounds the number of expensive requests that an app handles at the same time: large bodies, and reads with long PostgreSQL queries.
 * More at once would take no less time in sum, and would leave no processor for the cheap requests, such as GET /health.
 *
 * Invariant: waiting users take turns, so that a user with many requests delays another user by one request at a time. `release` gives
 * back the turn, however the request ends.
 */
import { RetomaError } from '../../errors/errors.ts'
import { coreCount } from '../../lib/process/core-count.ts'
import { withDeadline } from '../../lib/with-deadline.ts'

const mostAtOnce = Math.max(2, coreCount())
const mostWaiting = 200
/** Reached, for example, while the database does not respond. */
const longestWaitMs = 10_000
const retrySeconds = 2
const busy = () => new RetomaError('server_busy', { seconds: retrySeconds }, { retryAfterSeconds: retrySeconds })

export class HeavyRequests {
  #atWork = 0
  #waiting = 0
  /** Waiting requests by user, in the order of the users' turns. */
  readonly #lines = new Map<string, (() => void)[]>()
  readonly #atOnce: number
  readonly #mostWaiting: number

  constructor(atOnce = mostAtOnce, most = mostWaiting) {
    this.#atOnce = atOnce
    this.#mostWaiting = most
  }

  /** For one request. */
  open(user: string): HeavyRequestSlot {
    let has = false
    return {
      take: async () => {
        if (has) return
        await this.#enter(user)
        has = true
      },
      release: () => {
        if (!has) return
        has = false
        this.#leave()
      },
    }
  }

  async #enter(user: string): Promise<void> {
    if (this.#atWork < this.#atOnce) {
      this.#atWork++
      return
    }
    if (this.#waiting >= this.#mostWaiting) throw busy()
    let begin = () => {}
    const begun = new Promise<void>(resolve => {
      begin = resolve
    })
    const line = this.#lines.get(user) ?? []
    line.push(begin)
    this.#lines.set(user, line)
    this.#waiting++
    await withDeadline(begun, longestWaitMs, busy).catch(error => {
      this.#forget(user, begin)
      throw error
    })
  }

  /** Removes a request after its longest wait. If the request got a turn in the same moment, the turn goes to the next request. */
  #forget(user: string, begin: () => void): void {
    const line = this.#lines.get(user)
    const at = line?.indexOf(begin) ?? -1
    if (line === undefined || at < 0) {
      this.#leave()
      return
    }
    line.splice(at, 1)
    if (line.length === 0) this.#lines.delete(user)
    this.#waiting--
  }

  /** The turn goes directly to the next waiting request, so that a new request cannot take the turn in between. */
  #leave(): void {
    const [next] = this.#lines
    if (next === undefined) {
      this.#atWork--
      return
    }
    const [user, line] = next
    this.#lines.delete(user)
    const begin = line.shift()!
    if (line.length > 0) this.#lines.set(user, line)
    this.#waiting--
    begin()
  }
}

export interface HeavyRequestSlot {
  /**
   * Resolves when this request may run; at once if the request already has a turn. Throws `server_busy` if too many requests wait, or if
   * the wait is too long.
   */
  take(): Promise<void>
  release(): void
}
