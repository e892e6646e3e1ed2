/** What attempts keep on their way: read for a later attempt, written through the committer. */
import type { Clock } from '../lib/clock.ts'
import { loadCheckpoints } from '../store/checkpoint.ts'
import type { Db } from '../store/db.ts'
import { warnOfAttempt } from '../store/event.ts'
import { look } from '../store/look.ts'
import { isFaultOfRow, passes, sqlState } from '../store/trouble.ts'
import type { Committer } from './committer.ts'
import type { Keeper } from './kept.ts'
import { transact } from './transact.ts'

const longestPauseMs = 5000

export function createKeeper(db: Db, worker: string, committer: Committer, clock: Clock): Keeper {
  return {
    async load({ id, attempt }, signal) {
      // A first attempt has nobody before it.
      if (attempt === 1) return new Map()
      for (let pause = 100; ; pause = Math.min(pause * 2, longestPauseMs)) {
        signal.throwIfAborted()
        try {
          return await loadCheckpoints(db, id)
        } catch (error) {
          // That the database is away is no failure of the job.
          if (isFaultOfRow(error)) throw error
          await clock.sleep(pause, signal)
        }
      }
    },
    async look(query, signal) {
      for (let pause = 100; ; pause = Math.min(pause * 2, longestPauseMs)) {
        signal.throwIfAborted()
        try {
          return await look(db, query)
        } catch (error) {
          const isAnswer = sqlState(error) !== undefined && !passes(error)
          // A write, too: PostgreSQL says of it what it says of a server that only reads.
          if (isAnswer || isFaultOfRow(error) || sqlState(error) === '25006') throw error
          await clock.sleep(pause, signal)
        }
      }
    },
    save: ({ id, attempt }, name, value) => committer.save({ id, attempt, name, value }),
    transact: ({ id, attempt }, name, work, signal) =>
      transact({ db, clock, worker, job: { id, attempt }, name, work, signal }),
    warn: ({ id, attempt }, what, facts) => warnOfAttempt(db, { id, attempt, worker }, what, facts, clock.instant()),
    note: ({ id, attempt }, { checkpoint = null, resume = null, progress = null }) =>
      committer.note({ id, attempt, checkpoint, resume, progress }),
  }
}
