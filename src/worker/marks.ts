/**
 * How far this worker has claimed in each lane (a queue and a rank), so that a claim does not walk again over what is
 * long claimed and not yet vacuumed away.
 *
 * Everything that enters `waiting` does so at the present or later, so it lies ahead of every mark; only a commit that
 * took its time can lie behind one. A claim therefore begins a little before its mark, and now and then at the start:
 * when twenty times the cost of the last such sweep has passed, so that sweeping never costs more than 5 %.
 */

import { lookBackMs, type Mark } from '../store/claim.ts'

export const start: Mark = { runAt: '-infinity', id: '0' }

const lookBackRows = 2000
const sweepAtLeastMs = 1000
export const sweepAtMostMs = 30_000
const sweepShare = 20

interface Past {
  at: number
  mark: Mark
  /** Rows claimed in this lane up to here. */
  rows: number
}

export class Marks {
  readonly #lanes = new Map<string, Past[]>()
  /** By queue: before this, nothing waits that this worker could have claimed. */
  readonly #floors = new Map<string, Mark>()
  #sweptAt = Number.NEGATIVE_INFINITY
  #sweepCost = 0

  /** Where the next claim of a lane begins: at the mark of a quarter second ago, or 2,000 rows back if that is nearer. */
  from(queue: string, rank: number, at: number): Mark {
    const floor = this.#floors.get(queue) ?? start
    const mark = this.#claimedFrom(queue, rank, at)
    return isAfter(floor, mark) ? floor : mark
  }

  #claimedFrom(queue: string, rank: number, at: number): Mark {
    const past = this.#lanes.get(laneName(queue, rank))
    if (past === undefined) return start
    const rows = past.at(-1)!.rows
    let place = 0
    while (place + 1 < past.length && isPast(past[place + 1]!, at, rows)) place++
    past.splice(0, place)
    return isPast(past[0]!, at, rows) ? past[0]!.mark : start
  }

  /** These rows of a lane were claimed. */
  took(queue: string, rank: number, claimed: readonly Mark[], at: number): void {
    const name = laneName(queue, rank)
    const past = this.#lanes.get(name) ?? []
    const last = past.at(-1)
    const mark = claimed.reduce((a, b) => (isAfter(b, a) ? b : a), last?.mark ?? start)
    past.push({ at, mark, rows: (last?.rows ?? 0) + claimed.length })
    this.#lanes.set(name, past)
  }

  /** A claim brought less than it wanted: up to that instant all was seen, also what is held and was passed by. */
  sawAll(queue: string, upTo: string): void {
    this.#floors.set(queue, { runAt: upTo, id: '0' })
  }

  /** What was passed by may be claimed after all: from the start once more. */
  forget(queue: string): void {
    this.#floors.delete(queue)
    for (const name of this.#lanes.keys()) if (name.slice(name.indexOf(' ') + 1) === queue) this.#lanes.delete(name)
  }

  get sweepAt(): number {
    return this.#sweptAt + this.sweepEvery
  }

  get sweepEvery(): number {
    return Math.min(Math.max(sweepShare * this.#sweepCost, sweepAtLeastMs), sweepAtMostMs)
  }

  /** Milliseconds the last sweep took. */
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

/** Texts of one form: a shorter fraction is a prefix of a longer one, and '-infinity' comes before every digit. */
function isAfter(a: Mark, b: Mark): boolean {
  if (a.runAt !== b.runAt) return a.runAt > b.runAt
  return a.id.length === b.id.length ? a.id > b.id : a.id.length > b.id.length
}
