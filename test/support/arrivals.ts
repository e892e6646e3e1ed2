/** Arrivals on a clock that a test moves, and the plainest judge there is: it keeps them all and counts. */
import fc from 'fast-check'

export interface Arrivals {
  limit: number
  perMs: number
  /** Milliseconds since the one before, whose it is. */
  steps: readonly { wait: number; who: string }[]
}

export const arrivals: fc.Arbitrary<Arrivals> = fc.record({
  limit: fc.integer({ min: 1, max: 8 }),
  perMs: fc.constantFrom(1000, 1500, 60_000),
  steps: fc.array(
    fc.record({
      wait: fc.oneof(
        fc.constant(0),
        fc.integer({ min: 0, max: 400 }),
        fc.constantFrom(999, 1000, 1500, 59_999, 60_000),
      ),
      who: fc.constantFrom('ana', 'rui'),
    }),
    { minLength: 1, maxLength: 60, size: 'max' },
  ),
})

export interface Verdict {
  granted: boolean
  remaining: number
  /** Until it would be granted; 0: it was. */
  waitMs: number
}

export function plainJudge(limit: number, perMs: number): (who: string, at: number) => Verdict {
  const passed = new Map<string, number[]>()
  return (who, at) => {
    const mine = (passed.get(who) ?? []).filter(each => each > at - perMs)
    const granted = mine.length < limit
    if (granted) mine.push(at)
    passed.set(who, mine)
    return { granted, remaining: limit - mine.length, waitMs: granted ? 0 : mine[mine.length - limit]! + perMs - at }
  }
}
