/**
 * Validates the schedules of an engine when the engine is created, lists schedules, and runs a schedule by hand. The scheduler
 * fires schedules by their recurrence.
 */

import { type Db, type Run, runOn } from '../database/db.ts'
import { lockedKeyOf } from '../enqueue/insert-jobs.ts'
import type { QueueDepths } from '../enqueue/queue-depth.ts'
import { hintFor } from '../errors/did-you-mean.ts'
import { isRetomaError, type LocalizedText, localized, RetomaError } from '../errors/errors.ts'
import { refuseOption } from '../errors/invalid-option.ts'
import { exactlyOnce, type Replayable } from '../idempotency/idempotent-request.ts'
import type { IdempotencyKey, StoredResponse } from '../idempotency/stored-response.sql.ts'
import { type ActedBy, checkActor } from '../jobs/model/actor.ts'
import type { Clock } from '../lib/clock.ts'
import { occurrenceAfter, type Recurrence } from './model/recurrence.ts'
import { recurrenceWords } from './model/recurrence-words.ts'
import { inputFor, type Schedule } from './model/schedule.ts'
import {
  bringIntoForce,
  fireByHand,
  pauseSchedule,
  type ScheduledJob,
  type ScheduleView,
  viewScheduleRuns,
  viewSchedules,
} from './schedule.sql.ts'
import { jobFor } from './scheduler.ts'

/** The namespace `engine.schedules`. */
export interface SchedulesApi {
  /** The schedules of this engine and the schedules of other processes, by name. */
  list(): Promise<ScheduleView[]>
  /**
   * Enqueues the job of a schedule of this engine now, in addition to the recurrence: the next occurrence stays. If another job
   * has the unique key, answers the other job with `created: false`. Throws `unknown_schedule`, `queue_full`, `key_locked`.
   */
  run(name: string, options?: ActedBy): Promise<ScheduleRun>
  /** The occurrences of a schedule pass without a job until `resume`, in every process. Throws `unknown_schedule`. */
  pause(name: string, options?: ActedBy): Promise<ScheduleActionResult>
  /** A paused schedule goes on with its next occurrence; what passed meanwhile is not caught up. Throws `unknown_schedule`. */
  resume(name: string, options?: ActedBy): Promise<ScheduleActionResult>
  /** The next times of a schedule of any process, 10 or `count`, and the recurrence in words. Throws `unknown_schedule`. */
  occurrences(
    name: string,
    options?: {
      /** The number of times, 1 to 100. Default: 10. */
      count?: number
    },
  ): Promise<ScheduleOccurrences>
}

/** The result of an action: the schedule afterwards, and whether this call changed the schedule. */
export interface ScheduleActionResult {
  name: string
  paused: boolean
  changed: boolean
}

/** The next times of a schedule. */
export interface ScheduleOccurrences {
  name: string
  recurrence: Recurrence
  words: LocalizedText
  times: Date[]
}

/** For HTTP alone. */
export interface IdempotentSchedules {
  /**
   * `schedules.run` as an idempotent request: stores `answer` of the result; a repetition gets the stored response and enqueues nothing.
   */
  runScheduleOnce(
    name: string,
    once: IdempotencyKey,
    answer: (made: ScheduleRun) => StoredResponse,
    options?: ActedBy,
  ): Promise<Replayable<ScheduleRun>>
  /** The last jobs of a schedule of any process, by recurrence or by hand, the newest first. Throws `unknown_schedule`. */
  scheduleRuns(name: string): Promise<ScheduledJob[]>
}

/** The job of a schedule that was run by hand. */
export interface ScheduleRun {
  /** The id of the job. */
  id: string
  created: boolean
}

