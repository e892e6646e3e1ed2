/** Counts the milliseconds of attempts by hand: no database, and a manual clock. */
import { expect, test } from 'vitest'
import type { Clock } from '../lib/clock.ts'
import { AttemptClock } from './attempt-clock.ts'

function timed(timeoutMs: number) {
  let now = 0
  const clock = { elapsed: () => now } as Clock
  const time = new AttemptClock(clock, () => {})
  time.begin(timeoutMs)
  const pass = async (ms: number) => {
    now += ms
    await new Promise(resolve => setImmediate(resolve))
  }
  return { time, pass }
}

function promised() {
  let resolve = () => {}
  const promise = new Promise<void>(done => {
    resolve = done
  })
  return { promise, resolve }
}

test('what waits is stopped, however many answers are waited for at once', async () => {
  const { time, pass } = timed(1000)
  const [one, other] = [promised(), promised()]
  void time.waiting(() => one.promise)
  await pass(100)
  void time.waiting(() => other.promise)
  await pass(100)
  one.resolve()
  await pass(100)
  expect(time.deadline).toBe(Number.POSITIVE_INFINITY)
  other.resolve()
  await pass(0)
  expect(time.leftMs).toBe(1000)
})

test("an attempt's own code in the middle of a wait has its time counted", async () => {
  const { time, pass } = timed(1000)
  const [begun, worked, answered] = [promised(), promised(), promised()]
  void time.waiting(async awake => {
    await begun.promise
    await awake(() => worked.promise)
    await answered.promise
  })
  await pass(100)
  begun.resolve()
  await pass(0)
  await pass(200)
  worked.resolve()
  await pass(0)
  await pass(400)
  answered.resolve()
  await pass(0)
  expect(time.leftMs).toBe(800)
})

test('a wait that ends before the code in the middle of it does gives nothing back twice', async () => {
  const { time, pass } = timed(1000)
  const deaf = promised()
  const cut = promised()
  void time.waiting(awake => Promise.race([awake(() => deaf.promise), cut.promise]))
  await pass(300)
  cut.resolve()
  await pass(0)
  expect(time.leftMs).toBe(700)
  // The next wait stops the time although the code of the first wait still runs, and also after the end of this code.
  const next = promised()
  void time.waiting(() => next.promise)
  await pass(300)
  deaf.resolve()
  await pass(300)
  next.resolve()
  await pass(0)
  await pass(100)
  expect(time.leftMs).toBe(600)
})

test('one that keeps the loop to itself has its time counted, though it waits for an answer', async () => {
  const { time, pass } = timed(1000)
  await pass(100)
  void time.waiting(() => new Promise(() => {}))
  await pass(100)
  await pass(1200)
  expect(time.leftMs).toBe(900)
  expect(time.leftOfOne(200)).toBe(-300)
})
