/**
 * One attempt, from claimed row to outcome. It touches no database: what `run` resolves to is settled by the worker.
 *
 * Invariant: it always ends. A handler that ignores its signal is left behind after a grace; whatever it does later
 * reaches nothing, because the outcome has been decided and the fence moves with it.
 *
 * Most jobs look at neither their signal nor their log: both are made when they are asked for.
 */
import type { AnyJob, JobContext, JobLog } from '../core/job.ts'
import { decide, doNotRetry, type Ended, type Outcome } from '../core/outcome.ts'
import { isRetomaError, RetomaError } from '../errors.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/log.ts'
import type { Random } from '../lib/random.ts'
import type { Claimed } from '../store/claim.ts'

export interface AttemptOptions {
  clock: Clock
  log: Log
  random: Random
  /** How long after its signal a handler may still end by itself. */
  graceMs: number
}

export type AttemptEnd = Outcome | { state: 'released' } | { state: 'lost' }

export class Attempt {
  readonly claimed: Claimed
  readonly job: AnyJob
  /** When it was claimed, and from its start when its time is up, in this process's milliseconds. */
  readonly claimedAt: number
  deadline = Number.POSITIVE_INFINITY
  readonly #options: AttemptOptions
  #controller: AbortController | undefined
  #reason: RetomaError | undefined
  #leave: ((ended: Ended) => void) | undefined
  #ended = false
  #grace: AbortController | undefined

  constructor(claimed: Claimed, job: AnyJob, options: AttemptOptions) {
    this.claimed = claimed
    this.job = job
    this.#options = options
    this.claimedAt = options.clock.elapsed()
  }

  get started(): boolean {
    return this.#leave !== undefined
  }

  get running(): boolean {
    return this.started && !this.#ended
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#reason !== undefined) this.#controller.abort(this.#reason)
    }
    return this.#controller.signal
  }

  /**
   * The first reason counts, and none after the end: what a handler has done is not taken back by its signal. From here on
   * the handler has its grace, and then is left behind.
   */
  abort(reason: RetomaError): void {
    if (this.#reason !== undefined || this.#ended) return
    this.#reason = reason
    this.#controller?.abort(reason)
    const { clock, graceMs } = this.#options
    this.#grace = new AbortController()
    void clock.sleep(graceMs, this.#grace.signal).then(() => this.#leave?.({ thrown: reason }))
  }

  timeOut(): void {
    const { id, attempt } = this.claimed
    this.abort(new RetomaError('attempt_timeout', { attempt, job: id, seconds: this.job.policy.timeout / 1000 }))
  }

  async run(): Promise<AttemptEnd> {
    this.deadline = this.#options.clock.elapsed() + this.job.policy.timeout
    const ended = await new Promise<Ended>(resolve => {
      this.#leave = resolve
      void this.#handle().then(resolve)
    })
    this.#ended = true
    this.#grace?.abort()
    return this.#decide(ended)
  }

  async #handle(): Promise<Ended> {
    try {
      const parsed = await this.job.parse(this.claimed.input)
      if ('problem' in parsed) {
        return { thrown: doNotRetry(new RetomaError('bad_input', { kind: this.job.kind, problem: parsed.problem })) }
      }
      return { returned: await this.job.run(new Context(this, this.#options.log), parsed.value as never) }
    } catch (thrown) {
      return { thrown }
    }
  }

  #decide(ended: Ended): AttemptEnd {
    const { policy } = this.job
    const reason = this.#reason
    if (reason === undefined || !('thrown' in ended)) return decide(this.claimed, policy, ended, this.#options.random())
    if (isRetomaError(reason, 'lease_lost')) return { state: 'lost' }
    if (isRetomaError(reason, 'worker_stopping')) return { state: 'released' }
    // Out of time: the timeout is the news; what the handler made of its signal is kept as the cause.
    if (ended.thrown !== reason) reason.cause = ended.thrown
    return decide(this.claimed, policy, { thrown: reason, timedOut: true }, this.#options.random())
  }
}

class Context implements JobContext {
  readonly id: string
  readonly attempt: number
  readonly #attempt: Attempt
  readonly #log: Log
  #jobLog: JobLog | undefined

  constructor(attempt: Attempt, log: Log) {
    this.id = attempt.claimed.id
    this.attempt = attempt.claimed.attempt
    this.#attempt = attempt
    this.#log = log
  }

  get signal(): AbortSignal {
    return this.#attempt.signal
  }

  get log(): JobLog {
    const { kind } = this.#attempt.claimed
    this.#jobLog ??= jobLog(this.#log.child({ job: this.id, kind, attempt: this.attempt }))
    return this.#jobLog
  }
}

function jobLog(log: Log): JobLog {
  const at =
    (level: 'debug' | 'info' | 'warn' | 'error') =>
    (...line: [facts: Record<string, unknown>, message: string] | [message: string]) =>
      line.length === 1 ? log[level]({}, line[0]) : log[level](...line)
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}
