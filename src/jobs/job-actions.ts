/** Reads jobs, waits for jobs and batches, and applies job actions: cancel, retry, rerun, resume, skip, fail. */

import { continueCascade } from '../batches/batch-tick.ts'
import { isFinalBatch } from '../batches/model/batch-state.ts'
import { succeedWithoutFailures } from '../batches/sql/batch-finish.ts'
import type { BatchView } from '../batches/sql/batch-view.ts'
import type { Db } from '../database/db.ts'
import { isTransient } from '../database/pg-errors.ts'
import type { Transaction } from '../database/transactions/caller-transaction.ts'
import { wakeAfterCommit } from '../database/transactions/wake-after-commit.ts'
import { localized, RetomaError } from '../errors/errors.ts'
import { refuseOption } from '../errors/invalid-option.ts'
import type { Clock } from '../lib/clock.ts'
import { isId } from '../lib/values/id.ts'
import { cleanText, isStorableText } from '../lib/values/json.ts'
import { checkPage, type ListPage, type ListPageOptions } from '../lib/values/page.ts'
import { type ActedBy, checkActor } from './model/actor.ts'
import type { CostAmount } from './model/cost.ts'
import type { AnyJob, Job } from './model/job.ts'
import { type JobHandle, resultOfEnded, type WaitOptions } from './model/job-handle.ts'
import { type JobLogFilter, type JobLogLine, linesAfter, logPositionText, readLogPosition } from './model/job-log.ts'
import { isFinal, type JobState } from './model/state.ts'
import type { SettleListeners } from './settle-listeners.ts'
import { applyJobAction, type JobActionName, type JobActionRequest } from './sql/job-actions.ts'
import { type JobFilter, listJobs } from './sql/job-list.ts'
import { viewJobLogs } from './sql/job-log-view.ts'
import {
  type CheckpointValue,
  type CheckpointView,
  type FailureView,
  type JobEventView,
  type JobView,
  viewCheckpoint,
  viewCheckpoints,
  viewFailures,
  viewJob,
  viewJobCost,
  viewJobEvents,
  viewJobListed,
  viewJobShortText,
  viewJobText,
} from './sql/job-view.ts'

/** A job with its failures, checkpoints, events and costs. */
export type JobDetail<Input = unknown, Output = unknown> = JobView<Input, Output> & {
  history: FailureView[]
  checkpoints: CheckpointView[]
  events: JobEventView[]
  /** The costs of all attempts, by currency; empty: none. */
  cost: CostAmount[]
}

/** The result of a job action: the state afterwards, and whether this call changed the state. */
export interface JobActionResult {
  id: string
  state: JobState
  changed: boolean
}

/** Methods of the engine itself. */
export interface JobReads {
  /** Reads a job with its failures, checkpoints, events and costs; null: no such job. */
  job(id: string): Promise<JobDetail | null>
  /** The same with the types of `job`. Throws `bad_option` if the job with this id is of another kind. */
  job<Input, Output>(id: string, job: Job<Input, Output>): Promise<JobDetail<Input, Output> | null>
  /**
   * Resolves when the job is final or `stalled`; survives a database outage. A handle of `enqueue` gives the types of its job.
   * Throws `not_found`.
   */
  wait<Output>(what: { job: JobHandle<Output> }, options?: WaitOptions): Promise<JobDetail<unknown, Output>>
  wait(what: { job: string }, options?: WaitOptions): Promise<JobDetail>
  /** Resolves when the batch is final or `stalled`; survives a database outage. Throws `not_found`. */
  wait(what: { batch: string }, options?: WaitOptions): Promise<BatchView>
}

/** The result of a job by id, for the handles of `enqueue`. */
export interface JobResults {
  /** Waits as `wait` does; throws the error of a job that did not succeed. */
  resultOf(id: string, options?: WaitOptions): Promise<unknown>
}

