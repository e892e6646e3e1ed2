import { expect, test } from 'vitest'
import { PrefetchSizing } from './prefetch-sizing.ts'

const run = (prefetch: PrefetchSizing, kind: string, ...ms: number[]) => {
  for (const each of ms) prefetch.ended(kind, each)
}
const times = (n: number, ms: number) => Array.from({ length: n }, () => ms)

test('nothing is claimed ahead before a kind has shown how long it takes', () => {
  const prefetch = new PrefetchSizing()
  expect(prefetch.ahead(10, 1000)).toBe(0)
  run(prefetch, 'a', ...times(16, 0))
  expect(prefetch.ahead(10, 1000)).toBe(0)
  run(prefetch, 'a', ...times(16, 0))
  expect(prefetch.ahead(10, 1000)).toBe(1000)
  run(prefetch, 'b', ...times(16, 0))
  expect(prefetch.ahead(10, 1000)).toBe(0)
})

test('the slowest twentieth decides, not the mean', () => {
  const prefetch = new PrefetchSizing()
  run(prefetch, 'a', ...times(64, 1))
  expect(prefetch.ahead(10, 1000)).toBe(500)
  run(prefetch, 'a', ...times(60, 1), ...times(4, 30_000))
  expect(prefetch.ahead(10, 1000)).toBe(0)
})

test('of several kinds the slowest decides, and what became quick is believed after a while', () => {
  const prefetch = new PrefetchSizing()
  run(prefetch, 'quick', ...times(64, 1))
  run(prefetch, 'slow', ...times(64, 100))
  expect(prefetch.ahead(10, 1000)).toBe(5)
  run(prefetch, 'slow', ...times(64, 1))
  expect(prefetch.ahead(10, 1000)).toBe(500)
})
