/**
 * Repeatable random numbers: a single stream (mulberry32) from which every decision of a run is drawn, in the order of the
 * steps. A draw between two steps, or a number of draws dependent on real time, breaks the replay.
 */
export interface Chance {
  /** Between 0 (included) and 1 (excluded). */
  next(): number
  /** A whole number below `limit`. */
  below(limit: number): number
  /** True so many times in a hundred. */
  percent(likely: number): boolean
  one<T>(list: readonly T[]): T
  /** A random name, with a likelihood in proportion to the name's weight. */
  weighed<Name extends string>(weights: Partial<Record<Name, number>>): Name
}

export function chanceFrom(seed: number): Chance {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), state | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (limit: number) => Math.floor(next() * limit)
  return {
    next,
    below,
    percent: likely => next() * 100 < likely,
    one: list => list[below(list.length)]!,
    weighed<Name extends string>(weights: Partial<Record<Name, number>>) {
      const all = Object.entries(weights) as [Name, number][]
      let left = next() * all.reduce((sum, [, weight]) => sum + weight, 0)
      for (const [name, weight] of all) {
        left -= weight
        if (left < 0) return name
      }
      return all.at(-1)![0]
    },
  }
}
