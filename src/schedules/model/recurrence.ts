/**
 * Computes the occurrences of a recurrence: a cron pattern in a time zone, or a fixed interval.
 *
 * Invariant: occurrences depend on the recurrence alone, never on the start or the checks of a process: `every` counts from the
 * epoch, so that all processes compute the same instants. When clocks go forward, an occurrence in the missing hour is at the
 * jump; when clocks go back, a fixed time of day occurs only in the first of the two hours.
 */
import { Cron } from 'croner'
import { type LocalizedText, localized } from '../../errors/errors.ts'
import { type Duration, seconds } from '../../lib/values/duration.ts'

/** The times of a schedule. */
export type Recurrence = CronRecurrence | IntervalRecurrence

/** The times of a schedule by cron. */
export interface CronRecurrence {
  readonly cron: string
  readonly timeZone: string
}

/** The times of a schedule by interval. */
export interface IntervalRecurrence {
  readonly every: Duration
}

/** Shortest distance between two occurrences. */
export const closest = seconds(1)

/** Returns the first occurrence after the instant. */
export function occurrenceAfter(recurrence: Recurrence, instant: Date): Date {
  if ('every' in recurrence) return new Date((Math.floor(instant.getTime() / recurrence.every) + 1) * recurrence.every)
  const occurrence = read(recurrence).nextRun(instant)
  if (occurrence === null) throw new RangeError(`"${recurrence.cron}" names no instant after ${instant.toISOString()}`)
  return occurrence
}

/**
 * Returns the last occurrence up to and including `now`; `first` is an occurrence not after `now`. Binary search, because there
 * may be millions of occurrences.
 */
export function lastOccurrence(recurrence: Recurrence, first: Date, now: Date): Date {
  let last = first
  let end = now.getTime() // no occurrence is after `end` and up to `now`
  while (end - last.getTime() >= closest) {
    const middle = new Date((last.getTime() + end) / 2)
    const occurrence = occurrenceAfter(recurrence, middle)
    if (occurrence <= now) last = occurrence
    else end = middle.getTime()
  }
  return last
}

/** Returns the problem of the pattern, sometimes in the words of croner; undefined: no problem. */
export function cronProblem(cron: string): LocalizedText | undefined {
  if (!/^(@\w+|\S+( \S+){4,5})$/.test(cron))
    return localized(
      'it has five fields (minute hour day month weekday), or six with seconds first',
      'ele tem cinco campos (minuto hora dia mês dia-da-semana), ou seis com os segundos primeiro',
    )
  try {
    const names = read({ cron, timeZone: 'UTC' }).nextRun(new Date(0)) !== null
    return names ? undefined : localized('it names no instant at all', 'ele não indica nenhum instante')
  } catch (error) {
    const quote = (error as Error).message.replace(/^CronPattern: /, '')
    return localized(quote, quote)
  }
}

export function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }) !== undefined
  } catch {
    return false
  }
}

/** Paused: croner only computes, and starts no timer. */
const read = ({ cron, timeZone }: CronRecurrence): Cron =>
  new Cron(cron, { timezone: timeZone, paused: true, mode: '5-or-6-parts' })
