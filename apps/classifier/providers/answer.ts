/**
 * Classifies a response of an OpenRouter-compatible API as ok or as one of four problems. A pure function: `judge` never throws for any
 * bytes, and no returned text contains a key.
 *
 * - retry: no answer, 408, 5xx, a cut or useless answer: a failed attempt. So is a timeout, detected by jobs.ts.
 * - wait: 429, 503: the provider waits, for all workers.
 * - stop: no item can succeed before a person acts. `of`: the whole provider (key, credit), or only this batch (model).
 * - item: this document, and no other, cannot be answered.
 *
 * A status of 200 proves nothing: once a model has started, an error is in the body.
 */
import {
  type Duration,
  hideSecrets,
  judgeAnswer,
  localized,
  type ProviderAnswer,
  type ProviderFacts,
  type ProviderResponse,
  RetomaError,
  retryAfterOf,
  uselessAnswer,
} from 'retoma'
import { errors } from '../errors.ts'
import { plain } from '../fold.ts'
import { type Reply, readReply } from './reply.ts'

/** The charged part of an answer, useful or not. */
export interface Bought {
  id: string | null
  model: string | null
  tokensIn: number | null
  tokensOut: number | null
  /** In USD, as a decimal with six places. */
  cost: string
}

/** `written`: the text of the model instead of an answer, bounded and without secrets, for operators; null: the model wrote no text. */
export type Answer =
  | { is: 'ok'; reply: Reply; bought: Bought; written: string | null }
  | { is: 'retry'; why: RetomaError; bought: Bought | null; written: string | null }
  | { is: 'wait'; why: RetomaError; retryAfter: Duration | null; bought: Bought | null }
  | { is: 'stop'; why: RetomaError; of: 'provider' | 'batch'; bought: Bought | null }
  | { is: 'item'; why: RetomaError; bought: Bought | null; written: string | null }

interface About {
  /** The provider's name for people. */
  provider: string
  categories: readonly string[]
  /** A document may have several categories. */
  several?: boolean | undefined
  /** Never repeated, even if the response contains the key. */
  key: string
}

const longestWords = 300
const longestWritten = 4000

export function judge(answer: ProviderAnswer, about: About): Answer {
  if ('failure' in answer)
    return { is: 'retry', why: judgeAnswer(answer, factsOf(about)).why, bought: null, written: null }
  const body = parsed(answer.body)
  const { status } = answer
  if (status >= 200 && status < 300) return answered(answer, body, about)
  return refused(answer, status, errorIn(body), about, null)
}

const factsOf = ({ provider, key }: About): ProviderFacts => ({
  name: provider,
  setting: 'OPENROUTER_BASE_URL',
  secrets: [key],
})

function answered(received: ProviderResponse, body: Fields | undefined, about: About): Answer {
  const { provider, categories, several } = about
  const bought = boughtBy(body, about)
  const choice = fields(list(body?.choices)[0])
  const error = errorIn(body) ?? errorIn(choice)
  if (error !== undefined) return refused(received, codeOf(error), error, about, bought)
  const message = fields(choice?.message)
  const content = textOf(message?.content)
  const written = writtenBy(content ?? (typeof message?.refusal === 'string' ? message.refusal : received.body), about)
  const useless = (en: string, pt: string): Answer => ({
    is: 'retry',
    why: uselessAnswer({ name: provider }, localized(en, pt)).why,
    bought,
    written,
  })
  if (body === undefined) return useless('it is no JSON', 'não é JSON')
  const finish = choice?.finish_reason
  if (finish === 'content_filter' || typeof message?.refusal === 'string') {
    const words = spoken(message?.refusal, about) || 'content_filter'
    return {
      is: 'item',
      why: new RetomaError(errors.document_refused, { provider, status: received.status, words }),
      bought,
      written,
    }
  }
  if (content === undefined) return useless('it has no content', 'não tem conteúdo')
  const read = readReply(content, categories, several)
  if (read.is === 'reply' && bought !== null) {
    const justification = hide(read.reply.justification, about)
    return { is: 'ok', reply: { ...read.reply, justification }, bought, written }
  }
  if (read.is === 'strange')
    return {
      is: 'item',
      why: new RetomaError(errors.category_unknown, { category: hide(read.category, about) }),
      bought,
      written,
    }
  if (read.is === 'several') return useless('it names different categories', 'diz categorias diferentes')
  if (finish === 'length') return useless('it was cut off', 'foi cortada')
  return useless('it names no category', 'não diz a categoria')
}

function refused(
  received: ProviderResponse,
  status: number,
  error: Fields | undefined,
  about: About,
  bought: Bought | null,
): Answer {
  const facts = factsOf(about)
  const words = spoken(error?.message, about) || spoken(errorWord(received.body), about) || '-'
  const read = { status, words }
  switch (meaning(status, error, words)) {
    case 'wait': {
      const { why } = judgeAnswer(received, facts, { ...read, meaning: 'wait' })
      return { is: 'wait', why, retryAfter: waitOf(received, error), bought }
    }
    case 'key':
    case 'address':
      return { is: 'stop', of: 'provider', why: judgeAnswer(received, facts, { ...read, meaning: 'stop' }).why, bought }
    case 'model':
      return {
        is: 'stop',
        of: 'batch',
        why: new RetomaError(errors.ai_model, { provider: about.provider, ...read }),
        bought,
      }
    case 'document': {
      const why = new RetomaError(errors.document_refused, { provider: about.provider, ...read })
      return { is: 'item', why, bought, written: null }
    }
    case 'retry':
      return {
        is: 'retry',
        why: judgeAnswer(received, facts, { ...read, meaning: 'retry' }).why,
        bought,
        written: null,
      }
  }
}

