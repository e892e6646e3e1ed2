/** The command line parses its arguments, and names each argument that it cannot parse. */
import { expect, test } from 'vitest'
import { duration, instant, json, queueSizes, state, wholeNumber } from '../../src/cli/arguments.ts'
import { isRetomaError } from '../../src/errors/errors.ts'

function wrong(work: () => unknown): string {
  try {
    work()
  } catch (error) {
    if (isRetomaError(error, 'wrong_use')) return error.in('en')
    throw error
  }
  throw new Error('it was accepted')
}

const usual = { default: 10, classifier: 7, 'a:b': 1 }

test('queues are named with or without a size', () => {
  expect(queueSizes('classifier:20, default', usual)).toEqual({ classifier: 20, default: 10 })
  expect(queueSizes('a:b:3', usual)).toEqual({ 'a:b': 3 })
  expect(queueSizes('a:b', usual)).toEqual({ 'a:b': 1 })
})

test.each([
  ['clasifier:3', 'no job of this config is in a queue "clasifier", did you mean "classifier"?'],
  ['zzz', 'no job of this config is in a queue "zzz"; there is: default, classifier, a:b'],
  ['default:0', '--queues is a list such as mail:20,sync:5; "default:0" is not of that form'],
  ['default:10001', '"default:10001" is not of that form'],
  ['default:x', '"default:x" is not of that form'],
  ['', '"" is not of that form'],
  ['default,default:3', '--queues names default twice'],
])('--queues %s is refused', (given, sentence) => {
  expect(wrong(() => queueSizes(given, usual))).toContain(sentence)
})

test('numbers, durations, instants and states are checked', () => {
  expect(wholeNumber('--limit', 1, 500)('500')).toBe(500)
  expect(wrong(() => wholeNumber('--limit', 1, 500)('501'))).toBe('--limit is a whole number from 1 to 500, not "501"')
  expect(wrong(() => wholeNumber('--limit', 1, 500)('5e1'))).toContain('not "5e1"')
  expect(duration('--delay')('5m')).toBe(300_000)
  expect(wrong(() => duration('--delay')('5'))).toContain('such as 30s, 5m, 2h or 1d')
  expect(instant('--run-at')('2030-01-31T08:00:00Z').toISOString()).toBe('2030-01-31T08:00:00.000Z')
  expect(instant('--run-at')('2030-01-31').getHours()).toBe(0)
  for (const bad of ['tomorrow', '1', '2030-13-01', ''])
    expect(wrong(() => instant('--run-at')(bad))).toContain('is an instant')
  expect(state('running')).toBe('running')
  expect(wrong(() => state('runing'))).toBe('there is no state "runing", did you mean "running"?')
})

test('an input that is not JSON is shown with the way to quote it', () => {
  expect(json('{"a":1}')).toEqual({ a: 1 })
  expect(wrong(() => json('{a:1}'))).toMatch(/^the input is not JSON: .*single quotes/)
})
