/**
 * Keeps the claim cursors: the position reached in each lane (a queue and a claim rank), so that a claim does not scan claimed rows again
 * before vacuum removes the rows.
 *
 * Every job enters `waiting` at the current instant or later, so ahead of every claim cursor; only a late commit can be behind a cursor. A
 * claim therefore starts slightly before its cursor, and sometimes with a full scan: after 20 times the cost of the last full scan, so that
 * full scans never cost more than 5 % of the time.
 */

import { type ClaimCursor, lookBackMs } from './sql/claim.ts'

export const startCursor: ClaimCursor = { runAt: '-infinity', id: '0' }

const lookBackRows = 2000
const sweepAtLeastMs = 1000
export const fullScanAtMostMs = 30_000
const sweepShare = 20

interface Past {
  at: number
  cursor: ClaimCursor
  /** Rows claimed in this lane up to here. */
  rows: number
}

export class ClaimCursors {
  readonly #lanes = new Map<string, Past[]>()
  /** By queue: before this position no job waits that this worker could have claimed. */
  readonly #floors = new Map<string, ClaimCursor>()
  #sweptAt = Number.NEGATIVE_INFINITY
  #sweepCost = 0

  /** The start of the next claim of a lane: the cursor of 250 ms ago, or 2,000 rows back if nearer. */
  from(queue: string, rank: number, at: number): ClaimCursor {
    const floor = this.#floors.get(queue) ?? startCursor
    const cursor = this.#claimedFrom(queue, rank, at)
    return isAfter(floor, cursor) ? floor : cursor
  }

  #claimedFrom(queue: string, rank: number, at: number): ClaimCursor {
    const past = this.#lanes.get(laneName(queue, rank))
    if (past === undefined) return startCursor
    const rows = past.at(-1)!.rows
    let place = 0
    while (place + 1 < past.length && isPast(past[place + 1]!, at, rows)) place++
    past.splice(0, place)
    return isPast(past[0]!, at, rows) ? past[0]!.cursor : startCursor
  }

  /** Records the claimed rows of a lane. */
  took(queue: string, rank: number, claimed: readonly ClaimCursor[], at: number): void {
    const name = laneName(queue, rank)
    const past = this.#lanes.get(name) ?? []
    const last = past.at(-1)
    const cursor = claimed.reduce((a, b) => (isAfter(b, a) ? b : a), last?.cursor ?? startCursor)
    past.push({ at, cursor, rows: (last?.rows ?? 0) + claimed.length })
    this.#lanes.set(name, past)
  }

  /** A claim received fewer jobs than wanted: everything up to `upTo` was seen, including skipped jobs with blocked claims. */
  sawAll(queue: string, upTo: string): void {
    this.#floors.set(queue, { runAt: upTo, id: '0' })
  }

  /** Skipped jobs may be claimable: the next claim scans from the start. */
  forget(queue: string): void {
    this.#floors.delete(queue)
    for (const name of this.#lanes.keys()) if (name.slice(name.indexOf(' ') + 1) === queue) this.#lanes.delete(name)
  }

  get sweepAt(): number {
    return this.#sweptAt + this.sweepEvery
  }

  get sweepEvery(): number {
    return Math.min(Math.max(sweepShare * this.#sweepCost, sweepAtLeastMs), fullScanAtMostMs)
  }

  /** Duration of the last full scan, in milliseconds. */
  get sweepCost(): number {
    return this.#sweepCost
  }

  sweepIsDue(at: number): boolean {
    return at >= this.sweepAt
  }

  swept(at: number, costMs: number): void {
    this.#sweptAt = at
    this.#sweepCost = costMs
  }
}

const laneName = (queue: string, rank: number) => `${rank} ${queue}`

const isPast = (past: Past, at: number, rows: number) => past.at <= at - lookBackMs || rows - past.rows >= lookBackRows

/** Compares texts of the same format: a shorter fraction is a prefix of a longer fraction, and '-infinity' sorts before every digit. */
function isAfter(a: ClaimCursor, b: ClaimCursor): boolean {
  if (a.runAt !== b.runAt) return a.runAt > b.runAt
  return a.id.length === b.id.length ? a.id > b.id : a.id.length > b.id.length
}
