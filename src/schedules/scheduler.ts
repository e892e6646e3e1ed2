/**
 * Runs a tick of the scheduler: reads the schedules of this process, stores new recurrences, fires due occurrences. Runs in every
 * worker and server with schedules; there is no leader, because a process wins an occurrence by a single conditional update.
 *
 * Invariant: a schedule that cannot fire (the job rejects its input) keeps its occurrence and does not hold up other schedules.
 */

import type { Db } from '../database/db.ts'
import { type NewJob, newJob } from '../enqueue/enqueue.sql.ts'
import type { Log } from '../lib/logging/log.ts'
import { dueOccurrences } from './model/catch-up.ts'
import { closest, occurrenceAfter } from './model/recurrence.ts'
import { inputFor, refOf, type Schedule } from './model/schedule.ts'
import {
  bringIntoForce,
  fireOccurrences,
  readSchedules,
  type ScheduleCheck,
  type StoredSchedule,
} from './schedule.sql.ts'

/** Interval of reads without a due occurrence: for recurrences stored by other processes. */
export const pollIntervalMs = 30_000
const againMs = 1000

/** Occurrences fired in a transaction, and transactions in a tick. */
const chunkSize = 100
const maxChunks = 10

export interface Scheduler {
  /** Answers the milliseconds until the next occurrence or the next read. */
  tick(now: Date | null): Promise<number>
}

export function createScheduler(given: {
  db: Db
  log: Log
  schedules: readonly Schedule[]
  /** The queue got a job. */
  fired: (queue: string) => void
}): Scheduler {
  const { db, log, schedules, fired } = given
  const stored = schedules.map(schedule => ({ ...schedule, kind: schedule.job.kind }))
  const named = new Map(stored.map(schedule => [schedule.name, schedule]))
  /** Start of this process's schedules, by the database clock: recurrences count from here. */
  let since: Date | undefined

  /** Offers recurrences of this process that are not in force; the database decides. Answers the number of offers. */
  async function bring(checks: readonly ScheduleCheck[], now: Date | null): Promise<number> {
    const absent = checks.filter(each => each.nextAt === null || each.mayTake)
    for (const each of absent) {
      const schedule = named.get(each.name)!
      // Starts where the other recurrence ended, so that no occurrence is lost between the two; but never before this process
      // started.
      const from = each.seenAt === null ? each.now : latest(each.seenAt, since!)
      await bringIntoForce(db, schedule, occurrenceAfter(schedule.recurrence, from), now)
    }
    return absent.length
  }

  /** Fires the due occurrences of a schedule in chunks; answers the delay until the schedule has work again. */
  async function fire(schedule: Schedule & StoredSchedule, check: ScheduleCheck, now: Date | null): Promise<number> {
    const { recurrence, catchUp, name, job, options } = schedule
    let nextAt = check.nextAt!
    for (let i = 0; i < maxChunks && nextAt <= check.now; i++) {
      const { paused } = check
      const { occurrences, nextAt: afterwards } = paused
        ? { occurrences: [], nextAt: occurrenceAfter(recurrence, check.now) }
        : dueOccurrences(recurrence, catchUp, nextAt, check.now, chunkSize)
      const jobs = await jobsFor(schedule, occurrences)
      if (jobs === undefined) return pollIntervalMs
      const made = await fireOccurrences(
        db,
        schedule,
        { nextAt, afterwards, occurrence: occurrences.at(-1), jobs, paused },
        now,
      )
      if (made === undefined) return Math.max(afterwards.getTime() - check.now.getTime(), closest) // another process fires it
      if (made.length > 0) fired(options.queue ?? job.queue)
      log.debug({ schedule: name, occurrences, jobs: made }, 'a schedule enqueued its job')
      nextAt = afterwards
    }
    return Math.max(nextAt.getTime() - check.now.getTime(), 0)
  }

  /** Undefined: the job rejects the input of an occurrence, which the author of the schedule has to fix. */
  async function jobsFor(schedule: Schedule, occurrences: readonly Date[]): Promise<NewJob[] | undefined> {
    try {
      const jobs: NewJob[] = []
      for (const occurrence of occurrences) jobs.push(await jobFor(schedule, occurrence))
      return jobs
    } catch (error) {
      log.error(
        { err: error, schedule: schedule.name },
        'a schedule has no valid input for its job; the occurrence waits',
      )
      return undefined
    }
  }

  return {
    async tick(now) {
      if (schedules.length === 0) return pollIntervalMs
      let checks = await readSchedules(db, stored, now)
      since ??= checks[0]?.now
      if ((await bring(checks, now)) > 0) checks = await readSchedules(db, stored, now)
      // Concurrently: a schedule that waits for a unique key in an open transaction does not delay other schedules.
      const pauses = await Promise.all(
        checks
          .filter(one => one.inForce)
          .map(each =>
            fire(named.get(each.name)!, each, now).catch(error => {
              log.warn({ err: error, schedule: each.name }, 'a schedule cannot enqueue its job; trying again')
              return againMs
            }),
          ),
      )
      return Math.min(pollIntervalMs, ...pauses)
    },
  }
}

/** The job of an occurrence; the input is checked as in `enqueue`. */
export async function jobFor(schedule: Schedule, occurrence: Date): Promise<NewJob> {
  const { job, options } = schedule
  return newJob(job, { ...options, ref: refOf(schedule, occurrence) }, await inputFor(schedule, occurrence))
}

const latest = (a: Date, b: Date): Date => (a > b ? a : b)
