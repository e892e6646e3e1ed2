import fc from 'fast-check'
import { expect, test } from 'vitest'
import { bucketCount, bucketOf, historyBounds, noCounts, quantileOf } from './histogram.ts'

test('each value lies in the bucket whose bound is the first that is not below the value', () => {
  expect(historyBounds.slice(0, 5)).toEqual([1, 2, 5, 10, 20])
  expect(historyBounds.at(-1)).toBe(100_000_000)
  expect([0, 1, 1.5, 2, 5.1, 1e9].map(bucketOf)).toEqual([0, 0, 1, 1, 3, bucketCount - 1])
  expect(bucketOf(Number.NaN)).toBe(0)
})

test('a quantile of merged buckets lies within a factor of 2.5 of the exact quantile', () => {
  const values = fc.array(fc.double({ min: 1, max: 1e8, noNaN: true }), { minLength: 1, maxLength: 200 })
  fc.assert(
    fc.property(values, fc.constantFrom(0.5, 0.95), (all, q) => {
      const counts = noCounts()
      for (const value of all) counts[bucketOf(value)]!++
      const exact = all.toSorted((a, b) => a - b)[Math.ceil(q * all.length) - 1]!
      const found = quantileOf(counts, q)!
      expect(found / exact).toBeLessThanOrEqual(2.5)
      expect(exact / found).toBeLessThanOrEqual(2.5)
    }),
  )
})

test('nothing measured has no quantile, and what lies above the last bound counts as the last bound', () => {
  expect(quantileOf(noCounts(), 0.5)).toBeNull()
  const counts = noCounts()
  counts[bucketCount - 1] = 3
  expect(quantileOf(counts, 0.95)).toBe(100_000_000)
})
