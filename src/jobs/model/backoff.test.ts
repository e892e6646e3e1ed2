import fc from 'fast-check'
import { expect, test } from 'vitest'
import { hours, milliseconds, minutes, seconds } from '../../lib/values/duration.ts'
import { type Backoff, backoffAfter, defaultBackoff } from './backoff.ts'

const anyBackoff = fc.record({
  first: fc.integer({ min: 0, max: hours(1) }).map(milliseconds),
  factor: fc.double({ min: 1, max: 100, noNaN: true }),
  max: fc.integer({ min: 1, max: hours(48) }).map(milliseconds),
  jitter: fc.double({ min: 0, max: 1, noNaN: true }),
})
const anyFailures = fc.integer({ min: 1, max: 1_000_000 })
const anyRandom = fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true })
const steady = (backoff: Backoff): Backoff => ({ ...backoff, jitter: 0 })

test('the default waits 5 s, then twice as long each time, and never more than 10 minutes', () => {
  const waits = [1, 2, 3, 7, 8, 9, 5000].map(failures => backoffAfter(failures, steady(defaultBackoff), 0))
  expect(waits).toEqual([5, 10, 20, 320, 600, 600, 600].map(seconds))
})

test('a wait never gets shorter with more failures, and never passes max', () => {
  fc.assert(
    fc.property(anyBackoff, anyFailures, (backoff, failures) => {
      const wait = backoffAfter(failures, steady(backoff), 0)
      const next = backoffAfter(failures + 1, steady(backoff), 0)
      return wait >= 0 && wait <= next && next <= backoff.max
    }),
  )
})

test('jitter only adds, and no more than its share', () => {
  fc.assert(
    fc.property(anyBackoff, anyFailures, anyRandom, (backoff, failures, random) => {
      const exact = backoffAfter(failures, steady(backoff), 0)
      const wait = backoffAfter(failures, backoff, random)
      return Number.isInteger(wait) && wait >= exact && wait <= exact * (1 + backoff.jitter) + 1
    }),
  )
})

test('no wait at first is no wait after any number of failures', () => {
  expect(backoffAfter(100_000, { first: seconds(0), factor: 100, max: minutes(1), jitter: 0.5 }, 0.5)).toBe(0)
})
