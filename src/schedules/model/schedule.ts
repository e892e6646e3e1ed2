/**
 * Checks `defineSchedule`: a job and a recurrence. Other code trusts the returned schedule. The input is checked when an engine
 * gets the schedule, and at every occurrence.
 */

import {
  type CheckedEnqueueOptions,
  checkEnqueueOptions,
  type EnqueueOptions,
} from '../../enqueue/model/enqueue-options.ts'
import { checkedInput } from '../../enqueue/model/job-input.ts'
import { suggestion } from '../../errors/did-you-mean.ts'
import { isRetomaError, localized, RetomaError } from '../../errors/errors.ts'
import { type Refuse, refuseDefinition, refuseUnknown } from '../../errors/invalid-option.ts'
import { type AnyJob, isJob, type Job } from '../../jobs/model/job.ts'
import { type Duration, longestDuration } from '../../lib/values/duration.ts'
import { shownValue } from '../../lib/values/json.ts'
import { namePattern, nameRule } from '../../lib/values/name.ts'
import { type CatchUp, catchUps } from './catch-up.ts'
import { closest, cronProblem, isTimeZone, type Recurrence } from './recurrence.ts'

/** A schedule, for `createEngine({ schedules })`. */
export interface Schedule {
  readonly name: string
  readonly job: AnyJob
  readonly recurrence: Recurrence
  readonly catchUp: CatchUp
  readonly options: CheckedEnqueueOptions
  /** Input of the job for an occurrence. */
  readonly input: (occurrence: Date) => unknown
}

/**
 * A unique key lasts until the final state of the job: while the job of an earlier occurrence has no final state, an occurrence
 * adds no job.
 */
export type ScheduledJobOptions = Omit<EnqueueOptions, 'runAt' | 'keyUntil'>

type When =
  | {
      /** `minute hour day month weekday`, or six fields with seconds first. */
      cron: string
      /** For example `America/Sao_Paulo`. Default: UTC. */
      timeZone?: string
      every?: undefined
    }
  | {
      /** Counted from the epoch, so that all processes agree: `minutes(5)` is :00, :05, :10 … */
      every: Duration
      cron?: undefined
      timeZone?: undefined
    }

/** The input, or a function from the instant of the occurrence to the input. Optional if the job needs no input. */
type Given<Input> = undefined extends Input
  ? { input?: Input | ((occurrence: Date) => Input) }
  : { input: Input | ((occurrence: Date) => Input) }

/** Options of `defineSchedule`. */
export type ScheduleOptions<Input> = {
  /** The name of the schedule, unique in an engine. */
  name: string
  /** The job to enqueue. */
  job: Job<Input, unknown>
  /** Rule for the occurrences missed while no process ran. Default: `once`. */
  catchUp?: CatchUp
  /** Options of the enqueued jobs. Default: none. */
  options?: ScheduledJobOptions
} & When &
  Given<NoInfer<Input>>

const known = ['name', 'job', 'input', 'cron', 'every', 'timeZone', 'catchUp', 'options']

/**
 * Defines a schedule: a job that the engine enqueues by cron or by interval. Throws `bad_definition`.
 *
 * @example
 * const nightly = defineSchedule({
 *   name: 'nightly',
 *   job: removeOldFiles,
 *   cron: '0 4 * * *',
 *   timeZone: 'America/Sao_Paulo',
 *   input: at => ({ before: at.toISOString() }),
 * })
 */
export function defineSchedule<Input>(given: ScheduleOptions<Input>): Schedule {
  const name = typeof given?.name === 'string' ? given.name : ''
  const what = name
    ? localized(`the schedule "${name}"`, `agendamento "${name}"`)
    : localized('a schedule', 'agendamento')
  const refuse: Refuse = refuseDefinition(what)
  if (given === null || typeof given !== 'object')
    refuse(
      'defineSchedule takes one object with name, job, and cron or every',
      'defineSchedule recebe um objeto com name, job, e cron ou every',
    )
  refuseUnknown(given, known, refuse)
  if (!namePattern.test(name)) refuse(`name must be ${nameRule.en}`, `name deve ter ${nameRule.pt}`)
  if (!isJob(given.job)) refuse('job must be made by defineJob', 'job deve ser feito por defineJob')
  const { job, catchUp = 'once', input } = given as ScheduleOptions<unknown>
  if (!catchUps.includes(catchUp))
    refuse(
      `catchUp must be one of ${catchUps.join(', ')}, not "${catchUp}"`,
      `catchUp deve ser um destes: ${catchUps.join(', ')}; não "${catchUp}"`,
    )
  return {
    name,
    job,
    recurrence: recurrenceOf(given, refuse),
    catchUp,
    options: optionsOf(given.options ?? {}, job, refuse),
    input: typeof input === 'function' ? (input as Schedule['input']) : () => input,
  }
}

