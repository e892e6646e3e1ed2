/**
 * What people and programs ask of batches: look, pause, go on, resume, cancel, have the failed ones run again.
 *
 * Invariant: safe to press twice and by many at once; what is in no state for it is told so by a code. What was pressed
 * counts from the first commit on; where jobs must follow, this process takes the first bites and ticks the rest.
 */
import { type BatchState, batchStates, isFinalBatch } from '../core/batch-state.ts'
import { type By, checkBy } from '../core/by.ts'
import { isId } from '../core/id.ts'
import { namePattern } from '../core/name.ts'
import { checkPage, type Page, type PageOptions, pageOf } from '../core/page.ts'
import { refuseOption } from '../core/refuse.ts'
import { type State, states } from '../core/state.ts'
import { RetomaError, say } from '../errors.ts'
import type { Clock } from '../lib/clock.ts'
import { takeBite } from '../store/batch-bite.ts'
import { type BatchVerb, beginRetry, pressBatch, retriedBy } from '../store/batch-control.ts'
import {
  type FailureGroup,
  type ItemFilter,
  type ItemPage,
  viewFailureGroups,
  viewItems,
} from '../store/batch-items.ts'
import { changePriority } from '../store/batch-priority.ts'
import { type BatchView, viewBatch, viewBatches } from '../store/batch-view.ts'
import type { Db } from '../store/db.ts'
import { follow } from '../watchdog/batches.ts'
import type { BatchEnds } from './batch-ends.ts'

/** What was pressed: the state afterwards, and whether this call changed it. */
export interface PressedBatch {
  id: string
  state: BatchState
  changed: boolean
}

/** `resumed`: items that are not final and go on. */
export type ResumedBatch = PressedBatch & { resumed: number }

/** `retried`: items that wait again; `held`: those whose key another job has by now, which stay failed. */
export type RetriedBatch = PressedBatch & { retried: number; held: number }

export interface Batches {
  batch(id: string): Promise<BatchView | null>
  /** The newest first. */
  batches(filter?: PageOptions & { state?: BatchState; name?: string }): Promise<Page<BatchView>>
  /** A page may be short though there is a next. */
  items(batchId: string, filter?: ItemFilter & PageOptions): Promise<ItemPage>
  /** Its failed items by cause, the most first. */
  failures(batchId: string): Promise<FailureGroup[]>
  /** Nothing more of it starts; what runs goes on to its end. */
  pause(id: string, options?: By): Promise<PressedBatch>
  unpause(id: string, options?: By): Promise<PressedBatch>
  /** Has its failed items, or those of one cause, run again with a new budget of tries; their checkpoints stay. */
  retryFailed(id: string, options?: { cause?: string } & By): Promise<RetriedBatch>
  /** 0 (first) to 9, for its items that wait and those still to come. */
  setPriority(id: string, priority: number, options?: By): Promise<PressedBatch & { moved: number }>
}

/** For `cancel` and `resume`, which take a job's id as well. */
export interface BatchDesk extends Batches {
  cancelBatch(id: string, options?: By): Promise<PressedBatch>
  resumeBatch(id: string, options?: By): Promise<ResumedBatch>
}

/** A verb waits so long for the jobs to follow; ticks do the rest. */
const followMs = 1000
/** A verb that finds what it wants, and another takes it away, tries again. */
const rounds = 20

/** By verb: where it has nothing to do, and is no error. */
const fine: Record<BatchVerb, readonly BatchState[]> = {
  pause: ['paused'],
  unpause: ['submitting', 'waiting', 'running'],
  resume: ['submitting', 'waiting', 'running', 'succeeded'],
  cancel: ['cancelled'],
}

/** And where it should have moved. */
const moves: Record<BatchVerb, readonly BatchState[]> = {
  pause: ['submitting', 'waiting', 'running'],
  unpause: ['paused'],
  resume: ['stalled'],
  cancel: ['submitting', 'waiting', 'running', 'paused', 'stalled'],
}

