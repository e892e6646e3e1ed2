import { expect, test } from 'vitest'
import { milliseconds, minutes, seconds } from '../lib/values/duration.ts'
import { VirtualClock } from './virtual-clock.ts'

test('time is stopped until it is moved, and sleepers wake in the order of their times', async () => {
  const clock = new VirtualClock(new Date('2030-01-01T00:00:00Z'))
  const woken: string[] = []
  for (const s of [30, 10, 20])
    void clock.sleep(seconds(s)).then(() => woken.push(`${s} at ${clock.now().toISOString().slice(17, 19)}`))
  expect(clock.instant()).toEqual(new Date('2030-01-01T00:00:00Z'))
  await clock.advance(seconds(9))
  expect(woken).toEqual([])
  await clock.advance(seconds(16))
  expect(woken).toEqual(['10 at 10', '20 at 20'])
  await clock.advance(minutes(1))
  expect(woken).toHaveLength(3)
  expect(clock.now()).toEqual(new Date('2030-01-01T00:01:25Z'))
  expect(clock.sleepers).toBe(0)
})

test('whoever sleeps again on waking is woken again in the same move', async () => {
  const clock = new VirtualClock()
  let beats = 0
  const heartbeats = async () => {
    for (;;) {
      await clock.sleep(seconds(5))
      beats++
    }
  }
  void heartbeats()
  await clock.advance(minutes(1))
  expect(beats).toBe(12)
})

test('an abort ends a sleep at once and leaves no sleeper', async () => {
  const clock = new VirtualClock()
  const stop = new AbortController()
  const slept = clock.sleep(seconds(5), stop.signal)
  expect(clock.sleepers).toBe(1)
  stop.abort()
  await slept
  await clock.sleep(seconds(5), stop.signal)
  expect(clock.sleepers).toBe(0)
})

test('a sleep of no time needs no move', async () => {
  const clock = new VirtualClock()
  await clock.sleep(milliseconds(0))
  expect(clock.sleepers).toBe(0)
})

test('the clock does not move while an answer is on its way, so what it brings is seen at its time', async () => {
  const clock = new VirtualClock()
  const heard: string[] = []
  const beat = async () => {
    for (let n = 1; n <= 3; n++) {
      await clock.sleep(seconds(5))
      await clock.during(new Promise(resolve => setTimeout(resolve, 5)))
      heard.push(clock.now().toISOString().slice(17, 19))
    }
  }
  void beat()
  await clock.advance(minutes(1))
  expect(heard).toEqual(['05', '10', '15'])
})

test('what is never answered does not stop the clock for ever', async () => {
  const clock = new VirtualClock()
  void clock.during(new Promise(() => {}))
  await clock.advance(seconds(5))
  expect(clock.now()).toEqual(new Date('2030-01-01T12:00:05Z'))
})