export function createScheduleActions(given: {
  db: Db
  clock: Clock
  schedules: readonly Schedule[]
  queueDepths: QueueDepths
  wake: (queue: string) => void
}): IdempotentSchedules & { schedules: SchedulesApi } {
  const { db, clock, schedules: defined, queueDepths, wake } = given

  /** Answers the function that fires the schedule inside a transaction. */
  async function firing(name: string, options: ActedBy | undefined) {
    const by = checkActor(options)
    const schedule = defined.find(each => each.name === name)
    if (schedule === undefined) {
      const known = defined.map(each => each.name)
      throw new RetomaError('unknown_schedule', { name, hint: hintFor(name, known) })
    }
    const job = await jobFor(schedule, clock.now())
    await queueDepths.admit(job.queue, 1)
    return (run: Run) => fireByHand(run, name, job, by, clock.instant()).catch(lockedKeyOf([job]))
  }

  function announce(name: string, made: ScheduleRun | undefined): void {
    if (!made?.created) return
    const { job, options } = defined.find(each => each.name === name)!
    wake(options.queue ?? job.queue)
  }

  async function setPaused(name: string, paused: boolean, options: ActedBy | undefined): Promise<ScheduleActionResult> {
    const by = checkActor(options)
    const { recurrence } = await find(name)
    const nextAt = occurrenceAfter(recurrence, clock.now())
    const apply = () => pauseSchedule(db, name, { paused, nextAt, by }, clock.instant())
    let applied = await apply()
    if (applied === undefined) {
      // A schedule of this engine that no process has stored so far.
      const { job, catchUp } = defined.find(each => each.name === name)!
      await bringIntoForce(db, { name, kind: job.kind, recurrence, catchUp }, nextAt, clock.instant())
      applied = await apply()
    }
    return { name, paused, changed: applied?.changed ?? false }
  }

  async function find(name: string): Promise<ScheduleView> {
    const all = await list()
    const found = all.find(each => each.name === name)
    if (found !== undefined) return found
    const known = all.map(each => each.name)
    throw new RetomaError('unknown_schedule', { name, hint: hintFor(name, known) })
  }

  async function list(): Promise<ScheduleView[]> {
    const found = await viewSchedules(db, clock.instant())
    const missing = defined.filter(({ name }) => found.every(each => each.name !== name))
    return [...found, ...missing.map(each => notYet(each, clock.now()))].sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  return {
    schedules: {
      list,
      pause: (name, options) => setPaused(name, true, options),
      resume: (name, options) => setPaused(name, false, options),

      async occurrences(name, { count = 10 } = {}) {
        if (!Number.isInteger(count) || count < 1 || count > 100)
          refuseOption('count', 'it is from 1 to 100', 'é de 1 a 100')
        const { recurrence, nextAt } = await find(name)
        const times = [nextAt]
        while (times.length < count) times.push(occurrenceAfter(recurrence, times.at(-1)!))
        return { name, recurrence, words: recurrenceWords(recurrence), times }
      },

      async run(name, options) {
        const fire = await firing(name, options)
        const made = await db.transaction(client => fire(runOn(client)))
        announce(name, made)
        return made
      },
    },

    async scheduleRuns(name) {
      const { lastJob } = await find(name)
      const ref = defined.find(each => each.name === name)?.options.ref
      return viewScheduleRuns(db, { name, ref: ref ?? null, lastJob })
    },

    async runScheduleOnce(name, once, answer, options) {
      const done = await exactlyOnce({ db, clock }, once, () => firing(name, options), answer)
      announce(name, done.made)
      return done
    },
  }
}

/** No process has stored the schedule so far: answers the view as it will be. */
function notYet({ name, job, recurrence, catchUp }: Schedule, now: Date): ScheduleView {
  const nextAt = occurrenceAfter(recurrence, now)
  return {
    name,
    kind: job.kind,
    recurrence,
    catchUp,
    nextAt,
    lastOccurrence: null,
    lastAt: null,
    lastJob: null,
    active: false,
    paused: false,
  }
}

/** Validates schedules when the engine is created, not at the first occurrence: a duplicate name, an input the job rejects. */
export async function checkSchedules(schedules: readonly Schedule[], now: Date): Promise<void> {
  const names = new Set<string>()
  for (const schedule of schedules) {
    const refuse = (en: string, pt: string): never => {
      const what = localized(`the schedule "${schedule?.name}"`, `agendamento "${schedule?.name}"`)
      throw new RetomaError('bad_definition', { what, problem: localized(en, pt) })
    }
    if (typeof schedule?.input !== 'function')
      refuse('it was not made by defineSchedule', 'ele não foi feito por defineSchedule')
    if (names.has(schedule.name)) refuse('another schedule has the same name', 'outro agendamento tem o mesmo nome')
    names.add(schedule.name)
    try {
      await inputFor(schedule, occurrenceAfter(schedule.recurrence, now))
    } catch (error) {
      if (isRetomaError(error, 'bad_input')) refuse(error.in('en'), error.in('pt'))
      refuse(`its input cannot be made: ${error}`, `a entrada não pode ser feita: ${error}`)
    }
  }
}
