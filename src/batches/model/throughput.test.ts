import { expect, test } from 'vitest'
import { etaOf, rateOf } from './throughput.ts'

const samples = (...given: [age: number, ended: number][]) =>
  given.map(([ageSeconds, ended]) => ({ ageSeconds, ended }))

test('the rate is over the last minute, from the oldest sample in it', () => {
  expect(rateOf(samples([300, 0], [50, 1000], [5, 1400]), 1500)).toBe(10)
})

test('with none in the last minute it is from the last one', () => {
  expect(rateOf(samples([300, 0], [100, 1000]), 1500)).toBe(5)
})

test('without a sample, too soon after it, or with nothing ended since, it is unknown', () => {
  expect(rateOf([], 10)).toBeNull()
  expect(rateOf(samples([0.5, 0]), 10)).toBeNull()
  expect(rateOf(samples([30, 10]), 10)).toBeNull()
})

test('what is left takes as long as the rate says', () => {
  expect(etaOf(3, 10)).toBe(4)
  expect(etaOf(3, 0)).toBe(0)
  expect(etaOf(null, 10)).toBeNull()
})
