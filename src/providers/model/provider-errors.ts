/**
 * Defines the errors that a handler throws for a provider: `providerWait` for a wait (Retry-After), `providerStop` for a stop. Both are
 * deferrals (jobs/model/deferral.ts): the attempt is released and not counted. ask-provider.ts stores the wait or the stop for all workers.
 */
import { refuseOption, refuseUnknownOptions } from '../../errors/invalid-option.ts'
import { codeText, defer, noDeferralFacts, shortestWait } from '../../jobs/model/deferral.ts'
import { type Duration, hours } from '../../lib/values/duration.ts'
import { asText, shownValue } from '../../lib/values/json.ts'

/** Options of `providerWait`. */
export interface ProviderWait {
  /** Requested wait. Default: 1 s, doubled for each further wait in a row, at most 5 minutes. */
  retryAfter?: Duration
  /** The code of the provider, for people. Default: none. */
  code?: string
  /** The message of the provider, for people. Default: `wait`. */
  message?: string
  /**
   * True: waits of any sum never count as a stop, so no batch is paused, and the jobs that ask other providers go on. For a provider with a
   * limit of a day that few jobs of a batch ask. Default false: after 30 minutes of waits without an answer the provider counts as stopped.
   */
  neverStops?: boolean
}

/** Options of `providerStop`. */
export interface ProviderStop {
  code: string
  message: string
}

/** A longer request is shortened: once per day a job asks the provider again. */
const longestWait = hours(24)

/** `throw providerWait({ retryAfter })` inside `ctx.provider`: no worker calls the provider until then. */
export function providerWait(options: ProviderWait = {}): Error {
  refuseUnknownOptions(Object(options), ['retryAfter', 'code', 'message', 'neverStops'])
  const { retryAfter, code, message, neverStops } = options
  if (retryAfter !== undefined && !(retryAfter >= 0))
    refuseOption(
      'retryAfter',
      `it is a duration, such as seconds(30), not ${shownValue(retryAfter)}`,
      `é uma duração, como seconds(30), não ${shownValue(retryAfter)}`,
    )
  if (neverStops !== undefined && typeof neverStops !== 'boolean')
    refuseOption(
      'neverStops',
      `it is true or false, not ${shownValue(neverStops)}`,
      `é true ou false, não ${shownValue(neverStops)}`,
    )
  const retryAfterMs = retryAfter === undefined ? null : Math.min(Math.max(retryAfter, shortestWait), longestWait)
  const facts = { ...noDeferralFacts, retryAfterMs, neverStops: neverStops ?? null }
  return defer({ ...facts, why: 'wait', code: codeText(code), message: message ?? 'wait' })
}

/**
 * `throw providerStop({ code, message })` inside `ctx.provider`: the provider will not answer until a person acts (no credit, a
 * refused key). The batch of the job is paused; a single job per minute probes the provider.
 */
export function providerStop(options: ProviderStop): Error {
  refuseUnknownOptions(Object(options), ['code', 'message'])
  const { code, message } = Object(options) as ProviderStop
  return defer({ ...noDeferralFacts, why: 'stop', code: codeText(code), message: asText(message) })
}
