/**
 * Reads batches and applies actions to batches: pause, resume, cancel, retry the failed items, change the priority.
 *
 * Invariant: an action is safe to repeat and safe from many callers at once; a batch in an unsuitable state is reported by an
 * error code. An action is in effect from its first commit. If jobs must change too, this process runs the first chunks of the
 * cascade and ticks run the rest.
 */

import type { Db } from '../database/db.ts'
import { isRetomaError, localized, RetomaError } from '../errors/errors.ts'
import { refuseOption } from '../errors/invalid-option.ts'
import { type ActedBy, checkActor } from '../jobs/model/actor.ts'
import { type JobState, states } from '../jobs/model/state.ts'
import type { Clock } from '../lib/clock.ts'
import { isId } from '../lib/values/id.ts'
import { isStorableText } from '../lib/values/json.ts'
import { namePattern } from '../lib/values/name.ts'
import { checkPage, type ListPage, type ListPageOptions, pageOf } from '../lib/values/page.ts'
import type { BatchCompletion } from './batch-completion-checks.ts'
import { continueCascade } from './batch-tick.ts'
import { type BatchState, batchStates, isFinalBatch } from './model/batch-state.ts'
import { type ItemMap, mapCells, mostMapped, sampleIds, samplesOfCell } from './model/item-map.ts'
import { type BatchActionView, viewBatchActions } from './sql/batch-action-events.ts'
import { applyBatchAction, type BatchActionName, beginRetry, retryResult } from './sql/batch-actions.ts'
import { runCascadeChunk } from './sql/batch-cascade.ts'
import {
  type FailureGroup,
  type ItemFilter,
  type ItemPage,
  jumpToItem,
  viewFailureGroups,
  viewItems,
} from './sql/batch-items.ts'
import { changePriority } from './sql/batch-priority.ts'
import { type BatchView, viewBatch, viewBatches } from './sql/batch-view.ts'
import { viewItemRanges, viewItemSamples, viewItemStates } from './sql/item-states.ts'

/** The result of an action: the state afterwards, and whether this call changed the state. */
export interface BatchActionResult {
  id: string
  state: BatchState
  changed: boolean
}

/** `resumed`: the number of items that are not in a final state. */
export type ResumedBatch = BatchActionResult & { resumed: number }

/** `retried`: items that wait again; `conflicts`: items that stay failed because another job has their unique key now. */
export type RetriedBatch = BatchActionResult & { retried: number; conflicts: number }

/** Options of `engine.batches.resume`. */
export interface ResumeOptions extends ActedBy {
  /** Resumes only a batch in this state. Default: both. */
  from?: 'paused' | 'stalled'
}

/** The page of a list of items. */
export interface ItemPageOptions extends ListPageOptions {
  /** Begins at this place of the list, from 0; without a filter and without `after`. Erased items shift the places. Default: 0. */
  offset?: number | undefined
}

/** The namespace `engine.batches`, without the methods of other files. */
export interface BatchActions {
  /** The newest first. */
  list(
    filter?: ListPageOptions & {
      /** Only batches in this state. Default: any. */
      state?: BatchState
      /** Only batches of this definition. Default: any. */
      name?: string
      /** Leaves out batches with items of these kinds. Default: none. */
      except?: readonly string[]
    },
  ): Promise<ListPage<BatchView>>
  /** A page may be short even if a next page exists. */
  items(batchId: string, filter?: ItemFilter & ItemPageOptions): Promise<ItemPage>
  /** The states of all items in one small answer: a letter for each item up to 5,000 items, samples of the items above. */
  map(batchId: string): Promise<ItemMap>
  /** The actions of people on the batch and on its items, the newest first. */
  actions(batchId: string, page?: ListPageOptions): Promise<ListPage<BatchActionView>>
  /** The failed items grouped by error fingerprint, the largest group first. */
  failures(batchId: string): Promise<FailureGroup[]>
  /** No further item starts; running items continue to their end. */
  pause(id: string, options?: ActedBy): Promise<BatchActionResult>
  /** Resumes a paused or a stalled batch. The resume of a stalled batch counts towards `maxResumes`. */
  resume(id: string, options?: ResumeOptions): Promise<ResumedBatch>
  /** Cancels the batch at once; a cascade cancels the items in chunks. */
  cancel(id: string, options?: ActedBy): Promise<BatchActionResult>
  /** Runs the failed items, or only the items with the fingerprint `cause`, again with a new attempt budget; checkpoints stay. */
  retryFailed(
    id: string,
    options?: {
      /** Only items with this error fingerprint, as `failures` lists. Default: all failed items. */
      cause?: string
    } & ActedBy,
  ): Promise<RetriedBatch>
  /** 0 (first) to 9; applies to waiting items and to items still to be submitted. */
  setPriority(id: string, priority: number, options?: ActedBy): Promise<BatchActionResult & { moved: number }>
}

