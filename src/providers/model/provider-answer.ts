/**
 * Classifies the answer of a provider over HTTP as ok, or as one of four problems. Pure functions: no bytes of a provider make them throw.
 *
 * - ok: a usable answer.
 * - retry: no answer, 408, 409, 425, 5xx, 529, a useless answer: a failed attempt.
 * - wait: 429, 503: the provider waits, for all workers.
 * - stop: 401, 402, 403, 407, a redirect: no request can succeed before a person acts.
 * - item: any other 4xx: this request, and no other, cannot be answered.
 *
 * Invariant: no error contains a secret of the provider, not even if the provider repeats the secret in its answer.
 */
import { type Language, type LocalizedText, RetomaError } from '../../errors/errors.ts'
import { shortestWait } from '../../jobs/model/deferral.ts'
import { doNotRetry } from '../../jobs/model/outcome.ts'
import { type Duration, hours, milliseconds } from '../../lib/values/duration.ts'
import { withoutSecrets } from '../../lib/values/redact.ts'
import { providerStop, providerWait } from './provider-errors.ts'

/** A whole answer. */
export interface ProviderResponse {
  status: number
  /** The value of a header; null: the answer has no such header. */
  header(name: string): string | null
  /** Decoded as UTF-8. */
  body: string
}

/** The result of `callProvider`: an answer, or the reason why there is none. */
export type ProviderAnswer =
  | ProviderResponse
  /** No answer, or only a part. `code`: the code of a system error, such as ECONNRESET; otherwise `unknown`. */
  | { failure: 'unreachable'; code: string }
  | { failure: 'timeout'; seconds: number }
  | { failure: 'too_large'; maxBytes: number }

/** The facts about a provider that errors name or must not name. */
export interface ProviderFacts {
  /** The name for people, such as `Example`. */
  name: string
  /** The setting with the address of the provider. The error about a redirect names the setting. Default: a word for the base URL. */
  setting?: string | undefined
  /** Keys and tokens of the request. No error repeats them. Default: none. */
  secrets?: readonly (string | undefined)[]
}

/** The meaning of an answer that is not usable. */
export type ProblemMeaning = 'retry' | 'wait' | 'stop' | 'item'

/** A problem with an answer. `why`: the error, with a sentence for people. */
export type ProviderProblem =
  | { is: 'retry'; why: RetomaError }
  /** `retryAfter`: the wait that the provider asks for; null: the provider names no wait. `neverStops`: see `providerWait`. */
  | { is: 'wait'; why: RetomaError; retryAfter: Duration | null; neverStops?: boolean }
  | { is: 'stop'; why: RetomaError }
  | { is: 'item'; why: RetomaError }

/** A usable value, or the problem with the answer. */
export type ProviderVerdict<T> = { is: 'ok'; value: T } | ProviderProblem

/** What the caller of `judgeAnswer` has read from the body. */
export interface AnswerReading {
  /** The status in the body, if it differs from the status of the answer. Default: the status of the answer. */
  status?: number
  /** Default: ok for 2xx, otherwise the usual meaning of the status (`meaningOfStatus`). A redirect is always a stop. */
  meaning?: 'ok' | ProblemMeaning
  /** The words of the provider about the problem. Default: `error.message`, `error` or `message` of a JSON body; otherwise the text. */
  words?: string
  /** The wait that the provider asks for. Default: from the headers (`retryAfterOf`). */
  retryAfter?: Duration | null
}

/**
 * Classifies the answer of a provider. A provider with errors in bodies of status 200, or with other meanings of a status, gives its own
 * `reading`. Never throws.
 *
 * @example
 * defineJob({
 *   kind: 'price',
 *   run: async ctx => {
 *     const answer = await callProvider({ baseUrl: 'https://api.example.com', path: '/prices/7' }, ctx.signal)
 *     const verdict = judgeAnswer(answer, { name: 'Example', setting: 'EXAMPLE_BASE_URL' })
 *     return verdict.is === 'item' ? skip(verdict.why.message) : unwrapVerdict(verdict).body
 *   },
 * })
 */
