import { expect, test } from 'vitest'
import { englishIn } from '../../../test/support/portuguese.ts'
import { defineJob } from '../../jobs/model/job.ts'
import { days, hours, minutes, seconds } from '../../lib/values/duration.ts'
import { checkEnqueueOptions as checkOptions, type EnqueueOptions } from './enqueue-options.ts'

const job = defineJob({ kind: 'mail', run: () => {}, backoff: { first: seconds(7) }, retention: { failed: days(7) } })
const checkEnqueueOptions = (options: EnqueueOptions) => checkOptions(options, job)

const refusal = (options: object): string => {
  try {
    checkEnqueueOptions(options as never)
    return 'accepted'
  } catch (error) {
    expect(englishIn(error)).toEqual([])
    return (error as Error).message
  }
}

test('nothing asked for is priority 4, now, no key', () => {
  expect(checkEnqueueOptions({})).toEqual({
    key: null,
    keyHold: null,
    priority: 4,
    runAt: null,
    delayMs: 0,
    groupKey: null,
    ref: null,
    queue: null,
    policyOverride: null,
    retention: { failed: days(7) },
  })
})

test('a policy override has the given options only, each complete by the policy of the kind', () => {
  expect(checkEnqueueOptions({ maxAttempts: 9, timeout: hours(1) }).policyOverride).toEqual({
    maxAttempts: 9,
    timeout: hours(1),
  })
  expect(checkEnqueueOptions({ backoff: { factor: 3 } }).policyOverride).toEqual({
    backoff: { ...job.policy.backoff, first: seconds(7), factor: 3 },
  })
})

test('the retention of a job is laid over the retention of the kind, state by state', () => {
  expect(checkEnqueueOptions({ retention: { succeeded: hours(1) } }).retention).toEqual({
    succeeded: hours(1),
    failed: days(7),
  })
  expect(checkEnqueueOptions({ retention: hours(2) }).retention).toEqual({
    succeeded: hours(2),
    failed: hours(2),
    skipped: hours(2),
    cancelled: hours(2),
  })
})

test('a key is held for a day unless asked otherwise', () => {
  expect(checkEnqueueOptions({ key: 'a' })).toMatchObject({ key: 'a', keyHold: 'day' })
  expect(checkEnqueueOptions({ key: 'a', keyUntil: 'final' })).toMatchObject({ keyHold: 'final' })
})

test('every option at its limits', () => {
  const runAt = new Date('9999-12-31T23:59:59Z')
  expect(checkEnqueueOptions({ priority: 0, runAt })).toMatchObject({ priority: 0, runAt })
  expect(checkEnqueueOptions({ priority: 9, delay: days(36_500) })).toMatchObject({
    priority: 9,
    delayMs: days(36_500),
  })
  expect(checkEnqueueOptions({ key: 'x'.repeat(500), ref: '😀', groupKey: ' ' })).toMatchObject({
    ref: '😀',
    groupKey: ' ',
  })
})

test.each([
  [
    { prioritty: 1 },
    'bad_option: the option prioritty is not usable: there is no such option, did you mean "priority"?',
  ],
  [{ banana: 1 }, 'bad_option: the option banana is not usable: there is no such option'],
  [{ priority: 10 }, 'bad_option: the option priority is not usable: it is a whole number from 0 (first) to 9, not 10'],
  [{ priority: -1 }, /priority.*not -1/],
  [{ priority: 1.5 }, /priority.*not 1.5/],
  [{ priority: '5' }, /priority.*not "5"/],
  [{ priority: Number.NaN }, /priority.*not NaN/],
  [{ priority: Object.create(null) }, /priority.*not {}/],
  [{ runAt: new Date(), delay: seconds(1) }, /delay.*either runAt or delay/],
  [{ runAt: new Date('never') }, /runAt.*a valid Date, not an invalid date/],
  [{ runAt: '2030-01-01' }, /runAt.*a valid Date, not "2030-01-01"/],
  [{ runAt: 1_900_000_000_000 }, /runAt.*a valid Date, not 1900000000000/],
  [{ runAt: new Date(-1e15) }, /runAt.*year/],
  [{ runAt: new Date(8.64e15) }, /runAt.*year/],
  [{ delay: -1 }, /delay.*not -1/],
  [{ delay: Number.NaN }, /delay.*not NaN/],
  [{ delay: Number.POSITIVE_INFINITY }, /delay.*not Infinity/],
  [{ delay: days(36_501) }, /delay.*100 years/],
  [{ delay: '5m' }, /delay.*such as minutes\(5\), not "5m"/],
  [{ key: '' }, /key.*1 to 500 characters, not ""/],
  [{ key: 'x'.repeat(501) }, /key.*not 501 characters/],
  [{ key: 7 }, /key.*not 7/],
  [{ key: 'a\u0000' }, /key.*cannot store/],
  [{ ref: '\ud800' }, /ref.*cannot store/],
  [{ groupKey: null }, /groupKey.*not null/],
  [{ keyUntil: 'final' }, /keyUntil.*goes with key/],
  [{ key: 'a', keyUntil: 'week' }, /keyUntil.*'day' or 'final', not "week"/],
  [{ queue: 'my queue' }, /queue.*1 to 100 letters.*not "my queue"/],
  [{ queue: '' }, /queue.*not ""/],
  [{ maxAttempts: 0 }, /maxAttempts must be a whole number from 1 to 1000000, not 0/],
  [{ backoff: { frist: 1 } }, /backoff.*there is no option "backoff.frist"/],
  [{ backoff: seconds(5) }, /backoff takes \{ first, factor, max, jitter \}/],
  [{ timeout: '5m' }, /timeout must be a duration above zero/],
  [{ retention: 0 }, /retention.*a duration above zero/],
  [{ retention: '7d' }, /retention.*a duration, such as days\(90\), or a duration for each final state/],
  [{ retention: { done: days(1) } }, /retention.*there is no final state "done"/],
])('%o is refused', (options, message) => {
  expect(refusal(options)).toMatch(message)
})

test('a delay of zero beside runAt is refused like any other', () => {
  expect(refusal({ runAt: new Date(), delay: minutes(0) })).toMatch(/either runAt or delay/)
})
