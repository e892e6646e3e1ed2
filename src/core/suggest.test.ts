import { expect, test } from 'vitest'
import { didYouMean, nearest } from './suggest.ts'

const known = ['attempts', 'backoff', 'timeout', 'classify', 'key', 'ref']

test.each([
  ['atempts', 'attempts'],
  ['timeuot', 'timeout'],
  ['Backoff', 'backoff'],
  ['clasify', 'classify'],
  ['kye', 'key'],
])('%s is taken for a typo of %s', (typo, meant) => {
  expect(nearest(typo, known)).toBe(meant)
  expect(didYouMean(typo, known)).toBe(`, did you mean "${meant}"?`)
})

test.each(['banana', 'x', '', 'retries'])('nothing is suggested for %j', word => {
  expect(nearest(word, known)).toBeUndefined()
  expect(didYouMean(word, known)).toBe('')
})

test('the nearest wins, and of two as near the first', () => {
  expect(nearest('cast', ['cost', 'cast', 'case'])).toBe('cast')
  expect(nearest('casx', ['cost', 'cast', 'case'])).toBe('cast')
})
