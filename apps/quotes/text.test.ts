/** Texts from outside, made fit for PostgreSQL. */
import { expect, test } from 'vitest'
import { oneLine, storable, storableJson } from './text.ts'

test('a text without NUL and without half a surrogate pair is stored', () => {
  expect(storable('A\0B\ud800')).toBe('AB\ufffd')
  expect(oneLine(' a\n\0b ')).toBe('a b')
})

test('JSON for a jsonb column has no NUL, in texts and in keys, however deep; other values stay', () => {
  const value = { 'k\0': ['A\0B', { n: 1, t: null, x: 'ok \\u0000' }] }
  expect(JSON.parse(storableJson(value))).toEqual({ k: ['AB', { n: 1, t: null, x: 'ok \\u0000' }] })
})
