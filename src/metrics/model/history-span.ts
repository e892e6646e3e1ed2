/**
 * Chooses the rows that answer a question for the history: the span, the step of the points, and the length of the stored rows (a minute or
 * an hour).
 *
 * Invariant: a span has at most 1,500 points, and no point is made of rows that are already removed: a step below an hour needs minutes,
 * which are kept for 48 hours.
 */
import { localized, RetomaError } from '../../errors/errors.ts'

/** Options of `engine.metrics.history`. */
export interface HistoryOptions {
  /** Only this queue. Default: every queue. */
  queue?: string | undefined
  /** Leaves out these queues, in `total` too. Default: none. */
  exceptQueues?: readonly string[] | undefined
  /** Start of the span. Default: an hour before `to`. */
  from?: Date | undefined
  /** End of the span; not included. Default: now. */
  to?: Date | undefined
  /** Length of a point in seconds: whole minutes, at most a day. Default: the shortest usual step with at most 300 points. */
  step?: number | undefined
}

export interface HistorySpan {
  from: Date
  to: Date
  stepSeconds: number
  /** Length in seconds of the rows to read. */
  rowSeconds: 60 | 3600
}

const minute = 60
const hour = 3600
const day = 24 * hour
export const minutesKeptHours = 48
export const hoursKeptDays = 90
/** Rows stay a little longer than promised, so that a span of exactly 48 hours is complete whatever the clock of the caller. */
export const graceHours = 2
const mostPoints = 1500
const usualPoints = 300
const usualSteps = [1, 5, 10, 15, 30, 60, 180, 360, 720, 1440].map(minutes => minutes * minute)

/** Throws `bad_option` naming the option. */
export function spanOf({ from, to, step }: HistoryOptions, now: Date): HistorySpan {
  const end = to ?? now
  const begin = from ?? new Date(end.getTime() - hour * 1000)
  for (const [option, value] of Object.entries({ from: begin, to: end }))
    if (!(value instanceof Date) || Number.isNaN(value.getTime())) refuse(option, 'it is a Date', 'é uma Date')
  const seconds = (end.getTime() - begin.getTime()) / 1000
  if (seconds <= 0) refuse('from', 'it is before `to`', 'fica antes de `to`')
  const age = (now.getTime() - begin.getTime()) / 1000
  if (age > (hoursKeptDays + 1) * day)
    refuse('from', `the history goes back ${hoursKeptDays} days`, `a história vai até ${hoursKeptDays} dias atrás`)
  const needsHours = age > (minutesKeptHours + graceHours / 2) * hour
  const stepSeconds = step ?? usual(seconds, needsHours)
  if (!Number.isInteger(stepSeconds / minute) || stepSeconds < minute || stepSeconds > day)
    refuse(
      'step',
      'it is a number of seconds: whole minutes, from 60 to 86400',
      'é um número de segundos: minutos inteiros, de 60 a 86400',
    )
  if (needsHours && stepSeconds % hour !== 0)
    refuse(
      'step',
      `minutes are kept for ${minutesKeptHours} hours; a span that begins earlier needs whole hours (3600)`,
      `os minutos ficam ${minutesKeptHours} horas; um período que começa antes pede horas inteiras (3600)`,
    )
  if (seconds / stepSeconds > mostPoints)
    refuse(
      'step',
      `the span has more than ${mostPoints} points; choose a longer step`,
      `o período tem mais de ${mostPoints} pontos; escolha um passo maior`,
    )
  const steps = (at: Date) => at.getTime() / 1000 / stepSeconds
  // Up to now: the step that has just begun belongs to the span.
  const last = to === undefined ? Math.floor(steps(end)) + 1 : Math.ceil(steps(end))
  return {
    from: new Date(Math.floor(steps(begin)) * stepSeconds * 1000),
    to: new Date(last * stepSeconds * 1000),
    stepSeconds,
    rowSeconds: stepSeconds % hour === 0 ? hour : minute,
  }
}

function usual(seconds: number, needsHours: boolean): number {
  const fits = (step: number) => seconds / step <= usualPoints && (!needsHours || step >= hour)
  return usualSteps.find(fits) ?? day
}

const refuse = (option: string, en: string, pt: string): never => {
  throw new RetomaError('bad_option', { option, problem: localized(en, pt) })
}
