/**
 * How many jobs of a queue a worker may claim ahead of its free slots. Claiming ahead saves round trips when jobs are
 * short, and keeps others from running them when they are long: so it starts at nothing and grows only as far as the
 * slowest twentieth of each kind's recent runs allows.
 */

const remembered = 64
const enough = 20
const judgeEvery = 16
/** What lies ahead should be started within about this time. */
const targetMs = 50
/** A kind is known to be quick by that many runs, the slowest twentieth of the last below so many milliseconds. */
const known = 100
const quickMs = 20
/** Nothing is known to be quicker than this: clocks tick in milliseconds. */
const quickestMs = 0.5

interface Recent {
  ms: number[]
  runs: number
  quick: boolean
}

export class Pace {
  readonly #recent = new Map<string, Recent>()
  #slowest = Number.POSITIVE_INFINITY

  ended(kind: string, ms: number): void {
    const recent = this.#recent.get(kind) ?? { ms: [], runs: 0, quick: false }
    recent.ms[recent.runs++ % remembered] = ms
    this.#recent.set(kind, recent)
    // A slow run counts at once; that runs have become quick may take a few to be seen.
    if (ms > this.#slowest || recent.runs % judgeEvery === 0) this.#slowest = this.#judge()
  }

  /** Whether jobs of that kind have lately been over in no time. */
  isQuick(kind: string): boolean {
    return this.#recent.get(kind)?.quick ?? false
  }

  /** How many more than `slots`; at most `most`. */
  ahead(slots: number, most: number): number {
    return Math.min(most, Math.floor((slots * targetMs) / this.#slowest))
  }

  #judge(): number {
    let slowest = quickestMs
    for (const recent of this.#recent.values()) {
      const { ms, runs } = recent
      const slow = nthLargest(ms, ms.length - Math.floor(ms.length * 0.95))
      recent.quick = runs >= known && slow < quickMs
      // A kind that has hardly run may be slow.
      slowest = ms.length < enough ? Number.POSITIVE_INFINITY : Math.max(slowest, slow)
    }
    return slowest
  }
}

const largest = new Float64Array(Math.ceil(remembered * 0.05) + 1)

/** The value that `n - 1` others exceed. Makes no copy of the values: this runs for every sixteenth job. */
function nthLargest(values: readonly number[], n: number): number {
  largest.fill(Number.NEGATIVE_INFINITY)
  for (const value of values) {
    let place = n
    while (place > 0 && value > largest[place - 1]!) place--
    if (place === n) continue
    largest.copyWithin(place + 1, place, n - 1)
    largest[place] = value
  }
  return largest[n - 1]!
}
