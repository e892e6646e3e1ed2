import { expect, test } from 'vitest'
import {
  days,
  formatDuration,
  hours,
  longestDuration,
  milliseconds,
  minutes,
  parseDuration,
  seconds,
} from './duration.ts'

test('a duration is milliseconds, whatever unit it was made with', () => {
  expect([milliseconds(7), seconds(5), minutes(2), hours(1.5), days(1)]).toEqual([
    7, 5000, 120_000, 5_400_000, 86_400_000,
  ])
})

test.each([
  ['500ms', 500],
  ['5s', 5000],
  ['0.5s', 500],
  ['10m', 600_000],
  ['2h', 7_200_000],
  ['1d', 86_400_000],
  [' 1s ', 1000],
])('the text %j is a duration', (text, ms) => {
  expect(parseDuration(text)).toBe(ms)
})

test.each(['', '5', 's', '-5s', '5 s', '5S', '5sec', '1h30m', '1e3s', '.5s', '5.s', 'NaNs', 'Infinitys', '36501d'])(
  'the text %j is no duration',
  text => {
    expect(parseDuration(text)).toBeUndefined()
  },
)

test('the longest duration can still be written as text', () => {
  expect(parseDuration('36500d')).toBe(longestDuration)
})

test('a number beyond all numbers is no duration', () => {
  expect(parseDuration(`${'9'.repeat(400)}s`)).toBeUndefined()
})

test('a duration as text is in the largest unit that divides it, and is read back the same', () => {
  const durations = [milliseconds(1500), seconds(90), minutes(5), hours(36), days(7)]
  expect(durations.map(formatDuration)).toEqual(['1500ms', '90s', '5m', '36h', '7d'])
  expect(durations.map(each => parseDuration(formatDuration(each)))).toEqual(durations)
})
