/**
 * Defines deferrals: the errors that a handler throws if a provider asks for a wait or has stopped (providers/model/provider-errors.ts), or
 * if the whole batch must pause. The job has no fault: the attempt is released, is not counted, and is no start of the job. A deferral is an
 * error, so that any code around `ctx.provider` passes the deferral on; a handler may catch the deferral and continue without
 * the provider.
 *
 * Invariant: a deferral is recognised by a brand (errors/brand.ts) and by plain properties, and therefore survives a step, a
 * transaction, a process boundary, and being the cause of another error.
 */
import { brand, hasBrand } from '../../errors/brand.ts'
import { refuseOption, refuseUnknownOptions } from '../../errors/invalid-option.ts'
import { type Duration, milliseconds, minutes, seconds } from '../../lib/values/duration.ts'
import { asText, cleanText, shownValue } from '../../lib/values/json.ts'

/** `code`: the reason for programs, such as `cost_limit`; `message`: the reason for people. */
export interface BatchPause {
  code: string
  message: string
}

export interface Deferral {
  /** `child`: no child was free for a function of `ctx.isolated`. */
  why: 'wait' | 'stop' | 'pause' | 'child'
  code: string | null
  message: string
  /** Name of the provider; null: thrown outside of `ctx.provider`. */
  provider: string | null
  /** Wait only: the requested wait. */
  retryAfterMs: number | null
  /** Wait only. True: the wait never counts as a stop. */
  neverStops: boolean | null
  /** Delay decided by the engine. */
  delayMs: number | null
}

/** Reason of a paused batch, as stored. */
export type PauseReason = { code: string; message: string; provider?: string; answer?: string }

export const firstWait = seconds(1)
export const longestBackoff = minutes(5)
export const shortestWait = seconds(1)
export const probeEvery = minutes(1)
/** A provider that only asked for waits for so long, without an answer, counts as stopped, except for waits with `neverStops`. */
export const longestUnanswered = minutes(30)

const mostCode = 200
const mostMessage = 2000

/** Pause codes of the engine: each code determines how the batch resumes. */
const ownCodes: readonly string[] = ['person', 'provider', 'stop_after', 'same_cause']

/** `throw pauseBatch({ code, message })`: pauses the batch of the job until a person resumes the batch. */
export function pauseBatch(options: BatchPause): Error {
  refuseUnknownOptions(Object(options), ['code', 'message'])
  const { code, message } = Object(options) as BatchPause
  if (typeof code !== 'string' || !/^[a-z][a-z0-9_]{0,99}$/.test(code) || ownCodes.includes(code))
    refuseOption(
      'code',
      `it is a word such as cost_limit, and none of ${ownCodes.join(', ')}, not ${shownValue(code)}`,
      `é uma palavra como cost_limit, e nenhuma destas: ${ownCodes.join(', ')}, não ${shownValue(code)}`,
    )
  return defer({ ...noDeferralFacts, why: 'pause', code, message: asText(message) })
}

/** The line in which a call of `ctx.isolated` waits for a process. */
export type CallLine = 'foreground' | 'background'

/** No child is free for `ctx.isolated`: the job runs again after `delayMs`, or as soon as a child is free. The code names the line. */
export const noChildFree = (delayMs: number, line: CallLine): Error =>
  defer({ ...noDeferralFacts, why: 'child', code: line, message: 'no child process is free', delayMs })

export const isNoChildFree = (error: unknown): boolean => deferralOf(error)?.why === 'child'

export const noDeferralFacts = { provider: null, retryAfterMs: null, neverStops: null, delayMs: null }

export const codeText = (code: unknown): string | null => (code === undefined || code === null ? null : asText(code))

/** Leaves absent values out, because only plain values pass a process boundary. */
export function defer(said: Deferral, cause?: unknown): Error {
  const message = cleanText(said.message.slice(0, mostMessage))
  const error = new Error(message, cause === undefined ? {} : { cause })
  const parts = { ...said, code: said.code && cleanText(said.code.slice(0, mostCode)) }
  for (const [name, value] of Object.entries(parts)) {
    if (value !== null && name !== 'message') Object.defineProperty(error, name, { value, enumerable: true })
  }
  return marked(error)
}

/** Brands an error as a deferral, also after a process boundary. */
export const marked = (error: Error): Error => brand(error, 'deferred')

export const isDeferral = (error: unknown): error is Error => hasBrand(error, 'deferred')

const deepest = 5

/** Finds the deferral in a thrown value or in its chain of causes. */
export function deferralOf(thrown: unknown): Deferral | undefined {
  let error = thrown
  for (let depth = 0; depth <= deepest && error !== undefined; depth++) {
    if (isDeferral(error)) return read(error)
    try {
      error = error instanceof Error ? error.cause : undefined
    } catch {
      // A getter or a proxy threw while being read.
      return undefined
    }
  }
  return undefined
}

function read(error: Error): Deferral {
  const said = error as Error & Partial<Deferral>
  const { why, code = null, provider = null, retryAfterMs = null, neverStops = null, delayMs = null } = said
  return { why: why ?? 'wait', code, message: error.message, provider, retryAfterMs, neverStops, delayMs }
}

/** Spreads jobs with a common deferral, so that not all return at the same instant. */
const mostJitter = seconds(5)

/**
 * Returns the delay of a deferred job. 0 in a batch that is being paused, because the batch decides the time; otherwise the time
 * until the provider allows the next request.
 */
export function delayOf({ why, retryAfterMs, delayMs }: Deferral, inBatch: boolean, random: number): Duration {
  if (why !== 'wait' && why !== 'child' && inBatch) return milliseconds(0)
  const wait = Math.max(delayMs ?? retryAfterMs ?? (why === 'wait' ? firstWait : probeEvery), shortestWait)
  return milliseconds(Math.ceil(wait + random * Math.min(wait / 10, mostJitter)))
}

export function pauseOf({ why, code, message, provider }: Deferral): PauseReason | null {
  if (why === 'wait' || why === 'child') return null
  if (why === 'pause') return { code: code ?? 'pause', message }
  return { code: 'provider', message, ...(provider && { provider }), ...(code && { answer: code }) }
}
