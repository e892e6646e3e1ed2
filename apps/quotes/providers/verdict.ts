/**
 * Defines the five meanings of an answer of an outside service, and their common rules. Each service has one pure function from an answer
 * to a verdict (`judgeAnalysis`, `judgeSearch`, `judgeVehicle`), and `unwrap` turns a verdict into a value or into the error that the
 * engine understands.
 *
 * - ok: a usable answer.
 * - retry: no answer, 408, 5xx, 529, a useless answer, status 200 with such an error in the body: a failed attempt.
 * - wait: 429, 503: the service waits, for all workers.
 * - stop: no request can succeed before a person acts: key, credit, address, model.
 * - item: this request, and no other, cannot be answered.
 */
import {
  type Duration,
  doNotRetry,
  hours,
  milliseconds,
  providerStop,
  providerWait,
  RetomaError,
  seconds,
} from 'retoma'
import { providerErrors } from './errors.ts'
import type { Received } from './service-call.ts'

export type Verdict<T> =
  | { is: 'ok'; value: T }
  | { is: 'retry'; why: RetomaError }
  | { is: 'wait'; why: RetomaError; retryAfter: Duration | null }
  | { is: 'stop'; why: RetomaError }
  | { is: 'item'; why: RetomaError }

export type Problem = Exclude<Verdict<never>, { is: 'ok' }>

export interface Service {
  /** For people. */
  name: string
  /** The variable with the address. */
  setting: string
  /** Never repeated, even if the answer contains the key. */
  key: string | undefined
}

export type Answered = Extract<Received, { status: number }>

/** Throws what the engine understands: a wait, a stop, a failed attempt, or a failure that no further attempt mends. */
export function unwrap<T>(verdict: Verdict<T>): T {
  if (verdict.is === 'ok') return verdict.value
  const { why } = verdict
  const said = { code: why.code, message: why.in('pt') }
  switch (verdict.is) {
    case 'wait':
      throw providerWait(verdict.retryAfter === null ? said : { ...said, retryAfter: verdict.retryAfter })
    case 'stop':
      throw providerStop(said)
    case 'item':
      throw doNotRetry(failed(why))
    case 'retry':
      throw failed(why)
  }
}

/** The error shown with a quote: the code, and the sentence in the language of the users. */
function failed(why: RetomaError): Error {
  return Object.assign(new Error(why.in('pt')), { name: 'QuoteError', code: why.code })
}

/** The verdict about an absent answer. */
export function brokenVerdict(received: Exclude<Received, Answered>, { name: provider }: Service): Problem {
  if (received.broken === 'late')
    return retry(new RetomaError(providerErrors.service_timeout, { provider, seconds: received.seconds }))
  if (received.broken === 'link')
    return retry(new RetomaError(providerErrors.service_unreachable, { provider, problem: received.code }))
  return garbage(provider, 'it is too long', 'é longa demais')
}

const retry = (why: RetomaError): Problem => ({ is: 'retry', why })

export const garbage = (provider: string, en: string, pt: string): Problem =>
  retry(new RetomaError(providerErrors.service_garbage, { provider, problem: { en, pt } }))

export type Meaning = 'retry' | 'wait' | 'stop' | 'item'

/** The usual meaning of a status; a service gives other meanings by the words of the answer. */
export function usualMeaning(status: number): Meaning {
  if (status === 401 || status === 402 || status === 403 || status === 407) return 'stop'
  if (status === 429 || status === 503) return 'wait'
  if (status >= 500 || status < 400 || status === 408 || status === 409 || status === 425) return 'retry'
  return 'item'
}

/** The verdict about a refusal. */
export function refusal(
  received: Answered,
  service: Service,
  meaning: Meaning,
  status: number,
  words: string,
): Problem {
  const { name: provider, setting } = service
  if (received.status >= 300 && received.status < 400)
    return {
      is: 'stop',
      why: new RetomaError(providerErrors.service_moved, { provider, status: received.status, setting }),
    }
  const facts = { provider, status, words: spoken(words, service) || '-' }
  switch (meaning) {
    case 'wait':
      return { is: 'wait', why: new RetomaError(providerErrors.service_busy, facts), retryAfter: retryAfter(received) }
    case 'stop':
      return { is: 'stop', why: new RetomaError(providerErrors.service_refused, facts) }
    case 'item':
      return { is: 'item', why: new RetomaError(providerErrors.service_request, facts) }
    case 'retry':
      return retry(new RetomaError(providerErrors.service_error, facts))
  }
}

const shortestWait = seconds(1)
const longestWait = hours(24)

/** Seconds, or a date by the clock of the sender. null: the answer names no instant. */
function retryAfter({ header }: Answered): Duration | null {
  const said = (header('retry-after') ?? '').trim()
  const ms = /^\d{1,9}(?:\.\d+)?$/.test(said) ? Number(said) * 1000 : untilDate(said, Date.parse(header('date') ?? ''))
  return Number.isNaN(ms) ? null : milliseconds(Math.min(Math.max(ms, shortestWait), longestWait))
}

/** Date.parse alone takes "-5" for a year. */
const untilDate = (text: string, sent: number): number =>
  /^[a-z]{3,9},? .* gmt$/i.test(text) ? Date.parse(text) - sent : Number.NaN

const longestWords = 300

/** Words of a service for people: one line, bounded, without a key, without tags. */
const spoken = (words: string, service: Service): string =>
  [...hideKey(words.slice(0, 5000).replace(/<[^<>]*>/g, ' '), service).replace(/[\s\p{C}]+/gu, ' ')]
    .slice(0, longestWords)
    .join('')
    .trim()

/** Hides our key, and everything similar to a key. */
export const hideKey = (text: string, { key }: Service): string =>
  (key === undefined || key === '' ? text : text.split(key).join('[…]').split(encodeURIComponent(key)).join('[…]'))
    .replace(/\b(api_key=)[^&\s"'<>]+/gi, '$1[…]')
    .replace(/\b(?:sk-|rt_)[\w-]{6,}/g, '[…]')
    .replace(/\b(bearer) [\w.~+/=-]{6,}/gi, '$1 […]')

export type Fields = Record<string, unknown>

export const fields = (value: unknown): Fields | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : undefined
export const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])
/** Only text and numbers: conversion of an unknown object to text may throw. */
export const word = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : ''
export const textOrNull = (value: unknown, most = 500): string | null => {
  const text = word(value)
    .replace(/[\s\p{C}]+/gu, ' ')
    .trim()
    .slice(0, most)
    .toWellFormed()
  return text === '' ? null : text
}

/** undefined: no JSON. */
export function parsed(body: string): unknown {
  try {
    return JSON.parse(body) as unknown
  } catch {
    return undefined
  }
}
