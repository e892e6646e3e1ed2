import { expect, test } from 'vitest'
import { EventLoopLag } from './event-loop-lag.ts'

test('a loop that turns has not stood still; one that does not, for as long as it has not', () => {
  const watch = new EventLoopLag(200, 0)
  for (let now = 200; now <= 2000; now += 200) expect(watch.blockedMs(now, now - 150)).toBe(150)
  for (let now = 2200; now <= 7000; now += 200) expect(watch.blockedMs(now, 1850)).toBe(now - 1850)
  expect(watch.blockedMs(7200, 7100)).toBe(100)
})

test('what passes while the whole process is stopped is not counted', () => {
  const watch = new EventLoopLag(200, 0)
  expect(watch.blockedMs(200, 100)).toBe(100)
  expect(watch.blockedMs(60_200, 100)).toBe(0)
  expect(watch.blockedMs(60_400, 100)).toBe(200)
  expect(watch.blockedMs(60_600, 60_500)).toBe(100)
})
