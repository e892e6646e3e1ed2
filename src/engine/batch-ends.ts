/**
 * Asks whether batches are over, or must stop, after something of them has ended.
 *
 * Invariant: for every outcome that landed somebody asks after its commit, soon: this process, or the next tick of any.
 * A batch of a million is not asked about at each flush: as many as are left cannot end sooner than the fastest workers
 * could run them.
 */
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/log.ts'
import { finishBatches, stopBatches } from '../store/batch-finish.ts'
import type { Db } from '../store/db.ts'

/** More than any number of workers settle in a millisecond. */
const fastestPerMs = 100
const longestMs = 1000
const mostKnown = 1000

export interface BatchEndsOptions {
  db: Db
  clock: Clock
  log: Log
  /** There may be work in that queue: an onComplete job. */
  tell: (queue: string) => void
  /** It ended, or was stopped. */
  changed: (batch: string) => void
  closing: AbortSignal
}

export class BatchEnds {
  readonly #given: BatchEndsOptions
  /** When it is worth asking, in this process's milliseconds. */
  readonly #notBefore = new Map<string, number>()
  readonly #wanted = new Set<string>()
  #asking: Promise<void> | undefined
  #current: Promise<void> | undefined
  #ended = false

  constructor(given: BatchEndsOptions) {
    this.#given = given
  }

  /** An outcome of a job of that batch has landed. */
  touched(batch: string): void {
    this.#wanted.add(batch)
    this.#asking ??= this.#askAll()
  }

  /** Asks about all that something was seen of, without waiting; answers whether any has ended since it was last asked. */
  async now(): Promise<boolean> {
    while (this.#current !== undefined || this.#wanted.size > 0) {
      await this.#current
      const ids = [...this.#wanted]
      this.#wanted.clear()
      if (ids.length > 0) await this.ask(ids)
    }
    const ended = this.#ended
    this.#ended = false
    return ended
  }

  /** Resolves when nothing is being asked. */
  async settled(): Promise<void> {
    await this.#asking
  }

  /** Asks now, whatever was known. */
  async ask(ids: readonly string[]): Promise<void> {
    const { db, clock, tell, changed } = this.#given
    const asked = await finishBatches(db, ids, clock.instant())
    const at = clock.elapsed()
    const open = new Set<string>()
    for (const { id, ended, left, queue } of asked) {
      if (queue !== null) tell(queue)
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
    if (may.length > 0) for (const id of await stopBatches(db, may, clock.instant())) changed(id)
  }

  /** Those that another process has ended meanwhile, and others: at worst they are asked about once too often. */
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
      this.#current = this.ask(due).catch(error =>
        log.debug({ err: error, batches: due }, 'whether batches are over could not be asked; the next tick does'),
      )
      await this.#current
      this.#current = undefined
    }
    this.#asking = undefined
  }
}
