/**
 * Calls an isolated function for a handler in another process: the function gets an input, a signal and a log, and nothing of the job. The
 * result is sent back in its stored encoding; a result over the size limit is rejected here, before the transport.
 */

import { textOf } from '../../execution/steps.ts'
import type { JobLog } from '../../jobs/model/job-context.ts'
import { decodeText } from '../../lib/values/value-codec.ts'
import type { CallEnd } from '../child-protocol.ts'
import { packError } from '../error-wire.ts'
import type { Called } from '../handler-module.ts'
import type { IsolatedCall } from '../model/isolated-call.ts'

export class CalledFunction {
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

  /** True after a failure or an abort, which may have left anything behind: the next call gets another process. */
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