export function judgeAnswer(
  answer: ProviderAnswer,
  facts: ProviderFacts,
  reading: AnswerReading & { meaning: ProblemMeaning },
): ProviderProblem
export function judgeAnswer(answer: Exclude<ProviderAnswer, ProviderResponse>, facts: ProviderFacts): ProviderProblem
export function judgeAnswer(
  answer: ProviderAnswer,
  facts: ProviderFacts,
  reading?: AnswerReading,
): ProviderVerdict<ProviderResponse>
export function judgeAnswer(
  answer: ProviderAnswer,
  facts: ProviderFacts,
  reading: AnswerReading = {},
): ProviderVerdict<ProviderResponse> {
  const { name: provider, setting = baseUrl, secrets = [] } = facts
  if ('failure' in answer) return absent(answer, provider)
  const status = reading.status ?? answer.status
  if (answer.status >= 300 && answer.status < 400)
    return { is: 'stop', why: new RetomaError('provider_moved', { provider, status: answer.status, setting }) }
  const meaning = reading.meaning ?? (status >= 200 && status < 300 ? 'ok' : meaningOfStatus(status))
  if (meaning === 'ok') return { is: 'ok', value: answer }
  const words = forPeople(reading.words ?? wordsIn(answer.body), secrets) || '-'
  const said = { provider, status, words }
  switch (meaning) {
    case 'wait': {
      const retryAfter = reading.retryAfter === undefined ? retryAfterOf(answer) : reading.retryAfter
      return { is: 'wait', why: new RetomaError('provider_busy', said), retryAfter }
    }
    case 'stop':
      return { is: 'stop', why: new RetomaError('provider_refused', said) }
    case 'item':
      return { is: 'item', why: new RetomaError('provider_rejected', said) }
    case 'retry':
      return { is: 'retry', why: new RetomaError('provider_error', said) }
  }
}

const baseUrl: LocalizedText = { en: 'the base URL', pt: 'a URL base' }

/** The problem with an answer that arrived and is of no use. `problem`: a part of the sentence, such as `it is no JSON`. */
export const uselessAnswer = (
  { name: provider }: Pick<ProviderFacts, 'name'>,
  problem: LocalizedText,
): ProviderProblem => ({ is: 'retry', why: new RetomaError('provider_useless', { provider, problem }) })

function absent(answer: Exclude<ProviderAnswer, ProviderResponse>, provider: string): ProviderProblem {
  switch (answer.failure) {
    case 'timeout':
      return { is: 'retry', why: new RetomaError('provider_timeout', { provider, seconds: answer.seconds }) }
    case 'unreachable':
      return {
        is: 'retry',
        why: new RetomaError('provider_unreachable', { provider, problem: systemCode(answer.code) }),
      }
    case 'too_large':
      return uselessAnswer({ name: provider }, { en: 'it is too long', pt: 'é longa demais' })
  }
}

/** The code of a system error is plain text; other parts of such an error may contain parts of the request. */
export const systemCode = (code: unknown): string =>
  typeof code === 'string' && /^[A-Z0-9_]{2,40}$/.test(code) ? code : 'unknown'

/** The usual meaning of an HTTP status that stands for a problem. A success without a usable body is a retry. */
export function meaningOfStatus(status: number): ProblemMeaning {
  if (status === 401 || status === 402 || status === 403 || status === 407) return 'stop'
  if (status === 429 || status === 503) return 'wait'
  if (status >= 500 || status < 400 || status === 408 || status === 409 || status === 425) return 'retry'
  return 'item'
}

/**
 * The value of a verdict. Throws what the engine understands: a wait (`providerWait`), a stop (`providerStop`), an ordinary error for a
 * failed attempt, or an error with `doNotRetry` for a request that cannot be answered. Call inside `ctx.provider`.
 *
 * `language`: the language of the message that people read with the job. Default `en`.
 */
