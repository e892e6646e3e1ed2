import { expect, test } from 'vitest'
import { attemptsOf } from './attempt-history.ts'

const at = (second: number) => new Date(Date.UTC(2030, 0, 1, 0, 0, second))
const failure = (attempt: number, type: string) => ({
  attempt,
  type,
  code: null,
  message: `${type} ${attempt}`,
  worker: 'w-1',
  startedAt: at(attempt - 1),
  at: at(attempt),
})

test('each attempt is shown by its failure, the last by the state, and one that cost no try by nothing', () => {
  const job = { state: 'succeeded' as const, attempt: 4, worker: 'w-2', startedAt: at(8), finishedAt: at(9) }
  const attempts = attemptsOf({ ...job, history: [failure(1, 'error'), failure(3, 'timeout')] })
  expect(attempts.map(({ attempt, outcome, worker }) => [attempt, outcome, worker])).toEqual([
    [1, 'error', 'w-1'],
    [2, null, null],
    [3, 'timeout', 'w-1'],
    [4, 'succeeded', 'w-2'],
  ])
  expect(attempts[3]).toMatchObject({ startedAt: at(8), endedAt: at(9) })
  expect(attempts.map(({ startedAt }) => startedAt)).toEqual([at(0), null, at(2), at(8)])
})

test('of one that has not begun there is none, and of thousands the last thousand', () => {
  const job = { worker: null, startedAt: null, finishedAt: null, history: [] }
  expect(attemptsOf({ ...job, state: 'waiting', attempt: 0 })).toEqual([])
  const many = attemptsOf({ ...job, state: 'running', attempt: 5000 })
  expect([many.length, many[0]!.attempt, many.at(-1)!.outcome]).toEqual([1000, 4001, 'running'])
})
