import { expect, test } from 'vitest'
import { PrefetchSizing } from './prefetch-sizing.ts'

const run = (pace: PrefetchSizing, kind: string, ...ms: number[]) => {
  for (const each of ms) pace.ended(kind, each)
}
const times = (n: number, ms: number) => Array.from({ length: n }, () => ms)

test('nothing is claimed ahead before a kind has shown how long it takes', () => {
  const pace = new PrefetchSizing()
  expect(pace.ahead(10, 1000)).toBe(0)
  run(pace, 'a', ...times(16, 0))
  expect(pace.ahead(10, 1000)).toBe(0)
  run(pace, 'a', ...times(16, 0))
  expect(pace.ahead(10, 1000)).toBe(1000)
  run(pace, 'b', ...times(16, 0))
  expect(pace.ahead(10, 1000)).toBe(0)
})

test('the slowest twentieth decides, not the mean', () => {
  const pace = new PrefetchSizing()
  run(pace, 'a', ...times(64, 1))
  expect(pace.ahead(10, 1000)).toBe(500)
  run(pace, 'a', ...times(60, 1), ...times(4, 30_000))
  expect(pace.ahead(10, 1000)).toBe(0)
})

test('of several kinds the slowest decides, and what became quick is believed after a while', () => {
  const pace = new PrefetchSizing()
  run(pace, 'quick', ...times(64, 1))
  run(pace, 'slow', ...times(64, 100))
  expect(pace.ahead(10, 1000)).toBe(5)
  run(pace, 'slow', ...times(64, 1))
  expect(pace.ahead(10, 1000)).toBe(500)
})
