/** Stores the checkpoints, progress and warnings of attempts through the committer, and reads checkpoints, files and provider states. */
import { opened } from '../core/file.ts'
import { RetomaError } from '../errors.ts'
import type { Clock } from '../lib/clock.ts'
import { loadCheckpoints } from '../store/checkpoint.ts'
import type { Db } from '../store/db.ts'
import { warnOfAttempt } from '../store/event.ts'
import { findFile, readPiece } from '../store/file.ts'
import { nameOf } from '../store/heartbeat.ts'
import { look } from '../store/look.ts'
import { tellProvider } from '../store/provider.ts'
import { isFaultOfRow, passes, sqlState } from '../store/trouble.ts'
import type { Committer } from './committer.ts'
import type { Copies } from './copies.ts'
import type { Keeper } from './kept.ts'
import { transact } from './transact.ts'

const longestPauseMs = 5000

export function createKeeper(given: {
  db: Db
  worker: string
  committer: Committer
  clock: Clock
  copies: Copies
  /** A stopped provider answers again. */
  answered: () => Promise<void>
}): Keeper {
  const { db, worker, committer, clock, copies, answered } = given

  /** Retries while the database is unreachable, because an outage is no failure of the job. */
  async function patiently<T>(ask: () => Promise<T>, signal: AbortSignal, isFault = isFaultOfRow): Promise<T> {
    for (let pause = 100; ; pause = Math.min(pause * 2, longestPauseMs)) {
      signal.throwIfAborted()
      try {
        return await ask()
      } catch (error) {
        if (isFault(error)) throw error
        await clock.sleep(pause, signal)
      }
    }
  }

  const keeper: Keeper = {
    // A first attempt has no earlier checkpoints.
    load: async ({ id, attempt }, signal) =>
      attempt === 1 ? new Map() : patiently(() => loadCheckpoints(db, id), signal),
    async provider({ id, kind }, name, word, signal) {
      const tell = () => tellProvider(db, name, { job: id, kind }, word, clock.instant())
      // The handler's result must not wait for the report of an answer.
      const { goesOn, ...stand } = await (word.how === 'answered' ? tell() : patiently(tell, signal))
      if (goesOn) await answered()
      return stand
    },
    file: async (_, id, signal) => (await patiently(() => findFile(db, id), signal)) ?? null,
    async piece(_, id, n, signal) {
      const piece = await patiently(() => readPiece(db, id, n), signal)
      if (piece === undefined) throw new RetomaError('file_gone', { id })
      return piece
    },
    async copy(claimed, id, signal) {
      const copy = copies.of(nameOf(claimed))
      const file = await keeper.file(claimed, id, signal)
      return file && copy(opened(file, n => keeper.piece(claimed, id, n, signal)))
    },
    look: (query, signal) => patiently(() => look(db, query), signal, isAnswer),
    save: ({ id, attempt }, name, value) => committer.save({ id, attempt, name, value }),
    transact: ({ id, attempt }, name, work, signal) =>
      transact({ db, clock, worker, job: { id, attempt }, name, work, signal }),
    warn: ({ id, attempt }, what, facts) => warnOfAttempt(db, { id, attempt, worker }, what, facts, clock.instant()),
    note: ({ id, attempt }, { checkpoint = null, resume = null, progress = null }) =>
      committer.note({ id, attempt, checkpoint, resume, progress }),
  }
  return keeper
}

/**
 * True if an error is PostgreSQL's answer to a handler's statement, false if the error concerns the server. 25006 rejects a write in a
 * read-only transaction, also on a read-only server; 57014 ends a statement after its timeout.
 */
const isAnswer = (error: unknown): boolean =>
  isFaultOfRow(error) ||
  /^(25006|57014)$/.test(sqlState(error) ?? '') ||
  (sqlState(error) !== undefined && !passes(error))
