/** Stores the checkpoints, progress, costs and warnings of attempts through the outcome writer, and reads checkpoints, files and provider states. */

import type { ClaimedJob } from '../claiming/sql/claim.ts'
import type { Db } from '../database/db.ts'
import { isFaultOfRow, isTransient, sqlState } from '../database/pg-errors.ts'
import { readOnlyQuery } from '../database/read-only-query.ts'
import { retryWhileAway } from '../database/retry-while-away.ts'
import { RetomaError } from '../errors/errors.ts'
import { warnOfAttempt } from '../events/sql/write-events.ts'
import type { AttemptStorages } from '../execution/attempt.ts'
import type { AttemptStorage } from '../execution/model/attempt-storage-calls.ts'
import type { WriteResult } from '../execution/model/write-result.ts'
import { loadCheckpoints } from '../execution/sql/checkpoint.ts'
import { runStepTransaction } from '../execution/step-transaction.ts'
import type { LocalFileCopies } from '../files/local-file-copies.ts'
import { opened } from '../files/model/file.ts'
import { findFile, readPiece } from '../files/sql/file.ts'
import type { Clock } from '../lib/clock.ts'
import { recordProviderWord } from '../providers/sql/provider-state.ts'
import type { OutcomeWriter } from './outcome-writer.ts'
import { nameOf } from './sql/lease-heartbeat.ts'
import type { WorkerEvents } from './worker-events.ts'

interface StorageParts {
  db: Db
  /** The worker id. */
  worker: string
  outcomeWriter: OutcomeWriter
  clock: Clock
  fileCopies: LocalFileCopies
  events: Pick<WorkerEvents, 'providerAnswered'>
}

export function createAttemptStorages(parts: StorageParts): AttemptStorages {
  return { of: attempt => storageOf(parts, attempt) }
}

function storageOf(
  { db, worker, outcomeWriter, clock, fileCopies, events }: StorageParts,
  of: { readonly claimed: ClaimedJob; readonly signal: AbortSignal },
): AttemptStorage {
  const { id, attempt, kind, batch_id: batch } = of.claimed

  const patiently = <T>(ask: () => Promise<T>, isAnswer = isFaultOfRow): Promise<T> =>
    retryWhileAway(ask, { clock, signal: of.signal, isAnswer })

  let costCalls = 0
  let lastCost: Promise<WriteResult> | undefined

  /** Waits for the cost before: a flush has one cost of a job at most, and so takes the costs of many jobs. */
  async function addCost(currency: string, amount: string, before: Promise<WriteResult> | undefined) {
    await before
    return outcomeWriter.cost({ id, attempt, call: ++costCalls, currency, amount })
  }

  const storage: AttemptStorage = {
    // A first attempt has no earlier checkpoints.
    load: async () => (attempt === 1 ? new Map() : patiently(() => loadCheckpoints(db, id))),
    async provider(name, word) {
      const record = () => recordProviderWord(db, name, { job: id, kind, batch }, word, clock.instant())
      // The handler's result must not wait for the report of an answer.
      const { stopEnded, ...stand } = await (word.how === 'answered' ? record() : patiently(record))
      if (stopEnded) await events.providerAnswered()
      return stand
    },
    file: async file => (await patiently(() => findFile(db, file))) ?? null,
    async piece(file, n) {
      const piece = await patiently(() => readPiece(db, file, n))
      if (piece === undefined) throw new RetomaError('file_gone', { id: file })
      return piece
    },
    async copy(file) {
      const copy = fileCopies.of(nameOf(of.claimed))
      const found = await storage.file(file)
      return found && copy(opened(found, n => storage.piece(file, n)))
    },
    readOnlyQuery: query => patiently(() => readOnlyQuery(db, query), isAnswer),
    save: (name, value) => outcomeWriter.save({ id, attempt, name, value }),
    transact: (name, work, signal) =>
      runStepTransaction({ db, clock, worker, job: { id, attempt }, name, work, signal }),
    warn: (what, facts) => warnOfAttempt(db, { id, attempt, worker }, what, facts, clock.instant()),
    note: ({ checkpoint = null, checkpointData = null, progress = null }) =>
      outcomeWriter.note({ id, attempt, checkpoint, checkpointData, progress }),
    cost(currency, amount) {
      lastCost = addCost(currency, amount, lastCost)
      return lastCost
    },
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