/** A limit that waiting does not lift. "Add 10 credits to unlock more free requests" is not such a limit: this limit ends at midnight. */
const spent =
  /insufficient[_ ](?:quota|credit|balance|fund)|spend(?:ing)?[_ ]limit|key limit|out of credit|current quota|billing/i
const aboutKey = /\bkey\b|credential|unauthori[sz]ed|permission|not allowed|account|suspended|banned|region|country/i
const aboutModel = /not a valid model|model[^.]{0,80}(?:not found|does not exist|unavailable)|no endpoints found/i
const flagged = /moderat|flagged|guardrail|content policy|safety/i

function meaning(
  status: number,
  error: Fields | undefined,
  words: string,
): 'retry' | 'wait' | 'key' | 'address' | 'model' | 'document' {
  const isSpent = spent.test(`${words} ${word(error?.code)} ${word(error?.type)}`)
  if (status >= 300 && status < 400) return 'address'
  if (status === 401 || status === 402 || status === 407) return 'key'
  if (status === 403) {
    const metadata = fields(error?.metadata)
    if (metadata?.reasons !== undefined || metadata?.flagged_input !== undefined || flagged.test(words))
      return 'document'
    return isSpent || aboutKey.test(words) ? 'key' : 'document'
  }
  if (status === 429) return isSpent ? 'key' : 'wait'
  if (status === 503) return 'wait'
  if (status === 404 || (status === 400 && aboutModel.test(words))) return 'model'
  if (isSpent && status < 500) return 'key'
  if (status >= 500 || status < 400 || status === 408 || status === 409 || status === 425) return 'retry'
  return 'document'
}

/**
 * The status of an error in a body of status 200. A word instead of a number gets the status with the same meaning; without a code the
 * status is 500.
 */
function codeOf(error: Fields): number {
  const code = Number(word(error.code))
  if (Number.isInteger(code) && code >= 400 && code < 600) return code
  const words = `${word(error.code)} ${word(error.type)} ${word(error.message).slice(0, longestWords)}`
  if (spent.test(words)) return 402
  return /rate.?limit|too many requests/i.test(words) ? 429 : 500
}

/** The start of the next rate window may be in the body, with the headers of the provider behind OpenRouter. */
function waitOf({ header }: ProviderResponse, error: Fields | undefined): Duration | null {
  const named = word(fields(fields(error?.metadata)?.headers)?.['X-RateLimit-Reset'])
  return retryAfterOf({ header: name => header(name) ?? (name === 'x-ratelimit-reset' && named !== '' ? named : null) })
}

/** null if nothing shows a charge: no model answered. */
function boughtBy(body: Fields | undefined, about: About): Bought | null {
  const usage = fields(body?.usage)
  if (usage === undefined && list(body?.choices).length === 0) return null
  const cost = Number(word(usage?.cost))
  return {
    id: textOr(body?.id, about),
    model: textOr(body?.model, about),
    tokensIn: count(usage?.prompt_tokens),
    tokensOut: count(usage?.completion_tokens),
    cost: (cost > 0 && cost < 100_000 ? cost : 0).toFixed(6),
  }
}

/** Only text and numbers: conversion of an unknown object to text may throw. */
const word = (value: unknown): string => (typeof value === 'string' || typeof value === 'number' ? String(value) : '')
const count = (value: unknown): number | null =>
  Number.isInteger(value) && (value as number) >= 0 && (value as number) < 2 ** 31 ? (value as number) : null
const textOr = (value: unknown, about: About): string | null =>
  typeof value === 'string' ? plain(hide(value, about), 200) : null

type Fields = Record<string, unknown>

const fields = (value: unknown): Fields | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : undefined
const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])

/** Some providers send text in parts; parts with the model's reasoning are no part of the answer. */
function textOf(content: unknown): string | undefined {
  if (typeof content === 'string') return content.trim() === '' ? undefined : content
  const parts = list(content).flatMap(part => {
    const { type, text } = fields(part) ?? {}
    return /reason|think|thought/i.test(word(type).slice(0, 100)) ? [] : [text]
  })
  const whole = parts.filter(part => typeof part === 'string').join('')
  return whole.trim() === '' ? undefined : whole
}

function errorIn(body: Fields | undefined): Fields | undefined {
  const error = body?.error
  if (error === undefined || error === null || error === false) return undefined
  return fields(error) ?? { message: error }
}

/** A body without JSON may still have a message: the text without tags. */
const errorWord = (body: string): string =>
  body.trimStart().startsWith('{') ? '' : body.slice(0, 5000).replace(/<[^<>]*>/g, ' ')

const spoken = (words: unknown, about: About): string =>
  typeof words === 'string' ? plain(hide(words.replace(/\s+/g, ' '), about), longestWords) : ''

const writtenBy = (text: string, about: About): string | null => plain(hide(text, about), longestWritten) || null

const hide = (words: string, { key }: About): string => hideSecrets(words, [key])

function parsed(body: string): Fields | undefined {
  try {
    return fields(JSON.parse(body))
  } catch {
    return undefined
  }
}
