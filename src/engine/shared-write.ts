/**
 * Enqueues that come at the same time share one insert: while one is on its way the next ones gather. So a crowd of callers
 * costs a few statements and commits, and a single one waits for nobody.
 *
 * Invariant: who is answered has his job committed. What one job cannot be written of is that job's alone: the others are then
 * written one by one. Only jobs without a key: one whose key somebody's open transaction holds would keep its neighbours waiting.
 */
import type { Clock } from '../lib/clock.ts'
import type { Db } from '../store/db.ts'
import type { Enqueued, NewJob } from '../store/enqueue.ts'
import { sqlState } from '../store/trouble.ts'
import { writeJobs } from './write.ts'

export type SharedWrite = (job: NewJob) => Promise<Enqueued>

interface Waiting {
  job: NewJob
  resolve(made: Enqueued): void
  reject(error: unknown): void
}

const mostRows = 500
const mostBytes = 4 * 1024 * 1024
/** The next statement is planned and read while the one before commits. */
const mostAtOnce = 2

export function createSharedWrite({ db, clock }: { db: Db; clock: Clock }): SharedWrite {
  const waiting: Waiting[] = []
  let onTheirWay = 0

  const write = (some: readonly Waiting[]) =>
    writeJobs(db.run, some.map(each => each.job), clock.instant()) // biome-ignore format: one call

  async function send(some: readonly Waiting[]): Promise<void> {
    try {
      const made = await write(some)
      some.forEach((each, i) => {
        each.resolve(made[i]!)
      })
    } catch (error) {
      // An error of PostgreSQL's own says that nothing was written; any other leaves it open.
      if (some.length === 1 || sqlState(error) === undefined) for (const each of some) each.reject(error)
      else for (const each of some) await send([each])
    }
  }

  function next(): void {
    while (onTheirWay < mostAtOnce && waiting.length > 0) {
      onTheirWay++
      void send(waiting.splice(0, fitting(waiting))).then(() => {
        onTheirWay--
        next()
      })
    }
  }

  return job =>
    new Promise((resolve, reject) => {
      waiting.push({ job, resolve, reject })
      next()
    })
}

/** How many from the first on go into one statement. */
function fitting(waiting: readonly Waiting[]): number {
  let bytes = 0
  const end = waiting.findIndex(({ job }, i) => {
    bytes += job.input.length
    return i > 0 && (i >= mostRows || bytes > mostBytes)
  })
  return end < 0 ? waiting.length : end
}
