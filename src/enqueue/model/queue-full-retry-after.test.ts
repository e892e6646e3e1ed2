import { expect, test } from 'vitest'
import { queueFullRetryAfter } from './queue-full-retry-after.ts'

test('there is room when as many have left as are over, at the rate of the last minute', () => {
  expect(queueFullRetryAfter([{ ageSeconds: 10, ended: 0 }], 100, 45)).toBe(5)
  expect(queueFullRetryAfter([{ ageSeconds: 300, ended: 0 }, { ageSeconds: 10, ended: 100 }], 200, 10)).toBe(1) // biome-ignore format: two samples
})

test('it is never less than a second nor more than a minute', () => {
  expect(queueFullRetryAfter([{ ageSeconds: 10, ended: 0 }], 100_000, 1)).toBe(1)
  expect(queueFullRetryAfter([{ ageSeconds: 10, ended: 0 }], 1, 1000)).toBe(60)
})

test('what nobody has read for a second is asked for again soon, what does not move late', () => {
  expect(queueFullRetryAfter([], 0, 10)).toBe(5)
  expect(queueFullRetryAfter([{ ageSeconds: 0.5, ended: 0 }], 1000, 10)).toBe(5)
  expect(queueFullRetryAfter([{ ageSeconds: 30, ended: 7 }], 7, 1)).toBe(60)
})
