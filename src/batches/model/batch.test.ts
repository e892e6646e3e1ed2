/** Tests the policy overrides of a batch's items and of a submit: checked like the policy of a kind, and stored as given. */
import { expect, test } from 'vitest'
import { englishIn } from '../../../test/support/portuguese.ts'
import { refuseOption } from '../../errors/invalid-option.ts'
import { defineJob } from '../../jobs/model/job.ts'
import type { ItemOptions } from '../../jobs/model/policy-options.ts'
import { minutes, seconds } from '../../lib/values/duration.ts'
import { type BatchOverrides, defineBatch, submittedPolicy } from './batch.ts'

const job = defineJob({
  kind: 'a',
  maxAttempts: 3,
  stallAfter: minutes(5),
  backoff: { first: seconds(7), factor: 3 },
  messages: { orphan: 'o worker morreu', stalled: 'parou' },
  run: () => 1,
})
const batchWith = (items: ItemOptions) => defineBatch({ name: 'b', job, items })
const submitted = (asked: BatchOverrides, batch = defineBatch({ name: 'b', job })) =>
  submittedPolicy(batch, asked, option => (en, pt) => refuseOption(option, en, pt))
const refusal = (work: () => unknown): string => {
  try {
    work()
    return 'accepted'
  } catch (error) {
    expect(englishIn(error)).toEqual([])
    return (error as Error).message
  }
}

test('a batch that asks for nothing keeps nothing for its items', () => {
  expect(defineBatch({ name: 'b', job }).policy).not.toHaveProperty('items')
  expect(batchWith({}).policy).not.toHaveProperty('items')
  expect(submitted({ maxResumes: 1, items: {} })).not.toHaveProperty('items')
})

test('what it asks for is kept, and only that', () => {
  const items = {
    maxAttempts: 9,
    timeout: minutes(2),
    maxAge: minutes(60),
    expect: seconds(9),
    stallAfter: minutes(1),
    maxCrashes: 1,
    onOrphan: 'fail',
    onStall: 'retry',
  } as const
  expect(batchWith(items).policy.items).toEqual(items)
  expect(batchWith({ maxAttempts: 2, timeout: undefined as never }).policy.items).toEqual({ maxAttempts: 2 })
})

test('of what is given in part the rest is as its kind says', () => {
  const { items } = batchWith({ backoff: { first: seconds(1) }, messages: { stalled: 'travou' } }).policy
  expect(items).toEqual({
    backoff: { ...job.policy.backoff, first: seconds(1), factor: 3 },
    messages: { orphan: 'o worker morreu', stalled: 'travou' },
  })
})

test('null switches off what its kind asks for, where that may be left out', () => {
  expect(batchWith({ stallAfter: null, maxAge: null, expect: null }).policy.items).toEqual({
    stallAfter: null,
    maxAge: null,
    expect: null,
  })
  expect(refusal(() => batchWith({ timeout: null as never }))).toMatch(/items\.timeout must be a duration/)
  expect(refusal(() => batchWith({ maxAttempts: null as never }))).toMatch(/items\.maxAttempts must be a whole number/)
  expect(refusal(() => defineJob({ kind: 'a', stallAfter: null as never, run: () => 1 }))).toMatch(/stallAfter must be/)
})

test.each([
  [null, /items takes what is to differ/],
  [7, /items takes/],
  [{ atempts: 3 }, /there is no option "items\.atempts", did you mean "maxAttempts"\?/],
  [{ maxAttempts: 0 }, /the batch "b".*items\.maxAttempts must be a whole number from 1 to 1000000, not 0/],
  [{ maxCrashes: 1.5 }, /items\.maxCrashes must be/],
  [{ timeout: '5m' }, /items\.timeout must be a duration/],
  [{ stallAfter: 0 }, /items\.stallAfter must be/],
  [{ backoff: 5 }, /items\.backoff takes \{ first, factor, max, jitter \}/],
  [{ backoff: { frist: 1 } }, /no option "items\.backoff\.frist", did you mean "first"\?/],
  [{ backoff: { jitter: 2 } }, /items\.backoff\.jitter must be from 0 to 1/],
  [{ backoff: { max: 0 } }, /items\.backoff\.max must be/],
  [{ onOrphan: 'ignore' }, /items\.onOrphan must be one of retry, stall, fail, not "ignore"/],
  [{ messages: { overdue: '' } }, /items\.messages\.overdue must be a text/],
  [{ isolation: 'thread' }, /items\.isolation cannot differ from batch to batch; give it to defineJob/],
  [{ memory: 1 }, /items\.memory cannot differ/],
  [{ orphanAfter: minutes(1) }, /items\.orphanAfter cannot differ/],
  [{ sweepEvery: minutes(1) }, /items\.sweepEvery cannot differ/],
  [{ kind: 'b' }, /there is no option "items\.kind"/],
])('items %o are refused, in a definition and at a submit', (items, message) => {
  const bad = items as never
  expect(refusal(() => batchWith(bad))).toMatch(message)
  expect(refusal(() => submitted({ items: bad }))).toMatch(/^bad_option: the option items is not usable: .*items/)
})

test('a submit is laid over the definition, option by option', () => {
  const batch = defineBatch({
    name: 'b',
    job,
    stallAfter: minutes(5),
    maxResumes: 3,
    stopAfter: { percent: 50 },
    items: { maxAttempts: 2, timeout: minutes(2), backoff: { first: seconds(1) } },
  })
  expect(submitted({}, batch)).toEqual(batch.policy)
  expect(
    submitted(
      { maxResumes: 0, stallAfter: null, stopAfter: null, items: { maxAttempts: 9, backoff: { factor: 1 } } },
      batch,
    ),
  ).toEqual({
    stallAfter: null,
    onStall: 'stall',
    maxResumes: 0,
    stopAfter: null,
    onComplete: null,
    items: {
      maxAttempts: 9,
      timeout: minutes(2),
      backoff: { ...job.policy.backoff, first: seconds(1), factor: 1 },
    },
  })
  // The definition stays unchanged.
  expect(batch.policy.items).toMatchObject({ maxAttempts: 2 })
})

test.each([
  [{ maxResumes: -1 }, /the option maxResumes is not usable: maxResumes must be a whole number from 0, not -1/],
  [{ maxResumes: null }, /maxResumes must be/],
  [{ stallAfter: 0 }, /the option stallAfter/],
  [{ onStall: 'wait' }, /the option onStall/],
  [{ stopAfter: {} }, /the option stopAfter/],
  [{ about: { label: { en: 'a', pt: '' }, path: '/a' } }, /the option about/],
  [{ about: { label: { en: 'a', pt: 'b' }, path: '//elsewhere.example' } }, /the option about/],
  [{ about: { label: { en: 'a', pt: 'b' }, path: '/a', url: 'x' } as never }, /the option about/],
])('a submit with %o is refused', (asked, message) => {
  expect(refusal(() => submitted(asked as never))).toMatch(message)
})