/** Methods of the engine itself. */
export interface BatchReads {
  /** Reads a batch with its counts, its rate and the time left; null: no such batch. */
  batch(id: string): Promise<BatchView | null>
}

/** An action waits this long for its cascade; ticks do the rest. */
const followMs = 1000
/** Retries of an action if a concurrent action changes the batch in between. */
const maxConflictRetries = 20

/** By action: states in which the action has nothing to do and does not fail. */
const noOpStates: Record<BatchActionName, readonly BatchState[]> = {
  pause: ['paused'],
  resumePaused: ['submitting', 'waiting', 'running'],
  resumeStalled: ['submitting', 'waiting', 'running', 'succeeded', 'completed_with_failures'],
  cancel: ['cancelled'],
}

/** By action: states in which the action should have changed the batch. */
const allowedStates: Record<BatchActionName, readonly BatchState[]> = {
  pause: ['submitting', 'waiting', 'running'],
  resumePaused: ['paused'],
  resumeStalled: ['stalled'],
  cancel: ['submitting', 'waiting', 'running', 'paused', 'stalled'],
}

export function createBatchActions(given: {
  db: Db
  clock: Clock
  completion: BatchCompletion
  /** Wakes workers: the queue may have ready jobs. */
  wake: (queue: string) => void
  /** Wakes workers and resets their claim cursors, because claims may have passed over jobs of the queue. */
  wakeUnblocked: (queue: string) => void
  /** Workers release the claimed jobs of the batch that have not started. */
  blockClaims: (queue: string, batch: string) => void
  /** Tells all workers of the queue: running jobs were cancelled. */
  leasesEnded: (queue: string) => void
  changed: (batch: string) => void
}): BatchReads & { batches: BatchActions } {
  const { db, clock, completion, wake, wakeUnblocked, blockClaims, leasesEnded, changed } = given

  async function found(id: string): Promise<BatchView> {
    const batch = isId(id) ? await viewBatch(db, id, clock.instant()) : undefined
    if (batch === undefined) throw new RetomaError('not_found', { what: localized('batch', 'lote'), id: String(id) })
    return batch
  }

  async function applyAction(
    action: BatchActionName,
    id: string,
    given?: ActedBy,
  ): Promise<{ batch: BatchView; moved: boolean }> {
    const by = checkActor(given)
    for (let left = maxConflictRetries; ; left--) {
      const moved = isId(id) && (await applyBatchAction(db, action, id, by, clock.instant()))
      const batch = await found(id)
      if (moved || noOpStates[action].includes(batch.state)) return { batch, moved }
      // The batch was in another state when the statement began, or a cascade is still under way.
      if (left > 0 && allowedStates[action].includes(batch.state)) continue
      throw refusal(batch, action)
    }
  }

  /** Without `from` the state of the batch decides; the batch may change state between the read and the action. */
  async function resume(id: string, { from, ...by }: ResumeOptions) {
    for (let left = maxConflictRetries; ; left--) {
      const state = from ?? ((await found(id)).state === 'paused' ? 'paused' : 'stalled')
      try {
        return await applyAction(state === 'paused' ? 'resumePaused' : 'resumeStalled', id, by)
      } catch (error) {
        const changed = isRetomaError(error, state === 'paused' ? 'batch_state' : 'batch_paused')
        if (!changed || from !== undefined || left === 0) throw error
      }
    }
  }

  const ask = (id: string) => completion.check([id])
  const answer = ({ batch, moved }: { batch: BatchView; moved: boolean }): BatchActionResult => ({
    id: batch.id,
    state: batch.state,
    changed: moved,
  })

  /** Finishes the cascade of an earlier action first. */
  const settled = (id: string) => continueCascade(given, id, Number.POSITIVE_INFINITY)

  const batches: BatchActions = {
    async list(filter = {}) {
      const limit = checkPage(filter)
      const { after, state, name, except } = filter
      checkState(state, batchStates)
      if (name !== undefined && !namePattern.test(name))
        refuseOption('name', 'it is the name of a batch', 'é o nome de um lote')
      return pageOf(await viewBatches(db, { state, name, except }, after, limit + 1, clock.instant()), limit)
    },

    async items(id, filter = {}) {
      const { limit: _, after, offset, ...asked } = filter
      checkState(asked.state, states)
      checkCause(asked.cause)
      checkRef(asked)
      checkOffset(offset, filter)
      const limit = checkPage(filter, cursor => isPlace(cursor, asked.state))
      await found(id)
      const start = offset === undefined || offset === 0 ? after : await jumpToItem(db, id, offset)
      if (offset !== undefined && offset > 0 && start === undefined) return { items: [], next: null }
      return viewItems(db, id, asked, start, limit)
    },

    async map(id) {
      const { total } = await found(id)
      if (total <= mostMapped) {
        const states = await viewItemStates(db, id)
        return { id, total, itemsPerCell: 1, samplesPerCell: 1, states }
      }
      const samples = sampleIds(await viewItemRanges(db, id), mapCells * samplesOfCell)
      const states = await viewItemSamples(db, id, samples)
      return { id, total, itemsPerCell: total / mapCells, samplesPerCell: samplesOfCell, states }
    },

    async actions(id, page = {}) {
      const limit = checkPage(page)
      await found(id)
      return viewBatchActions(db, id, page.after, limit)
    },

    async failures(id) {
      await found(id)
      return viewFailureGroups(db, id)
    },

    async pause(id, options) {
      const applied = await applyAction('pause', id, options)
      if (applied.moved) {
        blockClaims(applied.batch.queue, id)
        changed(id)
      }
      return answer(applied)
    },

    async resume(id, options = {}) {
      const applied = await resume(id, options)
      const { total, succeeded, failed, skipped, cancelled } = applied.batch
      if (!applied.moved) return { ...answer(applied), resumed: 0 }
      await ask(id)
      wakeUnblocked(applied.batch.queue)
      changed(id)
      return { ...answer(applied), resumed: total - succeeded - failed - skipped - cancelled }
    },

    async cancel(id, options) {
      const applied = await applyAction('cancel', id, options)
      if (applied.moved) {
        blockClaims(applied.batch.queue, id)
        leasesEnded(applied.batch.queue)
        changed(id)
        await continueCascade(given, id, clock.elapsed() + followMs)
        // Cancelled jobs may have freed capacity under the limit of the queue.
        wake(applied.batch.queue)
      }
      return answer(applied)
    },

    async retryFailed(id, { cause, ...request } = {}) {
      checkCause(cause)
      const by = checkActor(request)
      const before = await found(id)
      if (before.state === 'cancelled') throw new RetomaError('batch_cancelled', { id })
      let sum = { retried: 0, conflicts: 0 }
      let resumed = false
      for (let left = maxConflictRetries; ; left--) {
        await settled(id)
        // Retrying also resumes a stalled batch, and the resume is counted.
        if ((await found(id)).state === 'stalled')
          resumed = (await applyAction('resumeStalled', id, request)).moved || resumed
        const number = await beginRetry(db, id, { cause, by }, clock.instant())
        const begun = number !== undefined
        if (begun) {
          for (;;) {
            const chunk = await runCascadeChunk(db, id, clock.instant())
            sum.retried += chunk?.moved ?? 0
            sum.conflicts += chunk?.conflicts ?? 0
            if (chunk === undefined || chunk.done) break
          }
          // A tick or a concurrent call may have run some of the chunks.
          sum = (await retryResult(db, id, number)) ?? sum
        }
        const { state, following, queue } = await found(id)
        if (state === 'cancelled') throw new RetomaError('batch_cancelled', { id })
        // Another cascade is under way, or the batch stalled meanwhile: try again.
        if (!begun && left > 0 && (following || state === 'stalled')) continue
        if (begun || resumed) {
          await ask(id)
          if (resumed) wakeUnblocked(queue)
          else wake(queue)
          changed(id)
        }
        return {
          id,
          state: (await found(id)).state,
          changed: sum.retried > 0 || resumed || before.state === 'failed',
          ...sum,
        }
      }
    },

    async setPriority(id, priority, options) {
      const by = checkActor(options)
      if (!Number.isInteger(priority) || priority < 0 || priority > 9)
        refuseOption('priority', 'it is a whole number from 0 (first) to 9', 'é um número inteiro de 0 (primeiro) a 9')
      const batch = await found(id)
      if (isFinalBatch(batch.state)) throw refusal(batch, 'setPriority')
      const moved = await changePriority(db, id, priority, by, clock.instant())
      wake(batch.queue)
      return { id, state: batch.state, changed: batch.priority !== priority || moved > 0, moved }
    },
  }

  return {
    batch: async id => (isId(id) ? await viewBatch(db, id, clock.instant()) : undefined) ?? null,
    batches,
  }
}

