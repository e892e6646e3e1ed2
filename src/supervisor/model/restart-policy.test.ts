import { expect, test } from 'vitest'
import { afterEnd, type Ended, firstStanding, type Next, type Standing } from './restart-policy.ts'

const killed: Ended = { readyMs: null, signal: 'SIGKILL', exitCode: null, stopping: false }
const refused: Ended = { readyMs: null, signal: null, exitCode: 1, stopping: false }
const worked: Ended = { readyMs: 1000, signal: 'SIGSEGV', exitCode: null, stopping: false }
const ready: Standing = { ...firstStanding, everReady: true }

function series(standing: Standing, ended: Ended, times: number): Extract<Next, { do: 'restart' }>[] {
  const answers: Extract<Next, { do: 'restart' }>[] = []
  for (let left = times; left > 0; left--) {
    const next = afterEnd(answers.at(-1)?.standing ?? standing, ended)
    if (next.do === 'end') throw new Error('it ended')
    answers.push(next)
  }
  return answers
}

test('a process that keeps dying is started again after 0.2 s, then twice as long each time, up to 30 s', () => {
  const pauses = series(firstStanding, worked, 10).map(each => each.afterMs)
  expect(pauses).toEqual([200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000])
})

test('one that was ready for a minute is started again at once, as if it were the first time', () => {
  const failedOften = series(firstStanding, worked, 9).at(-1)!.standing
  expect(afterEnd(failedOften, { ...worked, readyMs: 59_999 })).toMatchObject({ afterMs: 30_000 })
  expect(afterEnd(failedOften, { ...worked, readyMs: 60_000 })).toMatchObject({
    afterMs: 200,
    standing: { pause: 400 },
  })
})

test('what refuses to start before any has worked is not started again', () => {
  for (const exitCode of [0, 1, 2, 75]) expect(afterEnd(firstStanding, { ...refused, exitCode })).toEqual({ do: 'end' })
})

test('what is killed while it starts, or refuses once one has worked, is started again', () => {
  expect(afterEnd(firstStanding, killed)).toMatchObject({ do: 'restart', standing: { bootFailures: 1 } })
  expect(afterEnd(ready, refused)).toMatchObject({ do: 'restart', standing: { everReady: true, bootFailures: 1 } })
})

test('boots that fail one after the other are reported each time the pause grows, and now and then for ever', () => {
  const loud = series(ready, refused, 60).flatMap((each, index) => (each.loud ? [index + 1] : []))
  expect(loud).toEqual([5, 6, 7, 8, 20, 40, 60])
})

test('one boot that gets ready ends the series', () => {
  const failedOften = series(ready, refused, 7).at(-1)!.standing
  expect(afterEnd(failedOften, worked)).toMatchObject({ standing: { bootFailures: 0 }, loud: false })
})

test('who asks to be started again is, at once, and waits no longer for it the next time', () => {
  const again = { ...worked, signal: null, exitCode: 75 }
  const next = afterEnd(ready, again)
  expect(next).toMatchObject({ do: 'restart', afterMs: 0, standing: ready })
  expect(afterEnd(ready, { ...again, readyMs: null })).toMatchObject({ afterMs: 200, standing: { bootFailures: 1 } })
})

test('nothing is started again by who got the signal to stop', () => {
  for (const ended of [killed, refused, worked]) expect(afterEnd(ready, { ...ended, stopping: true }).do).toBe('end')
})
