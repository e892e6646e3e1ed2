/**
 * Decides the outcome of an attempt, in a single pure function. A handler returns a value, returns `skip` or `snooze`, or throws;
 * `decide` turns the end into the outcome to write.
 */

import { brand, hasBrand } from '../../errors/brand.ts'
import { localized, RetomaError } from '../../errors/errors.ts'
import { type Duration, longestDuration, milliseconds } from '../../lib/values/duration.ts'
import { asText, cleanText, shownValue } from '../../lib/values/json.ts'
import { encodeStored } from '../../lib/values/value-codec.ts'
import { backoffAfter } from './backoff.ts'
import { type CrashSuspicion, crashSuspicionOf } from './crash-suspicion.ts'
import { type CallLine, deferralOf, delayOf, type PauseReason, pauseOf, probeEvery } from './deferral.ts'
import { isPoison, poisonFailure } from './poison-job.ts'
import type { JobPolicy } from './policy.ts'

/** Stored form of an error: on the job, and in the failure history. */
export interface Failure {
  /** crash: the attempt crashed its process; counts as a crash and not as a failure. */
  type: 'error' | 'timeout' | 'crash'
  message: string
  code: string | null
  stack: string | null
  evidence?: Evidence
}

export type Outcome =
  | { state: 'succeeded'; result: string }
  | { state: 'skipped'; reason: string }
  | { state: 'failed'; failure: Failure }
  | { state: 'waiting'; delay: Duration; failure: Failure | null }
  /**
   * The job is released, and the attempt is not counted. `pause`: pause the batch first; `provider`: the provider that waits or has
   * stopped; `trouble`: answer of a stopped provider; `forChild`: the line in which the job waits for a free child.
   */
  | {
      state: 'deferred'
      delay: Duration
      pause: PauseReason | null
      provider: string | null
      trouble?: Trouble
      forChild?: CallLine
    }

export interface Trouble {
  provider: string
  message: string
}

/** Facts of a dead child process: signal, exit code, memory, last lines of stderr. */
export type Evidence = Readonly<Record<string, unknown>>

/** `evidence`: the child process died; without `timedOut`, the attempt caused the crash. */
export type Ended = { returned: unknown } | { thrown: unknown; timedOut?: boolean; evidence?: Evidence }

/** The answer of `skip`. */
export class Skip {
  /** For the compiler only: a result of a user with the same fields is no Skip. */
  declare private readonly nominal: 'skip'
  /** Why the job needs no work. */
  readonly reason: string
  constructor(reason: string) {
    this.reason = reason
    brand(this, 'skip')
  }
}

/** The answer of `snooze`. */
export class Snooze {
  /** For the compiler only: a result of a user with the same fields is no Snooze. */
  declare private readonly nominal: 'snooze'
  /** The time until the next attempt. */
  readonly delay: Duration
  constructor(delay: Duration) {
    this.delay = delay
    brand(this, 'snooze')
  }
}

/**
 * The input needs no work: the job ends as `skipped`, with the reason.
 *
 * @example
 * defineJob({ kind: 'read', run: (_, pages: string[]) => (pages.length === 0 ? skip('no pages') : pages.length) })
 */
export const skip = (reason: string): Skip => new Skip(reason)

/**
 * Defers the job for so long; the attempt is not counted. Throws `bad_option`.
 *
 * @example
 * defineJob({ kind: 'poll', run: async () => ((await openOrders()) > 0 ? snooze(minutes(10)) : 'done') })
 */
export function snooze(delay: Duration): Snooze {
  if (delay >= 0 && delay <= longestDuration) return new Snooze(delay)
  const problem = localized(
    `it is a duration from zero to 100 years, such as minutes(5), not ${shownValue(delay)}`,
    `é uma duração de zero a 100 anos, como minutes(5), não ${shownValue(delay)}`,
  )
  throw new RetomaError('bad_option', { option: 'snooze', problem })
}

/** The error is marked as non-retryable. */
export const isNonRetryable = (error: unknown): boolean => hasBrand(error, 'doNotRetry')

/**
 * `throw doNotRetry(error)`: another attempt cannot help; the job fails at once, with any number of attempts left.
 *
 * @example
 * defineJob({
 *   kind: 'charge',
 *   run: () => {
 *     throw doNotRetry('no such account')
 *   },
 * })
 */
export function doNotRetry(error: Error | string): Error {
  const known = error instanceof Error ? error : new Error(asText(error))
  if (isNonRetryable(known)) return known
  // A frozen error cannot carry the brand; an object that inherits from the error can.
  const marked = Object.isExtensible(known) ? known : (Object.create(known) as Error)
  return brand(marked, 'doNotRetry')
}

export interface Tried {
  kind: string
  failures: number
  crashes: number
  crash_suspicion?: Partial<CrashSuspicion> | null
  batch_id?: string | null
}

type Budget = Pick<JobPolicy, 'maxAttempts' | 'backoff' | 'maxCrashes'>