function recurrenceOf({ cron, every, timeZone }: When, refuse: Refuse): Recurrence {
  if (cron !== undefined && every !== undefined)
    refuse('give either cron or every, not both', 'use cron ou every, um só')
  if (cron === undefined && every === undefined)
    refuse('it needs cron or every, to know when it fires', 'falta cron ou every, para saber quando dispara')
  if (every !== undefined) {
    if (timeZone !== undefined)
      refuse('timeZone goes with cron; every counts from the epoch', 'timeZone vai com cron; every conta desde a época')
    if (!(Number.isInteger(every) && every >= closest && every <= longestDuration))
      refuse(
        `every must be a duration from 1 second to 100 years, such as minutes(5), not ${shownValue(every)}`,
        `every deve ser uma duração de 1 segundo a 100 anos, como minutes(5), não ${shownValue(every)}`,
      )
    return { every }
  }
  if (typeof cron !== 'string')
    return refuse('cron must be a text such as "0 4 * * *"', 'cron deve ser um texto como "0 4 * * *"')
  const pattern = cron.trim().replace(/\s+/g, ' ')
  const problem = cronProblem(pattern)
  if (problem !== undefined)
    refuse(`cron "${cron}" cannot be read: ${problem.en}`, `cron "${cron}" não pode ser lido: ${problem.pt}`)
  if (timeZone !== undefined && !(typeof timeZone === 'string' && isTimeZone(timeZone))) {
    const hint = suggestion(String(timeZone), Intl.supportedValuesOf('timeZone'))
    refuse(
      `there is no time zone "${timeZone}"${hint.en || ', such as America/Sao_Paulo'}`,
      `não existe o fuso horário "${timeZone}"${hint.pt || ', como America/Sao_Paulo'}`,
    )
  }
  return { cron: pattern, timeZone: timeZone ?? 'UTC' }
}

function optionsOf(options: ScheduledJobOptions, job: AnyJob, refuse: Refuse): CheckedEnqueueOptions {
  if ('runAt' in options) refuse('options.runAt: the recurrence says when', 'options.runAt: a recorrência diz quando')
  if ('keyUntil' in options)
    refuse(
      'options.keyUntil: the key of a scheduled job is held until its end',
      'options.keyUntil: a chave de um job agendado vale até o fim dele',
    )
  try {
    return checkEnqueueOptions(options.key === undefined ? options : { ...options, keyUntil: 'final' }, job)
  } catch (error) {
    if (!isRetomaError(error, 'bad_option')) throw error
    const [en, pt] = [error.factsIn('en'), error.factsIn('pt')]
    return refuse(`options.${en.option}: ${en.problem}`, `options.${pt.option}: ${pt.problem}`)
  }
}

/** Returns the input of the job for the occurrence as JSON text. Throws `bad_input`, or an error of the input function. */
export async function inputFor({ job, input }: Schedule, occurrence: Date): Promise<string> {
  const made = input(occurrence)
  // A promise would be stored as an empty object.
  if (made instanceof Promise) {
    made.catch(() => {})
    throw new RetomaError('bad_input', {
      kind: job.kind,
      problem: localized(
        'it is a promise; what takes time belongs in the job',
        'é uma promise; o que demora deve ficar no job',
      ),
    })
  }
  return checkedInput(job, made)
}

/** Returns the `ref` of the job, to show the occurrence, unless the options have a `ref`: `cleanup@2026-11-15T07:00:00Z`. */
export const refOf = ({ name, options }: Schedule, occurrence: Date): string =>
  options.ref ?? `${name}@${occurrence.toISOString().replace('.000Z', 'Z')}`
