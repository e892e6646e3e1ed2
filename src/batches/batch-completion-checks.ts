/**
 * Checks whether batches have completed or must stop, after outcomes of their jobs were written.
 *
 * Invariant: after the commit of every written outcome a check follows soon, by this process or by the next tick of any process.
 * A batch with a million jobs is not checked at each flush: the remaining jobs cannot finish sooner than the fastest workers
 * could run them.
 */

import type { Db } from '../database/db.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/logging/log.ts'
import { finishBatches, stopBatches } from './sql/batch-finish.ts'
import { answerStreaks, recordStreak, type Streak } from './sql/batch-streak.ts'
import type { MovedBatch } from './sql/provider-pauses.ts'

/** More jobs than any number of workers settle in a millisecond. */
const fastestPerMs = 100
const longestMs = 1000
const mostKnown = 1000

export interface BatchCompletionOptions {
  db: Db
  clock: Clock
  log: Log
  /** Wakes workers: the queue may have a new onComplete job. */
  wake: (queue: string) => void
  /** Resumes paused batches if the reason for the pause is over. */
  providerAnswered: () => Promise<void>
  /** The batch was paused: no further job of the batch may start. */
  paused: (batch: MovedBatch) => void
  /** The batch completed or was stopped. */
  changed: (batch: string) => void
  closing: AbortSignal
}

export interface FailedItem {
  batch: string
  id: string
  cause: string
  code: string | null
  message: string
}

/** The failures at the end of the list with the same error fingerprint. */
function lastStreak(failed: readonly FailedItem[]): Streak {
  const { batch, cause, code, message } = failed.at(-1)!
  const other = failed.findLastIndex(each => each.cause !== cause)
  return { batch, cause, code, message, items: failed.slice(other + 1), isAll: other < 0 }
}

export class BatchCompletion {
  readonly #given: BatchCompletionOptions
  /** Earliest useful time of the next check for each batch, in milliseconds of this process's clock. */
  readonly #notBefore = new Map<string, number>()
  readonly #wanted = new Set<string>()
  #asking: Promise<void> | undefined
  #failed: FailedItem[] = []
  #noting: Promise<void> | undefined
  /** Batches without a `stopAfter.sameCause` policy. */
  readonly #notStopping = new Set<string>()
  #current: Promise<void> | undefined
  #ended = false

  constructor(given: BatchCompletionOptions) {
    this.#given = given
  }

  /** An outcome of a job of the batch was written. */
  touched(batch: string): void {
    this.#wanted.add(batch)
    this.#asking ??= this.#askAll()
  }

  /** An attempt of a job of the batch failed: counts the failure toward the streak. */
  failed(failed: FailedItem): void {
    if (this.#notStopping.has(failed.batch)) return
    this.#failed.push(failed)
    this.#noting ??= this.#note().finally(() => {
      this.#noting = undefined
    })
  }

  /** An attempt of a job of the batch did not fail: earlier failures do not belong to the streak of the next failure. */
  answered(batch: string): void {
    if (this.#failed.length > 0) this.#failed = this.#failed.filter(each => each.batch !== batch)
  }

  async #note(): Promise<void> {
    const { db, clock, log, paused, closing } = this.#given
    while (this.#failed.length > 0 && !closing.aborted) {
      const all = this.#failed.splice(0)
      for (const batch of new Set(all.map(each => each.batch))) {
        const streak = lastStreak(all.filter(each => each.batch === batch))
        try {
          const noted = await recordStreak(db, streak, clock.instant())
          if (noted === undefined) this.#remember(batch)
          else if (noted.paused) paused({ id: batch, queue: noted.queue })
        } catch (error) {
          log.debug({ err: error, batch }, 'cannot write the failure streak of a batch')
        }
      }
    }
  }

  #remember(batch: string): void {
    if (this.#notStopping.size >= mostKnown) this.#notStopping.clear()
    this.#notStopping.add(batch)
  }

  /** Checks all touched batches without delay; answers whether any batch has ended since the last call. */
  async now(): Promise<boolean> {
    await this.#noting
    while (this.#current !== undefined || this.#wanted.size > 0) {
      await this.#current
      const ids = [...this.#wanted]
      this.#wanted.clear()
      if (ids.length > 0) await this.check(ids)
    }
    const ended = this.#ended
    this.#ended = false
    return ended
  }

  /** Resolves when no check is under way. */
  async settled(): Promise<void> {
    await this.#noting
    await this.#asking
  }

  /** Checks now, regardless of `#notBefore`. */
  async check(ids: readonly string[]): Promise<void> {
    const { db, clock, wake, changed } = this.#given
    const asked = await finishBatches(db, ids, clock.instant())
    const at = clock.elapsed()
    const open = new Set<string>()
    for (const { id, ended, left, queue } of asked) {
      if (queue !== null) wake(queue)
      if (ended) {
        this.#ended = true
        changed(id)
      } else if (left > 0) {
        open.add(id)
        this.#notBefore.set(id, at + Math.min(Math.floor(left / fastestPerMs), longestMs))
      }
    }
    for (const id of ids) if (!open.has(id)) this.#notBefore.delete(id)
    if (this.#notBefore.size > mostKnown) this.#forget(at)
    const may = asked.filter(each => each.mayStop && !each.ended).map(each => each.id)
    const same = asked.filter(each => each.sameCause && !each.ended).map(each => each.id)
    if (same.length > 0 && (await answerStreaks(db, same, clock.instant()))) await this.#given.providerAnswered()
    if (may.length > 0) for (const id of await stopBatches(db, may, clock.instant())) changed(id)
  }

  /**
   * Drops entries of batches that other processes have ended, and others whose time has passed; the worst effect is an extra
   * check.
   */
  #forget(at: number): void {
    for (const [id, notBefore] of this.#notBefore) if (notBefore <= at) this.#notBefore.delete(id)
  }

  async #askAll(): Promise<void> {
    const { clock, log, closing } = this.#given
    while (this.#wanted.size > 0 && !closing.aborted) {
      const at = clock.elapsed()
      const due = [...this.#wanted].filter(id => (this.#notBefore.get(id) ?? 0) <= at)
      if (due.length === 0) {
        const next = Math.min(...Array.from(this.#wanted, id => this.#notBefore.get(id) ?? 0))
        await clock.sleep(Math.max(next - at, 1), closing)
        continue
      }
      for (const id of due) this.#wanted.delete(id)
      this.#current = this.check(due).catch(error =>
        log.debug({ err: error, batches: due }, 'cannot check the completion of batches; the next tick checks'),
      )
      await this.#current
      this.#current = undefined
    }
    this.#asking = undefined
  }
}
