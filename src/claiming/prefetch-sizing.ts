/**
 * Sizes the prefetch: the number of jobs a worker may claim beyond its free slots. A prefetch saves round trips when jobs are short, and
 * keeps jobs from other workers when jobs are long. So the prefetch starts at 0 and grows only as far as the slowest 5 % of each kind's
 * recent attempts allow.
 */

const remembered = 64
const enough = 20
const judgeEvery = 16
/** The worker should start all prefetched jobs within about 50 ms. */
const targetMs = 50
/** A kind is quick after 100 attempts (`known`) if the slowest 5 % of the last 64 took less than 20 ms (`quickMs`). */
const known = 100
const quickMs = 20
/** The lower bound of a measured duration, because clocks tick in milliseconds. */
const quickestMs = 0.5

interface Recent {
  ms: number[]
  runs: number
  quick: boolean
}

export class PrefetchSizing {
  readonly #recent = new Map<string, Recent>()
  #slowest = Number.POSITIVE_INFINITY

  ended(kind: string, ms: number): void {
    const recent = this.#recent.get(kind) ?? { ms: [], runs: 0, quick: false }
    recent.ms[recent.runs++ % remembered] = ms
    this.#recent.set(kind, recent)
    // A slow attempt counts at once. A change to quick attempts may take a few attempts to show.
    if (ms > this.#slowest || recent.runs % judgeEvery === 0) this.#slowest = this.#judge()
  }

  /** True if the recent attempts of this kind were quick. */
  isQuick(kind: string): boolean {
    return this.#recent.get(kind)?.quick ?? false
  }

  /** The number of jobs to claim beyond `slots`; at most `most`. */
  ahead(slots: number, most: number): number {
    return Math.min(most, Math.floor((slots * targetMs) / this.#slowest))
  }

  #judge(): number {
    let slowest = quickestMs
    for (const recent of this.#recent.values()) {
      const { ms, runs } = recent
      const slow = nthLargest(ms, ms.length - Math.floor(ms.length * 0.95))
      recent.quick = runs >= known && slow < quickMs
      // A kind with fewer than 20 attempts may be slow.
      slowest = ms.length < enough ? Number.POSITIVE_INFINITY : Math.max(slowest, slow)
    }
    return slowest
  }
}

const largest = new Float64Array(Math.ceil(remembered * 0.05) + 1)

/** The value with `n - 1` larger values. Copies no values, because the function runs for every sixteenth job. */
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
