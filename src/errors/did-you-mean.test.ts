import { expect, test } from 'vitest'
import { hintFor, nearest, suggestion } from './did-you-mean.ts'

const known = ['attempts', 'backoff', 'timeout', 'classify', 'key', 'ref']

test.each([
  ['atempts', 'attempts'],
  ['timeuot', 'timeout'],
  ['Backoff', 'backoff'],
  ['clasify', 'classify'],
  ['kye', 'key'],
])('%s is taken for a typo of %s', (typo, meant) => {
  expect(nearest(typo, known)).toBe(meant)
  expect(suggestion(typo, known)).toEqual({ en: `, did you mean "${meant}"?`, pt: `, você quis dizer "${meant}"?` })
  expect(hintFor(typo, known)).toEqual({ en: `did you mean "${meant}"?`, pt: `você quis dizer "${meant}"?` })
})

test.each(['banana', 'x', '', 'retries'])('nothing is suggested for %j', word => {
  expect(nearest(word, known)).toBeUndefined()
  expect(suggestion(word, known)).toEqual({ en: '', pt: '' })
  expect(hintFor(word, ['key', 'ref'])).toEqual({ en: 'there is: key, ref', pt: 'há: key, ref' })
  expect(hintFor(word, [])).toEqual({ en: 'none is registered', pt: 'nenhum está registrado' })
})

test('a name without its first word is taken for that name, unless another is as near', () => {
  expect(nearest('attempts', ['maxAttempts', 'backoff'])).toBe('maxAttempts')
  expect(nearest('atempts', ['maxAttempts', 'backoff'])).toBe('maxAttempts')
  expect(nearest('key', ['groupKey', 'key'])).toBe('key')
  expect(nearest('kye', ['groupKey', 'key'])).toBe('key')
  expect(nearest('banana', ['maxAttempts', 'groupKey', 'stallAfter'])).toBeUndefined()
})

test('the nearest wins, and of two as near the first', () => {
  expect(nearest('cast', ['cost', 'cast', 'case'])).toBe('cast')
  expect(nearest('casx', ['cost', 'cast', 'case'])).toBe('cast')
})
