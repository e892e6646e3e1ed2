/**
 * The words with which a handler says that it may not go on for now, and that its job is not to blame: a service outside asks us
 * to wait, or has stopped, or the batch as a whole must stand still. The attempt is handed back: no try is spent, and it is no
 * start. They are errors, so that they come out of whatever is around them; whoever catches one may go on without.
 *
 * Invariant: known by a mark (brand.ts) and by plain properties, so that they are the same after a step, a transaction, a
 * process boundary, or as the cause of another error.
 */
import { brand, hasBrand } from '../brand.ts'
import { type Duration, hours, milliseconds, minutes, seconds } from './duration.ts'
import { asText, cleanText } from './json.ts'
import { refuseOption, refuseUnknownOptions } from './refuse.ts'

export interface ProviderWait {
  /** How long it asks for. Default: 1 s, twice as long each time it does so again, 5 minutes at most. */
  retryAfter?: Duration
  /** Its own code and words, for people. */
  code?: string
  message?: string
}

export interface ProviderStop {
  code: string
  message: string
}

/** `code`: why, as a program reads it, such as `cost_limit`; `message`: as a person does. */
export interface BatchPause {
  code: string
  message: string
}

export interface HandBack {
  /** `child`: no child process was free for a function that it calls. */
  why: 'wait' | 'stop' | 'pause' | 'child'
  code: string | null
  message: string
  /** Who said so; null: it was not said inside `ctx.provider`. */
  provider: string | null
  /** Of a wait: what was asked for. */
  retryAfterMs: number | null
  /** For how long, as the engine has decided. */
  delayMs: number | null
}

/** Why a batch is paused: what is kept as its reason. */
export type PauseReason = { code: string; message: string; provider?: string; answer?: string }

export const firstWait = seconds(1)
export const longestBackoff = minutes(5)
export const shortestWait = seconds(1)
/** Whatever it asks for: once a day it is asked whether it still wants that. */
const longestWait = hours(24)
export const probeEvery = minutes(1)
/** A provider that has only ever asked to wait for so long, without one answer, counts as stopped. */
export const longestUnanswered = minutes(30)

const mostCode = 200
const mostMessage = 2000

/** `throw providerWait({ retryAfter })` inside `ctx.provider`: until then no worker asks it. */
export function providerWait(options: ProviderWait = {}): Error {
  refuseUnknownOptions(Object(options), ['retryAfter', 'code', 'message'])
  const { retryAfter, code, message } = options
  if (retryAfter !== undefined && !(retryAfter >= 0))
    refuseOption(
      'retryAfter',
      `it is a duration, such as seconds(30), not ${asText(retryAfter)}`,
      `é uma duração, como seconds(30), não ${asText(retryAfter)}`,
    )
  const retryAfterMs = retryAfter === undefined ? null : Math.min(Math.max(retryAfter, shortestWait), longestWait)
  return handBack({ ...nothing, why: 'wait', code: textOf(code), message: message ?? 'wait', retryAfterMs })
}

/**
 * `throw providerStop({ code, message })` inside `ctx.provider`: it will not answer until somebody does something about it (no
 * credit, a refused key). The job's batch is paused; one job a minute asks it again.
 */
export function providerStop(options: ProviderStop): Error {
  refuseUnknownOptions(Object(options), ['code', 'message'])
  const { code, message } = Object(options) as ProviderStop
  return handBack({ ...nothing, why: 'stop', code: textOf(code), message: asText(message) })
}

/** Codes under which the engine itself pauses a batch: each says how the batch goes on. */
const ownCodes: readonly string[] = ['person', 'provider', 'stop_after', 'same_cause']

/** `throw pauseBatch({ code, message })`: the job's batch is paused, until a person has it go on. */
export function pauseBatch(options: BatchPause): Error {
  refuseUnknownOptions(Object(options), ['code', 'message'])
  const { code, message } = Object(options) as BatchPause
  if (typeof code !== 'string' || !/^[a-z][a-z0-9_]{0,99}$/.test(code) || ownCodes.includes(code))
    refuseOption(
      'code',
      `it is a word such as cost_limit, and none of ${ownCodes.join(', ')}, not ${asText(code)}`,
      `é uma palavra como cost_limit, e nenhuma destas: ${ownCodes.join(', ')}, não ${asText(code)}`,
    )
  return handBack({ ...nothing, why: 'pause', code, message: asText(message) })
}

/** No child process is free for `ctx.isolated`: the job comes back after `delayMs`, or when one is. */
export const noChildFree = (delayMs: number): Error =>
  handBack({ ...nothing, why: 'child', code: null, message: 'no child process is free', delayMs })

export const isNoChildFree = (error: unknown): boolean => handBackOf(error)?.why === 'child'

const nothing = { provider: null, retryAfterMs: null, delayMs: null }

const textOf = (code: unknown): string | null => (code === undefined || code === null ? null : asText(code))

/** What is absent is left out: a process boundary lets only plain values pass. */
export function handBack(said: HandBack, cause?: unknown): Error {
  const message = cleanText(said.message.slice(0, mostMessage))
  const error = new Error(message, cause === undefined ? {} : { cause })
  const parts = { ...said, code: said.code && cleanText(said.code.slice(0, mostCode)) }
  for (const [name, value] of Object.entries(parts)) {
    if (value !== null && name !== 'message') Object.defineProperty(error, name, { value, enumerable: true })
  }
  return marked(error)
}

/** An error that is one, or was on the other side of a process boundary. */
export const marked = (error: Error): Error => brand(error, 'handBack')

export const isHandBack = (error: unknown): error is Error => hasBrand(error, 'handBack')

const deepest = 5

/** What was thrown says so, or was thrown because of one that does. */
export function handBackOf(thrown: unknown): HandBack | undefined {
  let error = thrown
  for (let depth = 0; depth <= deepest && error !== undefined; depth++) {
    if (isHandBack(error)) return read(error)
    try {
      error = error instanceof Error ? error.cause : undefined
    } catch {
      // A getter or a proxy that throws when it is looked at.
      return undefined
    }
  }
  return undefined
}

function read(error: Error): HandBack {
  const { why, code = null, provider = null, retryAfterMs = null, delayMs = null } = error as Error & Partial<HandBack>
  return { why: why ?? 'wait', code, message: error.message, provider, retryAfterMs, delayMs }
}

/** So that those who were handed back together do not all come back at once. */
const mostJitter = seconds(5)

/**
 * When a job that was handed back may run again. Of a batch that is being paused at once, because the batch says when; alone it
 * comes back when the provider may be asked again.
 */
export function delayOf({ why, retryAfterMs, delayMs }: HandBack, inBatch: boolean, random: number): Duration {
  if (why !== 'wait' && why !== 'child' && inBatch) return milliseconds(0)
  const wait = Math.max(delayMs ?? retryAfterMs ?? (why === 'wait' ? firstWait : probeEvery), shortestWait)
  return milliseconds(Math.ceil(wait + random * Math.min(wait / 10, mostJitter)))
}

export function pauseOf({ why, code, message, provider }: HandBack): PauseReason | null {
  if (why === 'wait' || why === 'child') return null
  if (why === 'pause') return { code: code ?? 'pause', message }
  return { code: 'provider', message, ...(provider && { provider }), ...(code && { answer: code }) }
}
