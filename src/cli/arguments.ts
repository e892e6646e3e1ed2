/** Parses arguments and options. An invalid text is `wrong_use`, worded in both languages. */

import { roles, type TokenRole } from '../auth/model/token.ts'
import { type BatchState, batchStates } from '../batches/model/batch-state.ts'
import { RetomaError } from '../errors/errors.ts'
import { type JobState, states } from '../jobs/model/state.ts'
import { type Duration, parseDuration } from '../lib/values/duration.ts'
import { suggestion } from '../settings/index.ts'
import { mostProcesses, parseProcesses } from '../settings/process-count.ts'
import { both, type CliMessages } from './messages/index.ts'

export const wrongUse = (pick: (word: CliMessages, language: 'en' | 'pt') => string): RetomaError =>
  new RetomaError('wrong_use', { problem: both(pick) })

export const wholeNumber =
  (option: string, least: number, most: number) =>
  (given: string): number => {
    const number = /^\d{1,9}$/.test(given) ? Number(given) : Number.NaN
    if (number >= least && number <= most) return number
    throw wrongUse(word => word.wrong.wholeNumber(option, least, most, given))
  }

export function processes(given: string): number {
  const number = parseProcesses(given)
  if (number !== undefined) return number
  throw wrongUse(word => word.wrong.processes(mostProcesses, given))
}

export const duration =
  (option: string) =>
  (given: string): Duration => {
    const parsed = parseDuration(given)
    if (parsed !== undefined) return parsed
    throw wrongUse(word => word.wrong.duration(option, given))
  }

/** ISO 8601; without a zone, this machine's local time. */
export const instant =
  (option: string) =>
  (given: string): Date => {
    const parsed = new Date(/^\d{4}-\d\d-\d\d$/.test(given) ? `${given}T00:00` : given)
    if (/^\d{4}-\d\d-\d\d/.test(given) && Number.isFinite(parsed.getTime())) return parsed
    throw wrongUse(word => word.wrong.instant(option, given))
  }

export const state = (given: string): JobState => oneOf(states, given)
export const batchState = (given: string): BatchState => oneOf(batchStates, given)

function oneOf<S extends string>(states: readonly S[], given: string): S {
  const known = states.find(each => each === given)
  if (known !== undefined) return known
  const hint = suggestion(given, states)
  throw wrongUse((word, language) => word.wrong.state(given, states.join(', '), hint[language]))
}

export function role(given: string): TokenRole {
  const known = roles.find(each => each === given)
  if (known !== undefined) return known
  const hint = suggestion(given, roles)
  throw wrongUse((word, language) => word.wrong.role(given, roles.join(', '), hint[language]))
}

/** An error fingerprint; empty: failures without a fingerprint. */
export function cause(given: string): string {
  if (/^[0-9a-f]{0,40}$/.test(given)) return given
  throw wrongUse(word => word.wrong.cause(given))
}

export type QueueSizes = Readonly<Record<string, number>>

/** `mail:20,sync:5`; a name alone gets the size of `usual`. */
export function queueSizes(given: string, usual: QueueSizes): QueueSizes {
  const sizes = new Map<string, number>()
  for (const part of given.split(',').map(each => each.trim())) {
    // The name of a queue may contain colons; the size follows the last colon.
    const [, name, size] = /^(.+?)(?::(\d{1,5}))?$/.exec(part) ?? []
    if (name === undefined || (size !== undefined && !(Number(size) >= 1 && Number(size) <= 10_000))) {
      throw wrongUse(word => word.wrong.queueSizes(part))
    }
    const known = Object.keys(usual)
    if (!known.includes(name)) {
      if (/:[^:]*$/.test(name) && known.includes(name.replace(/:[^:]*$/, '')))
        throw wrongUse(word => word.wrong.queueSizes(part))
      const hint = suggestion(name, known)
      throw wrongUse((word, language) => word.wrong.queue(name, known.join(', '), hint[language]))
    }
    if (sizes.has(name)) throw wrongUse(word => word.wrong.queueTwice(name))
    sizes.set(name, size === undefined ? usual[name]! : Number(size))
  }
  return Object.fromEntries(sizes)
}

export function json(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw wrongUse(word => word.wrong.json((error as Error).message))
  }
}