export function decide(job: Tried, policy: Budget, ended: Ended, random: number): Outcome {
  const back = 'thrown' in ended && ended.evidence === undefined ? deferralOf(ended.thrown) : undefined
  if (back !== undefined) {
    const inBatch = (job.batch_id ?? null) !== null
    const pause = inBatch ? pauseOf(back) : null
    const { provider } = back
    const deferred = { state: 'deferred', delay: delayOf(back, inBatch, random), pause, provider } as const
    if (back.why !== 'child') return deferred
    return { ...deferred, forChild: back.code === 'background' ? 'background' : 'foreground' }
  }
  if ('thrown' in ended) return afterFailure(job, policy, failureOf(ended), random, isNonRetryable(ended.thrown))
  if (isSkip(ended.returned)) return { state: 'skipped', reason: cut(asText(ended.returned.reason), maxMessage) }
  if (isSnooze(ended.returned)) return { state: 'waiting', delay: ended.returned.delay, failure: null }
  const result = encodeStored(ended.returned, 'result')
  if (result.ok) return { state: 'succeeded', result: result.text }
  // The work is done, and another attempt would repeat the work in vain: a result that cannot be stored is not retried.
  const fix = isError(ended.returned) ? '; throw the error, and do not return it' : ''
  const message = `bad_value: the result of a ${job.kind} job cannot be stored: ${result.problem.en}${fix}`
  return {
    state: 'failed',
    failure: { type: 'error', message: cut(message, maxMessage), code: 'bad_value', stack: null },
  }
}

/**
 * Outcome of a probe without an answer: the attempt was a probe of a stopped provider, or of the failures that paused the batch.
 * The failure does not count against the job, and the job is released. A crash and a non-retryable error do count: the job is the
 * cause, with any provider.
 */
export function unanswered(job: Tried, outcome: Outcome, thrown: unknown, provider: string): Outcome {
  if (!('failure' in outcome) || outcome.failure === null || outcome.failure.type === 'crash' || isNonRetryable(thrown))
    return outcome
  const inBatch = (job.batch_id ?? null) !== null
  // The batch decides the time of the next attempt.
  const delay = inBatch ? milliseconds(0) : probeEvery
  return {
    state: 'deferred',
    delay,
    pause: null,
    provider,
    trouble: { provider, message: outcome.failure.message.slice(0, maxTrouble) },
  }
}

/** Never throws: a proxy may. */
function isError(value: unknown): boolean {
  try {
    return value instanceof Error
  } catch {
    return false
  }
}

const isSkip = (returned: unknown): returned is Skip => hasBrand(returned, 'skip')
const isSnooze = (returned: unknown): returned is Snooze => hasBrand(returned, 'snooze')

function afterFailure(job: Tried, policy: Budget, failure: Failure, random: number, final: boolean): Outcome {
  // A crash proves the suspicion: the earlier crashes under suspicion count too.
  const crashes =
    job.crashes + (failure.type === 'crash' ? 1 + crashSuspicionOf(job.crash_suspicion ?? null).unexplainedCrashes : 0)
  if (failure.type === 'crash' && isPoison(crashes, policy.maxCrashes))
    return { state: 'failed', failure: poisonFailure(crashes, failure) }
  const spent = job.failures + crashes + (failure.type === 'crash' ? 0 : 1)
  if (final || spent >= policy.maxAttempts) return { state: 'failed', failure }
  return { state: 'waiting', delay: backoffAfter(spent, policy.backoff, random), failure }
}

function failureOf({ thrown, timedOut = false, evidence }: Exclude<Ended, { returned: unknown }>): Failure {
  const type = timedOut ? 'timeout' : evidence === undefined ? 'error' : 'crash'
  return evidence === undefined ? describe(thrown, type) : { ...describe(thrown, type), evidence }
}

/** Returns the message of any thrown value. */
export const messageOf = (thrown: unknown): string => describe(thrown, 'error').message.slice(0, maxTrouble)

const maxTrouble = 2000
const maxMessage = 10_000
const maxStack = 20_000

/** Converts any thrown value to a text for people that PostgreSQL can store. */
function describe(thrown: unknown, type: Failure['type']): Failure {
  try {
    if (thrown instanceof Error) return { type, ...factsOf(thrown) }
  } catch {
    // A getter or a proxy threw while being read: the attempt has failed anyway.
  }
  if (isSkip(thrown)) return { type, message: `thrown: a skip; write return skip('…')`, code: null, stack: null }
  if (isSnooze(thrown)) return { type, message: 'thrown: a snooze; write return snooze(…)', code: null, stack: null }
  return { type, message: cut(`thrown: ${asText(thrown)}`, maxMessage), code: null, stack: null }
}

function factsOf(error: Error): Omit<Failure, 'type'> {
  const { code } = error as { code?: unknown }
  return {
    message: cut(`${error.message || error.name}`, maxMessage),
    code: typeof code === 'string' || typeof code === 'number' ? cut(String(code), 200) : null,
    stack: error.stack === undefined ? null : cut(withCauses(error), maxStack),
  }
}

/** Cuts first and cleans then, because the cut may split a surrogate pair. */
const cut = (text: string, max: number): string => cleanText(text.slice(0, max))

function withCauses(error: Error): string {
  let all = String(error.stack)
  let cause = error.cause
  for (let depth = 0; cause instanceof Error && depth < 5; depth++, cause = cause.cause)
    all += `\ncaused by: ${cause.stack}`
  return all
}