export function unwrapVerdict<T>(verdict: ProviderVerdict<T>, language: Language = 'en'): T {
  if (verdict.is === 'ok') return verdict.value
  const { code } = verdict.why
  const message = verdict.why.in(language)
  switch (verdict.is) {
    case 'wait':
      throw providerWait({
        code,
        message,
        ...(verdict.retryAfter === null ? {} : { retryAfter: verdict.retryAfter }),
        ...(verdict.neverStops === undefined ? {} : { neverStops: verdict.neverStops }),
      })
    case 'stop':
      throw providerStop({ code, message })
    case 'item':
      throw doNotRetry(failed(message, code))
    case 'retry':
      throw failed(message, code)
  }
}

/** No RetomaError: a sentence in the language of the users, and the code. */
const failed = (message: string, code: string): Error =>
  Object.assign(new Error(message), { name: 'ProviderError', code })

const longestWait = hours(24)

/**
 * The wait that an answer asks for: `Retry-After` (seconds, or a date by the clock of the sender), otherwise `RateLimit-Reset` or
 * `X-RateLimit-Reset` (seconds, or an instant since 1970). From 1 s to a day; null: the answer names no wait.
 */
export function retryAfterOf({ header }: Pick<ProviderResponse, 'header'>): Duration | null {
  const sent = Date.parse(header('date') ?? '')
  const after = (header('retry-after') ?? '').trim()
  const reset = (header('ratelimit-reset') ?? header('x-ratelimit-reset') ?? '').trim()
  const ms = inSeconds(after) ?? untilDate(after, sent) ?? untilInstant(reset, sent) ?? inSeconds(reset)
  return ms === undefined ? null : milliseconds(Math.min(Math.max(ms, shortestWait), longestWait))
}

const inSeconds = (text: string) => (/^\d{1,9}(?:\.\d{1,9})?$/.test(text) ? Number(text) * 1000 : undefined)

/** Date.parse alone takes "-5" for a year. */
function untilDate(text: string, sent: number): number | undefined {
  const ms = /^[a-z]{3,9},? .* gmt$/i.test(text) ? Date.parse(text) - sent : Number.NaN
  return Number.isNaN(ms) ? undefined : ms
}

/** An instant in seconds or milliseconds since 1970. */
function untilInstant(text: string, sent: number): number | undefined {
  if (!/^\d{10}(?:\d{3})?$/.test(text) || Number.isNaN(sent)) return undefined
  return Number(text) * (text.length === 10 ? 1000 : 1) - sent
}

/** The usual places of a message in a JSON body; otherwise the text without tags. */
function wordsIn(body: string): string {
  const parsed = fieldsOf(parsedOf(body))
  if (parsed === undefined) return body
  const { error, message } = parsed
  return textOf(error) || textOf(fieldsOf(error)?.message) || textOf(message)
}

function parsedOf(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}

const fieldsOf = (value: unknown): Record<string, unknown> | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

const mostRead = 5000
const longestWords = 300

/** Words of a provider for people: one line, bounded, without a secret, without tags. */
const forPeople = (words: string, secrets: readonly (string | undefined)[]): string =>
  [
    ...hideSecrets(words.slice(0, mostRead).replace(/<[^<>]*>/g, ' '), secrets)
      .replace(/[\s\p{C}]+/gu, ' ')
      .trim(),
  ]
    .slice(0, longestWords)
    .join('')
    .trim()

const inText = /\b(api[-_]?key=)[^&\s"'<>]+/gi
const keyShape = /\bsk-[\w-]{6,}/g

/** The text without the given secrets, and without texts that look like a secret. */
export function hideSecrets(text: string, secrets: readonly (string | undefined)[]): string {
  let hidden = text
  for (const secret of secrets) {
    if (secret === undefined || secret === '') continue
    for (const form of new Set([secret, encoded(secret)])) hidden = hidden.split(form).join('[…]')
  }
  return withoutSecrets(hidden).replace(inText, '$1[…]').replace(keyShape, '[…]')
}

/** The form of a secret in the address of a request. */
const encoded = (secret: string): string => encodeURIComponent(secret.toWellFormed())
