/**
 * A function that a handler in another process calls here: it gets its input, a signal and a log, and nothing of the job's. What
 * it returns goes back as the text that is kept; what is too large is refused here, before it travels.
 */
import type { JobLog } from '../core/context.ts'
import type { IsolatedCall } from '../core/isolated.ts'
import { decodeText } from '../core/value.ts'
import type { Called } from '../isolation/handler.ts'
import { packError } from '../isolation/packed-error.ts'
import type { CallEnd } from '../isolation/wire.ts'
import { textOf } from '../worker/steps.ts'

export class Call {
  readonly #call: IsolatedCall
  readonly #called: Called
  readonly #log: JobLog
  readonly #controller = new AbortController()
  #failed = false

  constructor(call: IsolatedCall, called: Called, log: JobLog) {
    this.#call = call
    this.#called = called
    this.#log = log
  }

  /** What failed, or was told to end, may have left anything behind: the next call has another process. */
  get spent(): boolean {
    return this.#failed || this.#controller.signal.aborted
  }

  abort(reason: unknown): void {
    this.#controller.abort(reason)
  }

  async run(): Promise<CallEnd> {
    const { step, input, maxBytes } = this.#call
    try {
      const given = { signal: this.#controller.signal, log: this.#log }
      return { text: textOf(step, await this.#called(decodeText(input), given), maxBytes) }
    } catch (error) {
      this.#failed = true
      return { error: packError(error) }
    }
  }
}