function refusal({ id, state, resumes }: BatchView, action: BatchActionName | 'setPriority'): RetomaError {
  if (action === 'resumeStalled' && state === 'paused') return new RetomaError('batch_paused', { id })
  if (action === 'resumeStalled' && state === 'failed')
    return new RetomaError('resumes_spent', { what: localized('batch', 'o lote'), id, resumes })
  if (state === 'cancelled') return new RetomaError('batch_cancelled', { id })
  const name = action === 'resumePaused' || action === 'resumeStalled' ? 'resume' : action
  return new RetomaError('batch_state', { id, state, action: name })
}

function checkState(state: string | undefined, known: readonly string[]): void {
  if (state === undefined || known.includes(state)) return
  const names = known.join(', ')
  refuseOption('state', `it is one of ${names}`, `é um destes: ${names}`)
}

function checkCause(cause: string | undefined): void {
  if (cause !== undefined && !/^[0-9a-f]{0,40}$/.test(cause))
    refuseOption('cause', 'it is a cause as failures() names it', 'é uma cause como failures() dá')
}

/** The lists of failed, running and stalled items have indexes of their own, without the refs. */
function checkRef({ ref, state, cause }: ItemFilter): void {
  if (ref === undefined) return
  if (typeof ref !== 'string' || ref === '' || ref.length > 500 || !isStorableText(ref))
    refuseOption(
      'ref',
      'it is the beginning of a ref, at most 500 characters',
      'é o começo de um ref, de até 500 caracteres',
    )
  if (cause !== undefined || state === 'failed' || state === 'running' || state === 'stalled')
    refuseOption(
      'ref',
      'it does not go with this state or with a cause',
      'não vai junto com este state nem com uma cause',
    )
}

function checkOffset(offset: number | undefined, { after, state, cause, ref }: ItemFilter & ListPageOptions): void {
  if (offset === undefined) return
  if (!Number.isInteger(offset) || offset < 0 || offset > 2 ** 31 - 1)
    refuseOption('offset', 'it is a place in the list, from 0', 'é um lugar na lista, a partir de 0')
  if ([after, state, cause, ref].some(each => each !== undefined))
    refuseOption('offset', 'it goes with limit alone', 'vai só com limit')
}

/** Page cursor: for failed items the error fingerprint and the id of the last item, otherwise the id. */
function isPlace(after: string, state: JobState | undefined): boolean {
  if (state !== 'failed') return isId(after)
  const [cause, id, ...more] = String(after).split('.')
  return /^[0-9a-f]*$/.test(cause!) && isId(id) && more.length === 0
}
