/**
 * Writes everything for attempts, each sort of write in its own write batcher (write-batcher.ts). The writes of an attempt keep their order
 * because each write is awaited before the next: an attempt ends only after its steps.
 *
 * Invariant: `settle` resolves with `written` once the outcome is in the database, with `lease_lost` once the lease is certainly lost, and
 * with `unwritten` or `rejected` if nothing could be written: the job is still leased by this worker and still `running`.
 */

import { type ProviderPause, pauseBatches } from '../batches/sql/provider-pauses.ts'
import type { Db } from '../database/db.ts'
import { isFaultOfRow, isTransient, sqlState } from '../database/pg-errors.ts'
import { isRetomaError } from '../errors/errors.ts'
import type { WriteResult } from '../execution/model/write-result.ts'
import { type Checkpoint, noteProgress, type ProgressRow, saveCheckpoints } from '../execution/sql/checkpoint.ts'
import { addCosts, type CostRow } from '../execution/sql/job-cost.ts'
import { type JobLogRow, writeJobLogs } from '../execution/sql/job-log-rows.ts'
import type { Failure } from '../jobs/model/outcome.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/logging/log.ts'
import { asText, cleanText } from '../lib/values/json.ts'
import { type SettleRow, settleJobs } from './sql/settle.ts'
import type { WorkerEvents } from './worker-events.ts'
import { createWriteBatcher } from './write-batcher.ts'

export interface OutcomeWriter {
  settle(settle: SettleRow): Promise<WriteResult>
  /** `rejected`: PostgreSQL does not accept the value. */
  save(checkpoint: Checkpoint): Promise<WriteResult>
  note(note: ProgressRow): Promise<WriteResult>
  /** Adds a cost. The costs of an attempt are written one at a time, in the order of the calls. */
  cost(cost: CostRow): Promise<WriteResult>
  /** Stores the log lines of an attempt. Lines that the database refuses are dropped, with `rejected`. */
  log(lines: JobLogRow): Promise<WriteResult>
  /** Pauses the batch of the job if the lease still holds. */
  pause(pausing: ProviderPause): Promise<WriteResult>
  /** Milliseconds that the oldest write has waited. */
  readonly writeLagMs: number
  /** Stops waiting for a failing database: unwritten items are left to the watchdog. */
  giveUp(): void
}

export function createOutcomeWriter(options: {
  db: Db
  worker: string
  clock: Clock
  log: Log
  events: Pick<WorkerEvents, 'batchPaused'>
}): OutcomeWriter {
  const { db, worker, clock, log, events } = options
  const settles = createWriteBatcher<SettleRow>({
    clock,
    log,
    what: 'outcomes',
    write: items => settleJobs(db, worker, items, clock.instant()),
    weigh: lengthOf,
    oneOfJob: true,
    instead,
  })
  const checkpoints = createWriteBatcher<Checkpoint>({
    clock,
    log,
    what: 'checkpoints',
    write: items => saveCheckpoints(db, worker, items, clock.instant()),
    weigh: ({ value }) => value.length,
    instead: () => undefined,
  })
  const notes = createWriteBatcher<ProgressRow>({
    clock,
    log,
    what: 'notes of progress',
    write: items => noteProgress(db, worker, items, clock.instant()),
    weigh: ({ checkpointData, progress }) => (checkpointData?.length ?? 0) + (progress?.length ?? 0),
    oneOfJob: true,
    instead: () => undefined,
  })

  const costs = createWriteBatcher<CostRow>({
    clock,
    log,
    what: 'costs of jobs',
    write: items => addCosts(db, worker, items),
    weigh: ({ amount }) => amount.length,
    oneOfJob: true,
    instead: () => undefined,
  })

  const pauses = createWriteBatcher<ProviderPause>({
    clock,
    log,
    what: 'pauses of batches',
    async write(items) {
      for (const batch of await pauseBatches(db, worker, items, clock.instant())) events.batchPaused(batch)
      return new Set(items)
    },
    weigh: ({ reason }) => reason.length,
    instead: () => undefined,
  })

  const logs = createWriteBatcher<JobLogRow>({
    clock,
    log,
    what: 'log lines of jobs',
    async write(items) {
      await writeJobLogs(db, items, clock.instant()).catch(error => {
        const isRefused = isRetomaError(error) || sqlState(error) !== undefined
        if (!isRefused || isTransient(error) || isFaultOfRow(error)) throw error
        // No outcome may wait for lines that the database does not take.
        log.debug({ err: error, jobs: items.length }, 'cannot store log lines; the lines are dropped')
      })
      return new Set(items)
    },
    weigh: ({ lines }) => lines.length,
    oneOfJob: true,
    instead: () => undefined,
  })

  const all = [settles, checkpoints, notes, costs, pauses, logs]

  /**
   * Replaces an outcome rejected by PostgreSQL by a failure of this attempt only. If PostgreSQL rejects the failure too, the job ends
   * without the failure: a job must not run forever because its outcome cannot be written.
   */
  function instead({ id, attempt, outcome }: SettleRow, error: unknown): SettleRow | undefined {
    if (outcome.state === 'refused') {
      log.error({ job: id, attempt, err: error }, 'PostgreSQL takes no end of this job; it stays with this worker')
      return undefined
    }
    if (outcome.state === 'failed' && outcome.failure.code === 'bad_value') {
      log.error(
        { job: id, attempt, err: error },
        'PostgreSQL refused the failure of this attempt; the job ends without it',
      )
      return { id, attempt, outcome: { state: 'refused' } }
    }
    const message = cleanText(`bad_value: PostgreSQL refused the outcome: ${asText(error)}`)
    const failure: Failure = { type: 'error', message, code: 'bad_value', stack: null }
    return { id, attempt, outcome: { state: 'failed', failure } }
  }

  return {
    settle: settle => settles.add(settle),
    save: checkpoint => checkpoints.add(checkpoint),
    note: note => notes.add(note),
    cost: cost => costs.add(cost),
    log: lines => logs.add(lines),
    pause: pausing => pauses.add(pausing),
    get writeLagMs() {
      const now = clock.elapsed()
      return Math.max(...all.map(each => now - (each.waitingSince ?? now)))
    },
    giveUp() {
      for (const each of all) each.giveUp()
    },
  }
}

function lengthOf({ outcome }: SettleRow): number {
  if (outcome.state === 'succeeded') return outcome.result.length
  const failure = 'failure' in outcome ? outcome.failure : null
  return failure === null ? 0 : failure.message.length + (failure.stack?.length ?? 0)
}
