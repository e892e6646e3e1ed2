/**
 * Applies an action (cancel, retry, resume, erase) to all jobs that match a filter, in chunks (jobs/sql/bulk-actions.ts), for a few seconds at most; the
 * caller repeats the call for the rest.
 *
 * Invariant: an action affects only jobs that existed when the call began; a retry and a resume change each job at most once. If a crash, a
 * lost answer or a database outage interrupts the call, every job is either fully changed or unchanged.
 */

import { continueCascade } from '../batches/batch-tick.ts'
import { viewBatch } from '../batches/sql/batch-view.ts'
import type { Db } from '../database/db.ts'
import { localized, RetomaError } from '../errors/errors.ts'
import { refuseOption } from '../errors/invalid-option.ts'
import type { Clock } from '../lib/clock.ts'
import { isId } from '../lib/values/id.ts'
import { isStorableText } from '../lib/values/json.ts'
import { type ActedBy, checkActor } from './model/actor.ts'
import { finalStates, type JobState } from './model/state.ts'
import { type BulkChunk, cancelSome, resumableIn, resumeSome, retrySome, someItems } from './sql/bulk-actions.ts'
import { idsIn, type JobFilter, listIds, topOfList } from './sql/job-list.ts'

/** At least one field is required. */
export interface BulkFilter
  extends Pick<JobFilter, 'kind' | 'queue' | 'groupKey' | 'createdBefore' | 'createdAfter' | 'error' | 'except'> {
  /**
   * For cancel: `waiting`, `running` or `stalled`; default all three. For retry: `failed`, `skipped` or `cancelled`; default
   * `failed`. For resume: `stalled`. For erase: a final state; default all four.
   */
  state?: JobState | undefined
  /** Only jobs of this batch; without `createdAfter` and `error`. Default: any. */
  batchId?: string | undefined
  /** Exactly these jobs, at most 1,000, as far as their state allows the action; with `state` alone. Default: any. */
  ids?: readonly string[] | undefined
}

/** Options of an action on many jobs. */
export interface BulkOptions extends ActedBy {
  /** Counts the jobs that match and changes nothing. Default false. */
  dryRun?: boolean | undefined
}

/** The result of an action on many jobs. */
export interface BulkActionResult {
  /** Number of jobs this call changed; with `dryRun`, number of jobs that match. */
  changed: number
  /** Retry only: jobs left unchanged because another job has their unique key now. */
  conflicts: number
  /** false: more jobs may match; call again, for a retry, a resume or an erase with `after: next`. */
  done: boolean
  next: string | null
}

/** Methods of the namespace `engine.jobs`. */
export interface BulkActions {
  /**
   * Cancels all matching jobs that are not in a final state, including items of batches; the batches continue without the items. The
   * handler of a running job hears `lease_lost` within a second.
   */
  cancelMany(filter: BulkFilter, options?: BulkOptions): Promise<BulkActionResult>
  /** Runs the matching jobs again with a new attempt budget; saved steps do not run again. */
  retryMany(
    filter: BulkFilter,
    options?: BulkOptions & {
      /** `next` of the call before, to continue. Default: from the first job. */
      after?: string | undefined
    },
  ): Promise<BulkActionResult>
  /**
   * Resumes the matching stalled jobs from the last saved step. Items of a stalled batch stay `stalled`: `engine.batches.resume` resumes the
   * whole batch.
   */
  resumeMany(
    filter: BulkFilter,
    options?: BulkOptions & {
      /** `next` of the call before, to continue. Default: from the first job. */
      after?: string | undefined
    },
  ): Promise<BulkActionResult>
  /**
   * Erases the matching jobs in a final state, as `erase` does, items of batches included. The jobs are gone for good; the batches still
   * count the items.
   */
  eraseMany(
    filter: BulkFilter,
    options?: BulkOptions & {
      /** `next` of the call before, to continue. Default: from the first job. */
      after?: string | undefined
    },
  ): Promise<BulkActionResult>
}

const chunkSize = 1000
const mostIds = 1000
/** A call runs this long before it answers. */
const longestMs = 5000
const maxConflictRetries = 5

