import { expect, test } from 'vitest'
import { noteCheck, ProcessPauses } from './process-pauses.ts'
import { newSharedState } from './shared-state.ts'

const checkedAtInstants = (...at: number[]) => {
  const sharedState = newSharedState(0)
  for (const each of at) noteCheck(sharedState, each)
  return sharedState
}

test('a process that paused as a whole is reported once, whichever of its threads wakes first', () => {
  const loopFirst = checkedAtInstants(1000, 1200)
  const one = new ProcessPauses()
  expect(one.since(1150, loopFirst, 11_200)).toBe(9800)
  noteCheck(loopFirst, 11_210)
  expect(one.since(11_200, loopFirst, 11_400)).toBe(0)
  expect(one.since(1150, loopFirst, 11_400)).toBe(0)

  const threadFirst = checkedAtInstants(1000, 1200, 11_200)
  const other = new ProcessPauses()
  expect(other.since(1150, threadFirst, 11_210)).toBe(9800)
  expect(other.since(1150, threadFirst, 11_220)).toBe(0)
})

test('a loop that was blocked alone, a heartbeat thread that has not begun and a stop long over are none', () => {
  expect(
    new ProcessPauses().since(1000, checkedAtInstants(1000, 1200, 1400, 1600, 1800, 2000, 2200, 2400, 2600), 2700),
  ).toBe(0)
  expect(new ProcessPauses().since(1000, newSharedState(0), 90_000)).toBe(0)
  expect(new ProcessPauses().since(12_000, checkedAtInstants(1000, 11_000, 11_200, 11_400), 11_500)).toBe(0)
})
