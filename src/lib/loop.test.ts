import { expect, test } from 'vitest'
import { VirtualClock } from '../testing/virtual-clock.ts'
import { loop } from './loop.ts'
import { milliseconds, seconds } from './values/duration.ts'

const turn = () => new Promise(resolve => setImmediate(resolve))

function ticking(tick: (n: number) => Promise<number | undefined> = async () => undefined) {
  const clock = new VirtualClock()
  const failures: unknown[] = []
  const seen = { ticks: 0, running: 0, most: 0 }
  const made = loop({
    clock,
    every: seconds(5),
    tick: async () => {
      seen.most = Math.max(seen.most, ++seen.running)
      try {
        return await tick(++seen.ticks)
      } finally {
        seen.running--
      }
    },
    failed: error => failures.push(error),
  })
  return { ...made, clock, failures, seen }
}

test('a loop ticks at once, and then every so often', async () => {
  const { clock, seen, stop } = ticking()
  expect(seen.ticks).toBe(1)
  await clock.advance(seconds(4))
  expect(seen.ticks).toBe(1)
  await clock.advance(seconds(11))
  expect(seen.ticks).toBe(4)
  await stop()
  expect(clock.sleepers).toBe(0)
})

test('a tick may say when the next one is due', async () => {
  const { clock, seen, stop } = ticking(async n => (n === 1 ? 100 : undefined))
  await clock.advance(seconds(0.1))
  expect(seen.ticks).toBe(2)
  await clock.advance(seconds(4.9))
  expect(seen.ticks).toBe(2)
  await stop()
})

test('many wakes while it sleeps or ticks are one more tick, and ticks never overlap', async () => {
  let end = () => {}
  const { seen, wake, stop } = ticking(async n => {
    if (n === 2) await new Promise<void>(resolve => (end = resolve))
    return undefined
  })
  await turn()
  for (let i = 0; i < 5; i++) wake()
  await turn()
  expect(seen.ticks).toBe(2)
  for (let i = 0; i < 5; i++) wake()
  await turn()
  expect(seen.ticks).toBe(2)
  end()
  await turn()
  expect(seen).toMatchObject({ ticks: 3, most: 1 })
  await stop()
})

test('a tick that fails is reported and tried again soon, and less and less often while it goes on failing', async () => {
  const { clock, failures, seen, stop } = ticking(async () => {
    throw new Error('no')
  })
  for (const ms of [100, 200, 400, 800, 1600, 3200, 5000, 5000]) {
    const { ticks } = seen
    await clock.advance(milliseconds(ms - 1))
    expect(seen.ticks).toBe(ticks)
    await clock.advance(milliseconds(1))
    expect(seen.ticks).toBe(ticks + 1)
  }
  expect(failures).toHaveLength(9)
  await stop()
})

test('a loop that has stopped sleeps no more, whoever asks it to', async () => {
  const { clock, sleepAtMost, stop } = ticking()
  await stop()
  sleepAtMost(1000)
  expect(clock.sleepers).toBe(0)
})

test('stop waits for the tick that runs, and none starts after it', async () => {
  let end = () => {}
  const { clock, seen, wake, stop } = ticking(() => new Promise(resolve => (end = () => resolve(undefined))))
  let stopped = false
  const stopping = stop().then(() => {
    stopped = true
  })
  await turn()
  expect(stopped).toBe(false)
  end()
  await stopping
  wake()
  await clock.advance(seconds(60))
  expect(seen.ticks).toBe(1)
})
