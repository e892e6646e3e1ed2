/** Stores the checkpoints, progress and warnings of attempts through the outcome writer, and reads checkpoints, files and provider states. */

import type { Db } from '../database/db.ts'
import { isFaultOfRow, isTransient, sqlState } from '../database/pg-errors.ts'
import { readOnlyQuery } from '../database/read-only-query.ts'
import { retryWhileAway } from '../database/retry-while-away.ts'
import { RetomaError } from '../errors/errors.ts'
import { warnOfAttempt } from '../events/sql/write-events.ts'
import type { AttemptStorage } from '../execution/handler-services.ts'
import { loadCheckpoints } from '../execution/sql/checkpoint.ts'
import { runStepTransaction } from '../execution/step-transaction.ts'
import type { LocalFileCopies } from '../files/local-file-copies.ts'
import { opened } from '../files/model/file.ts'
import { findFile, readPiece } from '../files/sql/file.ts'
import type { Clock } from '../lib/clock.ts'
import { recordProviderWord } from '../providers/sql/provider-state.ts'
import type { OutcomeWriter } from './outcome-writer.ts'
import { nameOf } from './sql/heartbeat.ts'
import type { WorkerEvents } from './worker-events.ts'

export function createAttemptStorage(given: {
  db: Db
  worker: string
  outcomeWriter: OutcomeWriter
  clock: Clock
  fileCopies: LocalFileCopies
  events: Pick<WorkerEvents, 'providerAnswered'>
}): AttemptStorage {
  const { db, worker, outcomeWriter, clock, fileCopies, events } = given

  const patiently = <T>(ask: () => Promise<T>, signal: AbortSignal, isAnswer = isFaultOfRow): Promise<T> =>
    retryWhileAway(ask, { clock, signal, isAnswer })

  const storage: AttemptStorage = {
    // A first attempt has no earlier checkpoints.
    load: async ({ id, attempt }, signal) =>
      attempt === 1 ? new Map() : patiently(() => loadCheckpoints(db, id), signal),
    async provider({ id, kind }, name, word, signal) {
      const tell = () => recordProviderWord(db, name, { job: id, kind }, word, clock.instant())
      // The handler's result must not wait for the report of an answer.
      const { goesOn, ...stand } = await (word.how === 'answered' ? tell() : patiently(tell, signal))
      if (goesOn) await events.providerAnswered()
      return stand
    },
    file: async (_, id, signal) => (await patiently(() => findFile(db, id), signal)) ?? null,
    async piece(_, id, n, signal) {
      const piece = await patiently(() => readPiece(db, id, n), signal)
      if (piece === undefined) throw new RetomaError('file_gone', { id })
      return piece
    },
    async copy(claimed, id, signal) {
      const copy = fileCopies.of(nameOf(claimed))
      const file = await storage.file(claimed, id, signal)
      return file && copy(opened(file, n => storage.piece(claimed, id, n, signal)))
    },
    look: (query, signal) => patiently(() => readOnlyQuery(db, query), signal, isAnswer),
    save: ({ id, attempt }, name, value) => outcomeWriter.save({ id, attempt, name, value }),
    transact: ({ id, attempt }, name, work, signal) =>
      runStepTransaction({ db, clock, worker, job: { id, attempt }, name, work, signal }),
    warn: ({ id, attempt }, what, facts) => warnOfAttempt(db, { id, attempt, worker }, what, facts, clock.instant()),
    note: ({ id, attempt }, { checkpoint = null, checkpointData = null, progress = null }) =>
      outcomeWriter.note({ id, attempt, checkpoint, checkpointData, progress }),
  }
  return storage
}

/**
 * True if an error is PostgreSQL's answer to a handler's statement, false if the error concerns the server. 25006 rejects a write in a
 * read-only transaction, also on a read-only server; 57014 ends a statement after its timeout.
 */
const isAnswer = (error: unknown): boolean =>
  isFaultOfRow(error) ||
  /^(25006|57014)$/.test(sqlState(error) ?? '') ||
  (sqlState(error) !== undefined && !isTransient(error))
