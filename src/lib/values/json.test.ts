import { expect, test } from 'vitest'
import { asText, cleanText } from './json.ts'

test('cleaned text keeps everything but NUL and half pairs', () => {
  expect(cleanText('a\u0000b\u0000')).toBe('ab')
  expect(cleanText('x\ud83dy\ude00z')).toBe('x\ufffdy\ufffdz')
  expect(cleanText('😀 \\u0000 Olá\n\t')).toBe('😀 \\u0000 Olá\n\t')
  expect(cleanText('\ud83d\ud83d\ude00\ude00')).toBe('\ufffd😀\ufffd')
})

test('cutting NUL out of a text does not make a pair of its halves', () => {
  expect(cleanText('\ud83d\u0000\ude00')).toBe('\ufffd\ufffd')
})

test.each([
  ['a text', 'a text'],
  [undefined, 'undefined'],
  [12n, '12'],
  [Symbol('s'), 'Symbol(s)'],
  [{ a: 1 }, '{"a":1}'],
  [new Error('why'), 'why'],
])('%o reads as %j', (value, text) => {
  expect(asText(value)).toBe(text)
})
