/**
 * Joins many small writes into a few large statements: while a flush is under way, the next flush gathers. The results of a flush are
 * delivered after the next flush is sent, so that the reactions of hundreds of jobs run while PostgreSQL works.
 *
 * Invariant: `add` resolves once the result of the item is certain. Errors that a reconnect can fix are retried, in order, for as long as
 * necessary. An item that PostgreSQL rejects is found by bisection and never blocks other items.
 */

import { isFaultOfRow } from '../database/pg-errors.ts'
import { retryWhileAway } from '../database/retry-while-away.ts'
import type { WriteResult } from '../execution/model/write-result.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/logging/log.ts'
import { yieldThen } from '../lib/yield.ts'

export interface WriteBatcher<Item> {
  add(item: Item): Promise<WriteResult>
  /** The instant since which the oldest unwritten item waits; undefined: no item waits. */
  readonly waitingSince: number | undefined
  /** Stops waiting for a failing database. */
  giveUp(): void
}

export interface WriteBatcherOptions<Item> {
  clock: Clock
  log: Log
  /** The name of the items in the log. */
  what: string
  /** Writes the items in a single statement; returns the written items. */
  write(items: readonly Item[]): Promise<ReadonlySet<Item>>
  weigh(item: Item): number
  /** At most one item per job in a flush: two items would update the same row, and either could win. Default: no bound. */
  oneOfJob?: boolean
  /** The replacement for an item that PostgreSQL rejects; undefined: no replacement, the result is `rejected`. */
  instead(item: Item, error: unknown): Item | undefined
}

interface Entry<Item> {
  item: Item
  done: (landed: WriteResult) => void
}

const maxRows = 500
const maxLength = 8 * 1024 * 1024

export function createWriteBatcher<Item extends { id: string }>(
  options: WriteBatcherOptions<Item>,
): WriteBatcher<Item> {
  const { clock, log, what, instead } = options
  const ending = new AbortController()
  const gathered: Entry<Item>[] = []
  let flushing = false
  /** The instants of the first gathered item and of the first item under way. */
  let gatheredAt = 0
  let sentAt = 0

  async function flush(): Promise<void> {
    while (gathered.length > 0) {
      sentAt = gatheredAt
      gatheredAt = clock.elapsed()
      await write(gathered.splice(0, fitting()))
    }
    flushing = false
  }

  async function write(entries: Entry<Item>[]): Promise<void> {
    const items = entries.map(entry => entry.item)
    try {
      const landed = await retryWhileAway(() => options.write(items), {
        clock,
        giveUp: ending.signal,
        isAnswer: isFaultOfRow,
        onFirstError: error =>
          log.warn({ err: error, waiting: entries.length }, `the database does not take ${what}; trying again`),
      })
      yieldThen(clock, () => {
        for (const { item, done } of entries) done(landed.has(item) ? 'written' : 'lease_lost')
      })
    } catch (error) {
      if (isFaultOfRow(error)) return divide(entries, error)
      log.warn(
        { err: error, jobs: items.map(item => item.id) },
        `${what} were not written; the watchdog gives their jobs back`,
      )
      for (const entry of entries) entry.done('unwritten')
    }
  }

  /** PostgreSQL rejects a row: split into halves until the row is alone. */
  async function divide(entries: Entry<Item>[], error: unknown): Promise<void> {
    if (entries.length > 1) {
      const half = Math.ceil(entries.length / 2)
      await write(entries.slice(0, half))
      return write(entries.slice(half))
    }
    for (const entry of entries) {
      const item = instead(entry.item, error)
      if (item === undefined) entry.done('rejected')
      else await write([{ ...entry, item }])
    }
  }

  /** The number of items in the next flush: bounded by rows and by weight, and always at least one. */
  function fitting(): number {
    const jobs = new Set<string>()
    let length = 0
    let count = 0
    while (count < Math.min(gathered.length, maxRows)) {
      const { item } = gathered[count]!
      length += options.weigh(item)
      if (count > 0 && length > maxLength) break
      if (options.oneOfJob) {
        if (jobs.has(item.id)) break
        jobs.add(item.id)
      }
      count++
    }
    return count
  }

  return {
    add: item =>
      new Promise(resolve => {
        gathered.push({ item, done: resolve })
        if (flushing) return
        flushing = true
        gatheredAt = clock.elapsed()
        sentAt = gatheredAt
        // Items added in the same turn of the loop join this flush: hundreds of jobs may have received results at once.
        yieldThen(clock, () => void flush())
      }),
    get waitingSince() {
      return flushing ? sentAt : undefined
    },
    giveUp: () => ending.abort(),
  }
}