/** Reads for HTTP alone. */
export interface JobReadsOfHttp {
  /** The same as `job`, with input, result and progress as JSON texts, which HTTP forwards unchanged. */
  jobAsText(id: string): Promise<JobDetail | null>
  /** The same without input, result and progress that are too large for a list; `omitted` has their sizes. */
  jobAsShortText(id: string): Promise<JobDetail | null>
  /** The value of a saved step; null: no such job or step. */
  checkpointAsText(id: string, name: string): Promise<CheckpointValue | null>
  /** The job as `jobs.list` lists jobs: without the large fields. */
  jobListed(id: string): Promise<JobView | null>
}

/** The namespace `engine.jobs`, without the methods of other files. */
export interface JobActions {
  /** The newest first. A page may be short even if a next page exists. */
  list(filter?: JobFilter & ListPageOptions): Promise<ListPage<JobView>>
  /**
   * The last lines that the handler wrote with `ctx.log`, the oldest first: at most 200 of each attempt, of the last ten attempts with
   * lines. A running attempt stores its lines about once a second. Throws `not_found`.
   */
  logs(id: string, filter?: JobLogFilter & ListPageOptions): Promise<ListPage<JobLogLine>>
  /** Ends a job as `cancelled`. A running attempt loses its lease at once, and its handler hears `lease_lost` within a second. */
  cancel(id: string, options?: ActedBy): Promise<JobActionResult>
  /**
   * Runs a failed, skipped or cancelled job again, with a new attempt budget. Saved steps do not run again. A finished batch of
   * the job resumes.
   */
  retry(id: string, options?: RunAgainOptions): Promise<JobActionResult>
  /** Runs a finished job again from scratch: deletes the checkpoints, so that every step runs again. */
  rerun(id: string, options?: RunAgainOptions): Promise<JobActionResult>
  /** Resumes a stalled job. */
  resume(id: string, options?: ActedBy): Promise<JobActionResult>
  /** Ends a job as `skipped` with the reason; the job does not run, or not again. */
  skip(id: string, reason: string, options?: ActedBy): Promise<JobActionResult>
  /**
   * Ends a job as `failed` with the reason as the error message, by a rule of the application; a running attempt loses its lease at
   * once. `code`: the code of the error.
   */
  fail(id: string, reason: string, options?: FailOptions): Promise<JobActionResult>
}

/** Options of `engine.jobs.retry` and `engine.jobs.rerun`. */
export interface RunAgainOptions extends ActedBy {
  /**
   * The job runs again if and only if this transaction of the caller commits. Call the method first in the transaction: the method may have
   * to wait for a change of the whole batch. Default: at once.
   */
  tx?: Transaction
}

/** Options of `engine.jobs.fail`. */
export interface FailOptions extends ActedBy {
  /** Code of the error. Default: none. */
  code?: string
}

/** Pauses between polls of `wait`, in milliseconds. */
const firstPollMs = 50
const slowestPollMs = 1000
/** Retries of an action while a cascade of the batch blocks the job. */
const maxConflictRetries = 20

function checkReason(reason: string): string {
  if (typeof reason !== 'string' || reason === '')
    refuseOption('reason', 'it is a text that says why', 'é um texto que diz o porquê')
  return cleanText(reason.slice(0, 1000))
}

/** By action: the states from which a job runs again. */
const runsAgain: Partial<Record<JobActionName, readonly JobState[]>> = {
  retry: ['failed', 'skipped', 'cancelled'],
  rerun: ['succeeded', 'failed', 'skipped', 'cancelled'],
}

