/**
 * Counts the attempts of a worker for the history, in memory and by queue and minute, and writes the counts with the heartbeats
 * (metrics/sql/queue-history.ts). The path of a job has only additions.
 *
 * Invariant: each count is written at most once, by a write with a number of its own. A write without an answer is repeated as it was,
 * with the same number and under the same worker id; counts made meanwhile wait for the next write. At most one heartbeat's counts are lost
 * if the process dies; the counts of an outage of the database are written afterwards, under the minutes in which they occurred.
 */
import type { Db } from '../database/db.ts'
import type { AttemptEnd } from '../execution/attempt-outcome.ts'
import type { Log } from '../lib/logging/log.ts'
import { bucketOf, noCounts } from '../metrics/model/histogram.ts'
import { type HistoryCount, type HistoryRow, historyCounts, writeHistory } from '../metrics/sql/queue-history.ts'

interface Cell extends Record<HistoryCount, number> {
  queue: string
  /** Minutes since 1970, by the clock of the database. */
  minute: number
  durationMs: number
  waitingMs: number
  durations: number[]
  waitings: number[]
}

/** A write that may have to be repeated. */
interface HistoryWrite {
  worker: string
  seq: number
  rows: HistoryRow[]
}

/** Unwritten cells at most; counts beyond are dropped. During an outage no job starts, so that few minutes gather. */
const mostCells = 5000

export class HistoryCounter {
  readonly #db: Db
  readonly #log: Log
  #cells: Cell[] = []
  /** The cell in which each queue counts now. */
  readonly #latest = new Map<string, Cell>()
  #pending: HistoryWrite | undefined
  #seq = 0
  #flushing: Promise<void> | undefined

  constructor({ db, log }: { db: Db; log: Log }) {
    this.#db = db
    this.#log = log
  }

  /** A handler starts at `now`, in milliseconds of the database's clock; its job was ready for `waitingMs`. */
  started(queue: string, now: number, waitingMs: number): void {
    const cell = this.#cell(queue, now)
    const waited = waitingMs > 0 ? waitingMs : 0
    cell.started++
    cell.waitingMs += waited
    cell.waitings[bucketOf(waited)]!++
  }

  /** An attempt ended at `now`, after `ms`, and its outcome is written. */
  ended(queue: string, now: number, end: AttemptEnd, ms: number): void {
    const count = countOf(end)
    if (count === undefined) return
    const cell = this.#cell(queue, now)
    cell[count]++
    if (count === 'deferred') return
    cell.durationMs += ms
    cell.durations[bucketOf(ms)]!++
  }

  /** Writes what was counted so far, under the id of a live worker. Never rejects. */
  flush(worker: string): Promise<void> {
    this.#flushing ??= this.#flush(worker).finally(() => {
      this.#flushing = undefined
    })
    return this.#flushing
  }

  async #flush(worker: string): Promise<void> {
    this.#pending ??= this.#take(worker)
    if (this.#pending === undefined) return
    const { worker: id, seq, rows } = this.#pending
    try {
      await writeHistory(this.#db, id, seq, rows)
      this.#pending = undefined
    } catch (error) {
      this.#log.debug({ err: error }, 'cannot write the history; trying again')
    }
  }

  /** Writes the rest when the worker stops: also the counts that came during a write. */
  async last(worker: string): Promise<void> {
    await this.#flushing
    await this.flush(worker)
    if (this.#pending === undefined) await this.flush(worker)
  }

  #take(worker: string): HistoryWrite | undefined {
    if (this.#cells.length === 0) return undefined
    const rows = rowsOf(this.#cells)
    this.#cells = []
    this.#latest.clear()
    return { worker, seq: ++this.#seq, rows }
  }

  #cell(queue: string, now: number): Cell {
    const minute = Math.floor(now / 60_000)
    const latest = this.#latest.get(queue)
    if (latest?.minute === minute) return latest
    const cell = this.#cells.find(each => each.minute === minute && each.queue === queue) ?? this.#begin(queue, minute)
    this.#latest.set(queue, cell)
    return cell
  }

  #begin(queue: string, minute: number): Cell {
    const counts = { started: 0, succeeded: 0, skipped: 0, failed: 0, retried: 0, deferred: 0 }
    const cell = { queue, minute, ...counts, durationMs: 0, waitingMs: 0, durations: noCounts(), waitings: noCounts() }
    if (this.#cells.length < mostCells) this.#cells.push(cell)
    return cell
  }
}

function countOf(end: AttemptEnd): HistoryCount | undefined {
  switch (end.state) {
    case 'succeeded':
    case 'skipped':
    case 'failed':
      return end.state
    case 'waiting':
      return end.failure === null ? 'deferred' : 'retried'
    case 'released':
    case 'deferred':
      return 'deferred'
    default:
      // A lost lease: the process that ended the attempt counts the attempt.
      return undefined
  }
}

/** The rows by minute, and their sums by hour. */
function rowsOf(cells: readonly Cell[]): HistoryRow[] {
  const hours = new Map<string, HistoryRow & { durations: number[]; waitings: number[] }>()
  for (const { minute, ...cell } of cells) {
    const at = Math.floor(minute / 60) * 3600
    const name = `${at} ${cell.queue}`
    const hour = hours.get(name)
    if (hour === undefined) {
      const copy = { durations: [...cell.durations], waitings: [...cell.waitings] }
      hours.set(name, { ...cell, ...copy, seconds: 3600, at })
      continue
    }
    for (const count of historyCounts) hour[count] += cell[count]
    hour.durationMs += cell.durationMs
    hour.waitingMs += cell.waitingMs
    for (const [n, count] of cell.durations.entries()) hour.durations[n]! += count
    for (const [n, count] of cell.waitings.entries()) hour.waitings[n]! += count
  }
  return [...cells.map(({ minute, ...cell }) => ({ ...cell, seconds: 60, at: minute * 60 })), ...hours.values()]
}