const cancellable: readonly JobState[] = ['waiting', 'running', 'stalled']
const retryable: readonly JobState[] = ['failed', 'skipped', 'cancelled']

export function createBulkActions(given: {
  db: Db
  clock: Clock
  /** Jobs of the batch ended or wait again. */
  batchMoved: (batch: string) => Promise<unknown>
  wake: (queue: string) => void
  /** Tells all workers of the queue: running jobs were cancelled. */
  leasesEnded: (queue: string) => void
  /** Erases the jobs that are in a final state; answers their number. */
  erase: (ids: readonly string[], by: string | undefined) => Promise<number>
}): BulkActions {
  const { db, clock, batchMoved, wake, leasesEnded, erase } = given

  async function checked(filter: BulkFilter, states: readonly JobState[], otherwise: readonly JobState[]) {
    const { state, batchId, ids, except: _, ...more } = filter
    const others = Object.values(more).filter(each => each !== undefined)
    if ([state, batchId, ids, ...others].every(each => each === undefined))
      refuseOption(
        'filter',
        'it names nothing: give at least one of kind, queue, state, groupKey, batchId, createdBefore, createdAfter and error',
        'não diz nada: passe ao menos um destes: kind, queue, state, groupKey, batchId, createdBefore, createdAfter, error',
      )
    if (ids !== undefined && (ids.length === 0 || ids.length > mostIds || batchId !== undefined || others.length > 0))
      refuseOption('ids', 'they are 1 to 1000 ids, with state alone', 'são de 1 a 1000 ids, só com state')
    for (const name of ['createdAfter', 'error'] as const)
      if (batchId !== undefined && filter[name] !== undefined)
        refuseOption(name, 'it does not go with batchId', 'não vai junto com batchId')
    if (state !== undefined && !states.includes(state))
      refuseOption('state', `it is one of ${states.join(', ')}`, `é um destes: ${states.join(', ')}`)
    const there =
      batchId === undefined || (isId(batchId) && (await viewBatch(db, batchId, clock.instant())) !== undefined)
    if (!there) throw new RetomaError('not_found', { what: localized('batch', 'lote'), id: String(batchId) })
    return state === undefined ? otherwise : [state]
  }

  /** Yields the ids of matching jobs in a state, a chunk at a time, with the cursor of the next chunk. */
  async function* ids(filter: BulkFilter, state: JobState, first?: string) {
    const { batchId, ids: named, ...same } = filter
    if (named !== undefined) {
      yield { ids: await idsIn(db, named.filter(isId), state, filter.except), next: null }
      return
    }
    const texts = [filter.kind, filter.queue, filter.groupKey, filter.error]
    if (texts.some(text => text !== undefined && !isStorableText(text))) return
    for (let after = first; ; ) {
      if (batchId === undefined) {
        const page = await listIds(db, { ...same, state }, after, chunkSize)
        yield { ids: page.items.map(job => job.id), next: page.next }
        if (page.next === null) return
        after = page.next
      } else {
        const { n, ids } = await someItems(db, { ...same, batchId, states: [state] }, Number(after ?? -1))
        yield { ids, next: n === null ? null : String(n) }
        if (n === null) return
        after = String(n)
      }
    }
  }

  async function announce(moved: BulkChunk): Promise<void> {
    for (const queue of moved.ran) leasesEnded(queue)
    for (const queue of moved.queues) wake(queue)
    for (const batch of moved.batches) await batchMoved(batch)
  }

  /** Counts the jobs that match now, until the time `until`. */
  async function count(filter: BulkFilter, states: readonly JobState[], first: string | undefined, until: number) {
    let found = 0
    for (const state of states) {
      for await (const some of ids(filter, state, first)) {
        found += some.ids.length
        if (some.next !== null && clock.elapsed() >= until)
          return { changed: found, conflicts: 0, done: false, next: some.next }
      }
    }
    return { changed: found, conflicts: 0, done: true, next: null }
  }

  return {
    async cancelMany(filter, options = {}) {
      const by = checkActor(options)
      const states = await checked(filter, cancellable, cancellable)
      const until = clock.elapsed() + longestMs
      const top = filter.batchId === undefined ? await topOfList(db) : undefined
      if (options.dryRun) return { ...(await count(filter, states, top, until)), next: null }
      let changed = 0
      // A job may change from a listed state to another during the pass: finish when a whole pass finds no job.
      for (let before = -1; before !== changed; ) {
        before = changed
        for (const state of states) {
          for await (const some of ids(filter, state, top)) {
            if (some.ids.length > 0) {
              const moved = await cancelSome(db, { ids: some.ids, states, by }, clock.instant())
              changed += moved.changed
              await announce(moved)
            }
            if (clock.elapsed() >= until) return { changed, conflicts: 0, done: false, next: null }
          }
        }
      }
      return { changed, conflicts: 0, done: true, next: null }
    },

    async eraseMany(filter, options = {}) {
      const by = checkActor(options)
      const states = await checked(filter, finalStates, finalStates)
      const until = clock.elapsed() + longestMs
      const top = filter.batchId === undefined ? await topOfList(db) : undefined
      const begin = placeOf(options.after)
      let changed = 0
      for (const state of states.slice(begin === undefined ? 0 : states.indexOf(begin.state))) {
        for await (const { ids: some, next } of ids(filter, state, state === begin?.state ? begin.after : top)) {
          changed += options.dryRun ? some.length : some.length === 0 ? 0 : await erase(some, by)
          if (next !== null && clock.elapsed() >= until)
            return { changed, conflicts: 0, done: false, next: `${state}:${next}` }
        }
      }
      return { changed, conflicts: 0, done: true, next: null }
    },

    async resumeMany(filter, options = {}) {
      const by = checkActor(options)
      const [state] = await checked(filter, ['stalled'], ['stalled'])
      refuseForeignPlace(options.after)
      const until = clock.elapsed() + longestMs
      let changed = 0
      for await (const { ids: some, next } of ids(filter, state!, options.after)) {
        if (options.dryRun) changed += (await resumableIn(db, some)).length
        else if (some.length > 0) {
          const moved = await resumeSome(db, { ids: some, by }, clock.instant())
          changed += moved.changed
          await announce(moved)
        }
        if (next !== null && clock.elapsed() >= until) return { changed, conflicts: 0, done: false, next }
      }
      return { changed, conflicts: 0, done: true, next: null }
    },

    async retryMany(filter, options = {}) {
      const by = checkActor(options)
      const states = await checked(filter, retryable, ['failed'])
      refuseForeignPlace(options.after)
      const until = clock.elapsed() + longestMs
      if (options.dryRun) return count(filter, states, options.after, until)
      const sum = { changed: 0, conflicts: 0 }
      for await (const { ids: some, next } of ids(filter, states[0]!, options.after)) {
        for (let left = maxConflictRetries; some.length > 0; left--) {
          const moved = await retrySome(db, { ids: some, states, by }, clock.instant())
          sum.changed += moved.changed
          await announce(moved)
          if (moved.blocked.length === 0 || left === 0) {
            sum.conflicts += moved.conflicts
            break
          }
          // A cascade of these batches is still under way: finish the cascade first.
          for (const batch of moved.blocked) await continueCascade(given, batch, Number.POSITIVE_INFINITY)
        }
        if (next !== null && clock.elapsed() >= until) return { ...sum, done: false, next }
      }
      return { ...sum, done: true, next: null }
    },
  }
}

/** Throws unless `after` can be the `next` of an earlier retry or resume. */
function refuseForeignPlace(after: string | undefined): void {
  if (after !== undefined && !isId(after))
    refuseOption('after', 'it is the next of an earlier call', 'é o next de uma chamada anterior')
}

/** The place of an erase among the final states: `failed:123`. */
function placeOf(after: string | undefined): { state: JobState; after: string } | undefined {
  if (after === undefined) return undefined
  const [, name, id] = /^([a-z]+):(-?\d{1,19})$/.exec(after) ?? []
  const state = finalStates.find(each => each === name)
  if (state === undefined || id === undefined)
    return refuseOption('after', 'it is the next of an earlier call', 'é o next de uma chamada anterior')
  return { state, after: id }
}
