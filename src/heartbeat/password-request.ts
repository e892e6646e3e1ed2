/**
 * Asks the main thread for the password of a new connection, if the password is a function: functions cannot be passed to a thread.
 *
 * Invariant: a request ends within `waitLimitMs`. If the main loop is blocked, the last password is tried again, because the heartbeat must
 * go on while the main loop is blocked.
 */
import { withDeadline } from '../lib/with-deadline.ts'

const waitLimitMs = 1500

export class PasswordRequest {
  readonly #ask: () => void
  #waiting: ((password: string | undefined) => void)[] = []
  #last: string | undefined

  constructor(ask: () => void) {
    this.#ask = ask
  }

  /** The answer of the main thread; undefined: the function has failed. */
  answered(password: string | undefined): void {
    this.#last = password ?? this.#last
    for (const resolve of this.#waiting.splice(0)) resolve(password)
  }

  async password(): Promise<string> {
    const answer = new Promise<string | undefined>(resolve => void this.#waiting.push(resolve))
    this.#ask()
    const given = await withDeadline(answer, waitLimitMs, () => new Error('no answer')).catch(() => undefined)
    const password = given ?? this.#last
    if (password === undefined) throw new Error('the main thread has given no password')
    return password
  }
}
