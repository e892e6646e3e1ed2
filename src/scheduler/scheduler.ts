/**
 * One tick of the scheduler: look at this process's schedules, put their plans into force, fire the slots that are due.
 * Runs in every worker and server that has schedules; there is no leader, because a slot is won by one conditional update.
 *
 * Invariant: a schedule that cannot be fired (its input is refused) keeps its slot and holds up no other.
 */
import { dueSlots } from '../core/catch-up.ts'
import { closest, slotAfter } from '../core/plan.ts'
import { inputFor, refOf, type Schedule } from '../core/schedule.ts'
import type { Log } from '../lib/log.ts'
import type { Db } from '../store/db.ts'
import type { NewJob } from '../store/enqueue.ts'
import { bringIntoForce, fireSlots, type Looked, lookAtSchedules, type Planned } from '../store/schedule.ts'

/** How often it looks although nothing is due: for plans that another process put into force. */
export const lookEveryMs = 30_000
const againMs = 1000

/** Slots that fire in one transaction, and such transactions in one tick. */
const bite = 100
const bites = 10

export interface Scheduler {
  /** Answers the milliseconds until the next slot, or until it is time to look again. */
  tick(now: Date | null): Promise<number>
}

export function createScheduler(given: {
  db: Db
  log: Log
  schedules: readonly Schedule[]
  /** That queue got a job. */
  fired: (queue: string) => void
}): Scheduler {
  const { db, log, schedules, fired } = given
  const planned = schedules.map(schedule => ({ ...schedule, kind: schedule.job.kind }))
  const named = new Map(planned.map(schedule => [schedule.name, schedule]))
  /** Since when this process has its schedules, by the database's clock: its plans count from here. */
  let since: Date | undefined

  /** Plans of ours that are not in force, and may be; the database decides. Answers how many were sent there. */
  async function bring(looked: readonly Looked[], now: Date | null): Promise<number> {
    const absent = looked.filter(each => each.nextAt === null || each.mayTake)
    for (const each of absent) {
      const schedule = named.get(each.name)!
      // From where the other plan was left, so that no slot falls between the two; but none from before we were there.
      const from = each.seenAt === null ? each.now : latest(each.seenAt, since!)
      await bringIntoForce(db, schedule, slotAfter(schedule.plan, from), now)
    }
    return absent.length
  }

  /** Fires what is due of one schedule, in bites; answers how long it then has nothing to do. */
  async function fire(schedule: Schedule & Planned, looked: Looked, now: Date | null): Promise<number> {
    const { plan, catchUp, name, job } = schedule
    let nextAt = looked.nextAt!
    for (let i = 0; i < bites && nextAt <= looked.now; i++) {
      const { slots, nextAt: afterwards } = dueSlots(plan, catchUp, nextAt, looked.now, bite)
      const jobs = await jobsFor(schedule, slots)
      if (jobs === undefined) return lookEveryMs
      const made = await fireSlots(db, schedule, { nextAt, afterwards, slot: slots.at(-1), jobs }, now)
      if (made === undefined) return Math.max(afterwards.getTime() - looked.now.getTime(), closest) // another process fires it
      if (made.length > 0) fired(job.queue)
      log.debug({ schedule: name, slots, jobs: made }, 'a schedule fired')
      nextAt = afterwards
    }
    return Math.max(nextAt.getTime() - looked.now.getTime(), 0)
  }

  /** Undefined: the input of one is refused, which the schedule's author has to put right. */
  async function jobsFor(schedule: Schedule, slots: readonly Date[]): Promise<NewJob[] | undefined> {
    try {
      const jobs: NewJob[] = []
      for (const slot of slots) jobs.push(await jobFor(schedule, slot))
      return jobs
    } catch (error) {
      log.error({ err: error, schedule: schedule.name }, 'a schedule has no valid input for its job; its slot waits')
      return undefined
    }
  }

  return {
    async tick(now) {
      if (schedules.length === 0) return lookEveryMs
      let looked = await lookAtSchedules(db, planned, now)
      since ??= looked[0]?.now
      if ((await bring(looked, now)) > 0) looked = await lookAtSchedules(db, planned, now)
      // Side by side: one that has to wait, for a key that somebody's transaction holds, keeps no other from its slot.
      const pauses = await Promise.all(
        looked
          .filter(one => one.inForce)
          .map(each =>
            fire(named.get(each.name)!, each, now).catch(error => {
              log.warn({ err: error, schedule: each.name }, 'a schedule could not be fired; trying again')
              return againMs
            }),
          ),
      )
      return Math.min(lookEveryMs, ...pauses)
    },
  }
}

/** The job of that slot, its input checked as `enqueue` does. */
export async function jobFor(schedule: Schedule, slot: Date): Promise<NewJob> {
  const { job, options } = schedule
  const input = await inputFor(schedule, slot)
  return { ...options, ref: refOf(schedule, slot), queue: job.queue, kind: job.kind, version: job.version, input }
}

const latest = (a: Date, b: Date): Date => (a > b ? a : b)
