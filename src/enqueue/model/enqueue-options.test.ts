import { expect, test } from 'vitest'
import { englishIn } from '../../../test/support/portuguese.ts'
import { days, minutes, seconds } from '../../lib/values/duration.ts'
import { checkEnqueueOptions } from './enqueue-options.ts'

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
])('%o is refused', (options, message) => {
  expect(refusal(options)).toMatch(message)
})

test('a delay of zero beside runAt is refused like any other', () => {
  expect(refusal({ runAt: new Date(), delay: minutes(0) })).toMatch(/either runAt or delay/)
})