export function createJobActions(given: {
  db: Db
  clock: Clock
  settleListeners: SettleListeners
  batch: (id: string) => Promise<BatchView | null>
  /** A job of the batch ended or waits again. */
  batchMoved: (batch: string) => Promise<unknown>
  wake: (queue: string) => void
  /** Tells all workers of the queue: running jobs were cancelled or skipped. */
  leasesEnded: (queue: string) => void
  closing: AbortSignal
}): JobReads & JobReadsOfHttp & JobResults & { jobs: JobActions } {
  const { db, clock, settleListeners, batch: batchOf, batchMoved, wake, leasesEnded, closing } = given

  async function detailOf(id: string, view: typeof viewJob): Promise<JobDetail | null> {
    if (!isId(id)) return null
    const found = await view(db, id)
    if (found === undefined) return null
    const [history, checkpoints, events, cost] = await Promise.all([
      viewFailures(db, id),
      viewCheckpoints(db, id),
      viewJobEvents(db, id),
      viewJobCost(db, id),
    ])
    // A short attempt records its last step nowhere else.
    const checkpoint = found.checkpoint ?? checkpoints.at(-1)?.name ?? null
    return { ...found, checkpoint, history, checkpoints, events, cost }
  }

  async function job(id: string, expected?: AnyJob): Promise<JobDetail | null> {
    const found = await detailOf(id, viewJob)
    if (found !== null && expected !== undefined && found.kind !== expected.kind)
      refuseOption(
        'job',
        `job ${id} is of kind "${found.kind}", not "${expected.kind}"`,
        `o job ${id} é do tipo "${found.kind}", não "${expected.kind}"`,
      )
    return found
  }

  /** Resolves with undefined during a database outage, so that the caller keeps waiting. */
  const unlessAway = <T>(found: Promise<T>) =>
    found.catch(error => {
      if (!isTransient(error)) throw error
    })

  /** Polls until `found` answers a value for which `over` is true. */
  async function waitFor<T>(
    what: string,
    id: string,
    found: () => Promise<T | null>,
    over: (found: T) => boolean,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    for (let pause = firstPollMs; ; pause = Math.min(pause * 2, slowestPollMs)) {
      signal?.throwIfAborted()
      if (closing.aborted) throw new RetomaError('engine_closed', {})
      const turn = new AbortController()
      const ending = signal === undefined ? turn.signal : AbortSignal.any([turn.signal, signal])
      // Registered before the read, so that a settle in between is not missed.
      const settled = settleListeners.next(id, turn.signal)
      const stopped = new Promise<void>(resolve => ending.addEventListener('abort', () => resolve(), { once: true }))
      try {
        const answer = await Promise.race([unlessAway(found()), stopped])
        if (answer === null)
          throw new RetomaError('not_found', { what: what === 'job' ? 'job' : localized('batch', 'lote'), id })
        if (answer && over(answer)) return answer
        await Promise.race([settled, clock.sleep(pause, ending)])
      } finally {
        turn.abort()
      }
    }
  }

  const waitForJob = (id: string, signal: AbortSignal | undefined) =>
    waitFor(
      'job',
      id,
      () => job(id),
      ({ state }) => isFinal(state) || state === 'stalled',
      signal,
    )

  /** `fine`: states in which the action has nothing left to do, so that a repeated call is no error. */
  async function applyAction(
    action: JobActionName,
    id: string,
    fine: readonly JobState[],
    { tx, ...request }: JobActionRequest & { tx?: Transaction } = {},
  ): Promise<JobActionResult> {
    const by = checkActor(request)
    const apply = tx === undefined ? applyThroughConflicts : applyInTransaction(tx)
    const result = isId(id) ? await apply(action, id, { ...request, by }) : undefined
    if (result === undefined) throw new RetomaError('not_found', { what: 'job', id: String(id) })
    const { state, moved, ran, queue, heldBy, batch } = result
    if (heldBy !== undefined && !fine.includes(state)) throw new RetomaError('key_reserved', { id, holder: heldBy })
    if (!moved && !fine.includes(state)) throw new RetomaError('wrong_state', { id, state, action })
    if (tx !== undefined && moved) {
      wakeAfterCommit(
        { clock, closing },
        () => wake(queue),
        () => void (batch === null ? undefined : batchMoved(batch).catch(() => {})),
      )
      return { id, state, changed: true }
    }
    if (ran) leasesEnded(queue)
    // A cancelled job may have freed capacity under the limit of the queue.
    if (moved) wake(queue)
    if (moved && batch !== null) await batchMoved(batch)
    return { id, state, changed: moved }
  }

  /**
   * A job does not run again while a cascade of the batch is under way: finish the cascade first. Another process may have
   * finished the cascade since the call began, and yet another action may have begun since.
   */
  async function applyThroughConflicts(action: JobActionName, id: string, request: JobActionRequest) {
    for (let left = maxConflictRetries; ; left--) {
      const result = await applyJobAction(db, action, id, clock.instant(), request)
      if (result === undefined || result.moved || result.batch === null || result.heldBy !== undefined) return result
      if (!runsAgain[action]?.includes(result.state) || left === 0) return result
      const batch = await batchOf(result.batch)
      if (batch?.state === 'cancelled') throw new RetomaError('batch_cancelled', { id: batch.id })
      await continueCascade(given, result.batch, Number.POSITIVE_INFINITY)
    }
  }

  /**
   * The cascade of the batch is finished before the statement and outside of the transaction, because the statement locks the batch. A
   * cascade that begins in between makes the action fail, and the caller may repeat the transaction.
   */
  const applyInTransaction =
    (tx: Transaction) => async (action: JobActionName, id: string, request: JobActionRequest) => {
      const batchId = (await viewJobListed(db, id))?.batchId
      if (batchId) await continueCascade(given, batchId, Number.POSITIVE_INFINITY)
      const result = await applyJobAction(db, action, id, clock.instant(), request, tx)
      if (result === undefined || result.moved || result.batch === null || result.heldBy !== undefined) return result
      if (!runsAgain[action]?.includes(result.state)) return result
      const batch = await batchOf(result.batch)
      if (batch?.state === 'cancelled') throw new RetomaError('batch_cancelled', { id: batch.id })
      throw new RetomaError('batch_state', { id: result.batch, state: batch?.state ?? result.state, action })
    }

  return {
    job: job as JobReads['job'],
    jobAsText: id => detailOf(id, viewJobText),
    jobAsShortText: id => detailOf(id, viewJobShortText),
    checkpointAsText: async (id, name) => (isId(id) ? ((await viewCheckpoint(db, id, name)) ?? null) : null),
    jobListed: async id => (isId(id) ? ((await viewJobListed(db, id)) ?? null) : null),

    wait: ((what: { job: string | JobHandle } | { batch: string }, { signal }: WaitOptions = {}) =>
      'batch' in what
        ? waitFor(
            'batch',
            what.batch,
            () => batchOf(what.batch),
            ({ state }) => isFinalBatch(state) || state === 'stalled',
            signal,
          )
        : waitForJob(typeof what.job === 'string' ? what.job : what.job.id, signal)) as JobReads['wait'],

    resultOf: async (id, { signal } = {}) => resultOfEnded(await waitForJob(id, signal)),

    jobs: {
      async list(filter = {}) {
        const limit = checkPage(filter)
        const { kind, queue, groupKey, ref, key, error, worker } = filter
        const texts = [kind, queue, groupKey, ref, key, error, worker].filter(text => text !== undefined)
        if (!texts.every(isStorableText)) return { items: [], next: null }
        return listJobs(db, filter, filter.after, limit)
      },
      async logs(id, filter = {}) {
        const { attempt, after } = filter
        const limit = checkPage(filter, text => readLogPosition(text) !== undefined)
        const place = after === undefined ? undefined : readLogPosition(after)
        const stored = isId(id) ? await viewJobLogs(db, id, attempt, place?.attempt ?? 0) : undefined
        if (stored === undefined) throw new RetomaError('not_found', { what: 'job', id: String(id) })
        const lines = linesAfter(stored, place)
        const items = lines.slice(0, limit)
        return { items, next: lines.length > limit ? logPositionText(items.at(-1)!) : null }
      },
      cancel: (id, by) => applyAction('cancel', id, ['cancelled'], by),
      retry: (id, by) => applyAction('retry', id, ['waiting', 'running'], by),
      rerun: (id, by) => applyAction('rerun', id, ['waiting', 'running'], by),
      resume: (id, by) => applyAction('resume', id, ['waiting', 'running'], by),
      async skip(id, reason, by) {
        const skipped = await applyAction('skip', id, ['skipped'], { ...by, reason: checkReason(reason) })
        const batch = (await viewJobListed(db, id))?.batchId
        if (batch) await succeedWithoutFailures(db, batch, clock.instant())
        return skipped
      },
      fail: async (id, reason, options) =>
        applyAction('fail', id, ['failed'], { ...options, reason: checkReason(reason) }),
    },
  }
}
