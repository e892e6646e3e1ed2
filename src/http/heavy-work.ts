/**
 * Bounds how many expensive requests an app works on at the same time: large bodies, and reads that make PostgreSQL work for long. More of
 * them at once take no less time in sum, and leave no processor to the cheap requests, such as GET /health.
 *
 * Invariant: of those who wait, each user has one turn after the other, so one user with many requests delays another user by one
 * request at a time; a turn that was taken is given back by `release`, whatever becomes of the request.
 */
import { availableParallelism } from 'node:os'
import { RetomaError } from '../errors.ts'
import { withDeadline } from '../lib/deadline.ts'

const mostAtOnce = Math.max(2, availableParallelism())
const mostWaiting = 200
/** For example while the database answers nobody. */
const longestWaitMs = 10_000
const retrySeconds = 2
const busy = () => new RetomaError('server_busy', { seconds: retrySeconds }, { retryAfterSeconds: retrySeconds })

export class HeavyWork {
  #atWork = 0
  #waiting = 0
  /** By user, in the order in which the users are next. */
  readonly #lines = new Map<string, (() => void)[]>()
  readonly #atOnce: number
  readonly #mostWaiting: number

  constructor(atOnce = mostAtOnce, most = mostWaiting) {
    this.#atOnce = atOnce
    this.#mostWaiting = most
  }

  /** For one request. */
  open(user: string): HeavyTurn {
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

  /** Of one who has waited for too long. One who was handed a place in the same moment gives it on. */
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

  /** The place is handed to the next, so nobody who comes meanwhile takes it. */
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

export interface HeavyTurn {
  /** Resolves when this request may work; at once for one that has its turn. Throws server_busy when too many wait, or for too long. */
  take(): Promise<void>
  release(): void
}