export function createBatches(given: {
  db: Db
  clock: Clock
  ends: BatchEnds
  /** There may be work in that queue. */
  tell: (queue: string) => void
  /** And claims may have passed it by. */
  tellAnew: (queue: string) => void
  /** Workers give back what they hold of it and have not begun. */
  hold: (queue: string, batch: string) => void
  changed: (batch: string) => void
}): BatchDesk {
  const { db, clock, ends, tell, tellAnew, hold, changed } = given

  async function found(id: string): Promise<BatchView> {
    const batch = isId(id) ? await viewBatch(db, id, clock.instant()) : undefined
    if (batch === undefined) throw new RetomaError('not_found', { what: say('batch', 'lote'), id: String(id) })
    return batch
  }

  async function press(verb: BatchVerb, id: string, given?: By): Promise<{ batch: BatchView; moved: boolean }> {
    const by = checkBy(given)
    for (let left = rounds; ; left--) {
      const moved = isId(id) && (await pressBatch(db, verb, id, by, clock.instant()))
      const batch = await found(id)
      if (moved || fine[verb].includes(batch.state)) return { batch, moved }
      // It was in another state when the statement began, or waits for rows that still follow.
      if (left > 0 && moves[verb].includes(batch.state)) continue
      throw refusal(batch, verb)
    }
  }

  const ask = (id: string) => ends.ask([id])
  const answer = ({ batch, moved }: { batch: BatchView; moved: boolean }): PressedBatch => ({
    id: batch.id,
    state: batch.state,
    changed: moved,
  })

  /** What follows from an earlier press is done first. */
  const settled = (id: string) => follow(db, clock, id, Number.POSITIVE_INFINITY)

  return {
    batch: async id => (isId(id) ? await viewBatch(db, id, clock.instant()) : undefined) ?? null,

    async batches(filter = {}) {
      const limit = checkPage(filter)
      const { after, state, name } = filter
      checkState(state, batchStates)
      if (name !== undefined && !namePattern.test(name))
        refuseOption('name', 'it is the name of a batch', 'é o nome de um lote')
      return pageOf(await viewBatches(db, { state, name }, after, limit + 1, clock.instant()), limit)
    },

    async items(id, filter = {}) {
      const { limit: _, after, ...asked } = filter
      checkState(asked.state, states)
      checkCause(asked.cause)
      const limit = checkPage(filter, cursor => isPlace(cursor, asked.state))
      await found(id)
      return viewItems(db, id, asked, after, limit)
    },

    async failures(id) {
      await found(id)
      return viewFailureGroups(db, id)
    },

    async pause(id, options) {
      const pressed = await press('pause', id, options)
      if (pressed.moved) {
        hold(pressed.batch.queue, id)
        changed(id)
      }
      return answer(pressed)
    },

    async unpause(id, options) {
      const pressed = await press('unpause', id, options)
      if (pressed.moved) {
        await ask(id)
        tellAnew(pressed.batch.queue)
        changed(id)
      }
      return answer(pressed)
    },

    async resumeBatch(id, options) {
      const pressed = await press('resume', id, options)
      const { total, succeeded, failed, skipped, cancelled } = pressed.batch
      if (!pressed.moved) return { ...answer(pressed), resumed: 0 }
      await ask(id)
      tellAnew(pressed.batch.queue)
      changed(id)
      return { ...answer(pressed), resumed: total - succeeded - failed - skipped - cancelled }
    },

    async cancelBatch(id, options) {
      const pressed = await press('cancel', id, options)
      if (pressed.moved) {
        hold(pressed.batch.queue, id)
        changed(id)
        await follow(db, clock, id, clock.elapsed() + followMs)
        // What was cancelled may have freed places under its queue's limit.
        tell(pressed.batch.queue)
      }
      return answer(pressed)
    },

    async retryFailed(id, { cause, ...pressing } = {}) {
      checkCause(cause)
      const by = checkBy(pressing)
      const before = await found(id)
      if (before.state === 'cancelled') throw new RetomaError('batch_cancelled', { id })
      let sum = { retried: 0, held: 0 }
      let resumed = false
      for (let left = rounds; ; left--) {
        await settled(id)
        // A stalled one is resumed by it, and counted so.
        if ((await found(id)).state === 'stalled') resumed = (await press('resume', id, pressing)).moved || resumed
        const number = await beginRetry(db, id, { cause, by }, clock.instant())
        const begun = number !== undefined
        if (begun) {
          for (;;) {
            const bite = await takeBite(db, id, clock.instant())
            sum.retried += bite?.moved ?? 0
            sum.held += bite?.held ?? 0
            if (bite === undefined || bite.done) break
          }
          // A tick, or another who pressed, may have taken some of its bites.
          sum = (await retriedBy(db, id, number)) ?? sum
        }
        const { state, following, queue } = await found(id)
        if (state === 'cancelled') throw new RetomaError('batch_cancelled', { id })
        // Another's rows follow, or it was stalled since: once more.
        if (!begun && left > 0 && (following || state === 'stalled')) continue
        if (begun || resumed) {
          await ask(id)
          if (resumed) tellAnew(queue)
          else tell(queue)
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
      const by = checkBy(options)
      if (!Number.isInteger(priority) || priority < 0 || priority > 9)
        refuseOption('priority', 'it is a whole number from 0 (first) to 9', 'é um número inteiro de 0 (primeiro) a 9')
      const batch = await found(id)
      if (isFinalBatch(batch.state)) throw refusal(batch, 'setPriority')
      const moved = await changePriority(db, id, priority, by, clock.instant())
      tell(batch.queue)
      return { id, state: batch.state, changed: batch.priority !== priority || moved > 0, moved }
    },
  }
}

function refusal({ id, state, resumes }: BatchView, verb: string): RetomaError {
  if (verb === 'resume' && state === 'paused') return new RetomaError('batch_paused', { id })
  if (verb === 'resume' && state === 'failed')
    return new RetomaError('resumes_spent', { what: say('batch', 'o lote'), id, resumes })
  if (state === 'cancelled') return new RetomaError('batch_cancelled', { id })
  return new RetomaError('batch_state', { id, state, verb })
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

/** Of failed items: the cause and the id of the last one; of others its id. */
function isPlace(after: string, state: State | undefined): boolean {
  if (state !== 'failed') return isId(after)
  const [cause, id, ...more] = String(after).split('.')
  return /^[0-9a-f]*$/.test(cause!) && isId(id) && more.length === 0
}
