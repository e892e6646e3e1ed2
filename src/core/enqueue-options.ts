/** What a caller may ask for when a job comes in, checked at the door. */
import { RetomaError } from '../errors.ts'
import { type Duration, longestDuration } from './duration.ts'
import { asText } from './json.ts'
import { didYouMean } from './suggest.ts'

export interface EnqueueOptions {
  /** One job per kind and key: while the key is held, enqueue answers the job that holds it. */
  key?: string
  /** How long the key is held: until 24 h after the job's end (default), or only until its end. */
  keyUntil?: 'day' | 'final'
  /** 0 (first) to 9; default 4. */
  priority?: number
  runAt?: Date
  delay?: Duration
  /** The tenant or user it belongs to. */
  groupKey?: string
  /** Your own code for it, such as a document's; shown wherever the job is. */
  ref?: string
}

export interface CheckedOptions {
  key: string | null
  keyHold: 'day' | 'final' | null
  priority: number
  runAt: Date | null
  delayMs: number
  groupKey: string | null
  ref: string | null
}

const names = ['key', 'keyUntil', 'priority', 'runAt', 'delay', 'groupKey', 'ref']

export function checkEnqueueOptions(options: EnqueueOptions): CheckedOptions {
  for (const option of Object.keys(options)) {
    if (!names.includes(option)) refuse(option, `there is no such option${didYouMean(option, names)}`)
  }
  const { key, keyUntil, priority = 4, runAt, delay = 0, groupKey, ref } = options
  if (keyUntil !== undefined && keyUntil !== 'day' && keyUntil !== 'final')
    refuse('keyUntil', `it is 'day' or 'final', not ${show(keyUntil)}`)
  if (keyUntil !== undefined && key === undefined) refuse('keyUntil', 'it goes with key')
  if (!Number.isInteger(priority) || priority < 0 || priority > 9)
    refuse('priority', `it is a whole number from 0 (first) to 9, not ${show(priority)}`)
  if (runAt !== undefined && options.delay !== undefined) refuse('delay', 'give either runAt or delay, not both')
  if (runAt !== undefined && !(runAt instanceof Date && Number.isFinite(runAt.getTime())))
    refuse('runAt', `it is a valid Date, not ${show(runAt)}`)
  if (runAt !== undefined && (runAt.getUTCFullYear() < 1 || runAt.getUTCFullYear() > 9999))
    refuse('runAt', 'its year is from 1 to 9999')
  if (!(Number.isFinite(delay) && delay >= 0 && delay <= longestDuration))
    refuse('delay', `it is a duration from zero to 100 years, such as minutes(5), not ${show(delay)}`)
  return {
    key: text('key', key),
    keyHold: key === undefined ? null : (keyUntil ?? 'day'),
    priority,
    runAt: runAt ?? null,
    delayMs: delay,
    groupKey: text('groupKey', groupKey),
    ref: text('ref', ref),
  }
}

function text(option: string, value: string | undefined): string | null {
  if (value === undefined) return null
  if (typeof value !== 'string' || value.length === 0 || value.length > 500)
    refuse(option, `it is a text of 1 to 500 characters, not ${show(value)}`)
  if (value.includes('\u0000') || !value.isWellFormed())
    refuse(option, 'it holds a character that PostgreSQL cannot store')
  return value
}

function refuse(option: string, problem: string): never {
  throw new RetomaError('bad_option', { option, problem })
}

function show(value: unknown): string {
  if (typeof value === 'string') return value.length > 40 ? `${value.length} characters` : `"${value}"`
  return value instanceof Date ? 'an invalid date' : asText(value)
}
