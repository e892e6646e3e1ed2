import { expect, test } from 'vitest'
import { DeferredJobs } from './deferred-jobs.ts'

const job = (id: string, key: string, attempt = 1) => ({ id, attempt, limit_key: key })
const idsOf = (jobs: DeferredJobs, many: number) => jobs.take(many).map(({ id }) => id)

test('a small batch that defers its jobs after a large batch has every second turn', () => {
  const jobs = new DeferredJobs(100)
  for (let n = 1; n <= 5; n++) jobs.add(job(`large ${n}`, 'large'))
  jobs.add(job('small 1', 'small'))
  jobs.add(job('small 2', 'small'))
  expect(idsOf(jobs, 1)).toEqual(['large 1'])
  expect(idsOf(jobs, 4)).toEqual(['small 1', 'large 2', 'small 2', 'large 3'])
  expect(idsOf(jobs, 9)).toEqual(['large 4', 'large 5'])
  expect(idsOf(jobs, 9)).toEqual([])
})

test('without turns the longest waiting job is first; a job deferred again counts once, with its last attempt', () => {
  const jobs = new DeferredJobs(2)
  for (const id of ['a', 'b']) jobs.add(job(id, ''))
  jobs.add(job('a', '', 2))
  jobs.add(job('too many', ''))
  expect(jobs.take(9)).toEqual([
    { id: 'b', attempt: 1 },
    { id: 'a', attempt: 2 },
  ])
})
