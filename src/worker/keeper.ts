/** What attempts keep on their way: read for a later attempt, written through the committer; and the files they read. */
import { opened } from '../core/file.ts'
import { RetomaError } from '../errors.ts'
import type { Clock } from '../lib/clock.ts'
import { loadCheckpoints } from '../store/checkpoint.ts'
import type { Db } from '../store/db.ts'
import { warnOfAttempt } from '../store/event.ts'
import { findFile, readPiece } from '../store/file.ts'
import { nameOf } from '../store/heartbeat.ts'
import { isFaultOfRow } from '../store/trouble.ts'
import type { Committer } from './committer.ts'
import type { Copies } from './copies.ts'
import type { Keeper } from './kept.ts'
import { transact } from './transact.ts'

const longestPauseMs = 5000

export function createKeeper(db: Db, worker: string, committer: Committer, clock: Clock, copies: Copies): Keeper {
  /** That the database is away is no failure of the job. */
  async function patiently<T>(signal: AbortSignal, ask: () => Promise<T>): Promise<T> {
    for (let pause = 100; ; pause = Math.min(pause * 2, longestPauseMs)) {
      signal.throwIfAborted()
      try {
        return await ask()
      } catch (error) {
        if (isFaultOfRow(error)) throw error
        await clock.sleep(pause, signal)
      }
    }
  }

  const keeper: Keeper = {
    async load({ id, attempt }, signal) {
      // A first attempt has nobody before it.
      return attempt === 1 ? new Map() : patiently(signal, () => loadCheckpoints(db, id))
    },
    file: async (_, id, signal) => (await patiently(signal, () => findFile(db, id))) ?? null,
    async piece(_, id, n, signal) {
      const piece = await patiently(signal, () => readPiece(db, id, n))
      if (piece === undefined) throw new RetomaError('file_gone', { id })
      return piece
    },
    async copy(claimed, id, signal) {
      const file = await keeper.file(claimed, id, signal)
      if (file === null) return null
      return copies.copy(
        nameOf(claimed),
        opened(file, n => keeper.piece(claimed, id, n, signal)),
      )
    },
    save: ({ id, attempt }, name, value) => committer.save({ id, attempt, name, value }),
    transact: ({ id, attempt }, name, work, signal) =>
      transact({ db, clock, worker, job: { id, attempt }, name, work, signal }),
    warn: ({ id, attempt }, what, facts) => warnOfAttempt(db, { id, attempt, worker }, what, facts, clock.instant()),
    note: ({ id, attempt }, { checkpoint = null, resume = null, progress = null }) =>
      committer.note({ id, attempt, checkpoint, resume, progress }),
  }
  return keeper
}
