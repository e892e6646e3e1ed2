import { expect, test } from 'vitest'
import { type HistoryOptions, spanOf } from './history-span.ts'

const now = new Date('2030-01-10T12:00:30Z')
const ago = (hours: number) => new Date(now.getTime() - hours * 3_600_000)

test.each<[string, HistoryOptions, number, number]>([
  ['the last hour, by default', {}, 60, 60],
  ['a day', { from: ago(24) }, 300, 60],
  ['48 hours', { from: ago(48) }, 600, 60],
  ['a week, from rows by hour', { from: ago(7 * 24) }, 3600, 3600],
  ['90 days', { from: ago(90 * 24) }, 43_200, 3600],
  ['whole hours of the last day', { from: ago(24), step: 3600 }, 3600, 3600],
])('the usual step of %s', (_, options, step, row) => {
  expect(spanOf(options, now)).toMatchObject({ stepSeconds: step, rowSeconds: row })
})

test('a span begins and ends with a step', () => {
  const { from, to } = spanOf({ from: ago(1), step: 600 }, now)
  expect([from, to]).toEqual([new Date('2030-01-10T11:00:00Z'), new Date('2030-01-10T12:10:00Z')])
})

test.each<[string, HistoryOptions, string]>([
  ['an end before its start', { from: now, to: ago(1) }, 'from'],
  ['more than 90 days', { from: ago(92 * 24) }, 'from'],
  ['an invalid date', { from: new Date(Number.NaN) }, 'from'],
  ['half a minute', { step: 90 }, 'step'],
  ['minutes of last week', { from: ago(7 * 24), step: 60 }, 'step'],
  ['more than 1,500 points', { from: ago(40), step: 60 }, 'step'],
])('%s is refused with the name of the option', (_, options, option) => {
  expect(() => spanOf(options, now)).toThrow(
    expect.objectContaining({ code: 'bad_option', facts: expect.objectContaining({ option }) }),
  )
})
