/**
 * Asks for jobs of queues that have limits, going round their keys in turns.
 *
 * Invariant: a claim that brings fewer than wanted has been once round all keys, or the queue as a whole allows no more;
 * so what is left waits for a slot of its gate, for a time, or for another kind of worker.
 */
import type { Takes } from '../core/version.ts'
import type { Clock } from '../lib/clock.ts'
import type { Claimed } from '../store/claim.ts'
import { after, claimGated, firstTurn, type GatedClaim, type Turn } from '../store/claim-gated.ts'
import type { Db } from '../store/db.ts'
import { addGates } from '../store/gate.ts'
import { Overrides } from './overrides.ts'

/** Most lanes that one statement looks at. */
const mostLanes = 1000
/** A gate that was made and is gone again was pruned in that moment; so often is a mistake. */
const mostRounds = 1000

export class GatedClaimer {
  readonly #db: Db
  readonly #clock: Clock
  readonly #takes: Takes
  readonly #overrides: Overrides
  readonly #turns = new Map<string, Turn>()

  constructor(db: Db, clock: Clock, takes: Takes, overrides = new Overrides(db)) {
    this.#db = db
    this.#clock = clock
    this.#takes = takes
    this.#overrides = overrides
  }

  /** Hands over what each statement brings; answers when to ask again though nobody says that there is work. */
  async claim(
    worker: string,
    queue: string,
    want: number,
    took: (claimed: readonly Claimed[]) => void,
  ): Promise<number> {
    let missing = want
    let nextMs = Number.POSITIVE_INFINITY
    let from = this.#turns.get(queue) ?? firstTurn
    let fromStart = from === firstTurn
    let lanes = want * 2 + 10
    for (let round = 0; round < mostRounds; round++) {
      const asked = {
        queue,
        want: missing,
        worker,
        ...this.#takes,
        from,
        lanes: Math.min(lanes, mostLanes),
      }
      const answer = await claimGated(this.#db, asked, this.#clock.instant())
      await this.#overrides.handTo(answer.claimed)
      took(answer.claimed)
      missing -= answer.claimed.length
      nextMs = Math.min(nextMs, answer.nextMs ?? nextMs)
      if (missing <= 0 || answer.allowed <= answer.claimed.length) {
        if (answer.claimed.length > 0) this.#turns.set(queue, turnAfter(answer, asked.lanes))
        break
      }
      if (answer.missing.length > 0) {
        await addGates(this.#db, queue, answer.missing, this.#clock.instant())
        continue
      }
      const wasLast = answer.lanes < asked.lanes
      if (wasLast && fromStart) {
        this.#turns.delete(queue)
        break
      }
      fromStart ||= wasLast
      from = wasLast ? firstTurn : answer.last!
      lanes *= 4
    }
    return nextMs
  }
}

/** Who got something comes last next time; but nobody is asked twice when there is nobody else. */
function turnAfter({ claimed, last, lanes }: GatedClaim, asked: number): Turn {
  const key = claimed.map(each => each.gate_key).reduce((a, b) => (isBefore(a, b) ? b : a))
  return lanes < asked && key === last?.key ? firstTurn : after(key)
}

/** As the database orders keys: by their bytes. */
const isBefore = (a: string, b: string): boolean => Buffer.compare(Buffer.from(a), Buffer.from(b)) < 0
