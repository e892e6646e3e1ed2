import { expect, test } from 'vitest'
import { seconds } from '../core/duration.ts'
import { VirtualClock } from '../testing/virtual-clock.ts'
import { loop } from './service.ts'

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

test('a tick that fails is told and does not end the loop', async () => {
  const { clock, failures, seen, stop } = ticking(async n => {
    if (n === 1) throw new Error('first')
    return undefined
  })
  await turn()
  await clock.advance(seconds(5))
  expect(failures).toMatchObject([{ message: 'first' }])
  expect(seen.ticks).toBe(2)
  await stop()
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
