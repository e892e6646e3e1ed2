import { afterEach, expect, test, vi } from 'vitest'
import { systemClock } from './clock.ts'

afterEach(() => vi.useRealTimers())

const day = 24 * 3600 * 1000

test('a sleep of forty days takes forty days, though a timer holds only twenty-four', async () => {
  vi.useFakeTimers()
  let awake = false
  void systemClock.sleep(40 * day).then(() => {
    awake = true
  })
  await vi.advanceTimersByTimeAsync(39 * day)
  expect(awake).toBe(false)
  await vi.advanceTimersByTimeAsync(day)
  expect(awake).toBe(true)
})

test('an abort ends a sleep at once and leaves no timer', async () => {
  vi.useFakeTimers()
  const stop = new AbortController()
  const slept = systemClock.sleep(40 * day, stop.signal)
  await vi.advanceTimersByTimeAsync(30 * day)
  stop.abort()
  await slept
  await systemClock.sleep(day, stop.signal)
  expect(vi.getTimerCount()).toBe(0)
})

test('a sleep is never over before its time, so a tick that slept until an instant finds it come', async () => {
  for (let i = 0; i < 20; i++) {
    const due = systemClock.elapsed() + 2.9
    await systemClock.sleep(due - systemClock.elapsed())
    expect(systemClock.elapsed()).toBeGreaterThanOrEqual(due)
  }
})
