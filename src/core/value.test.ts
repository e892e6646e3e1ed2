import { expect, test } from 'vitest'
import { englishIn } from '../../test/support/portuguese.ts'
import { RetomaError } from '../errors.ts'
import { decodeValue, encodeValue } from './value.ts'

function roundTrip(value: unknown): unknown {
  const encoded = encodeValue(value)
  if (!encoded.ok) throw new Error(encoded.problem.en)
  return decodeValue(JSON.parse(encoded.text))
}

const kept: Record<string, unknown> = {
  'plain data': { a: [1, 'dois', true, null, { b: {} }], c: '' },
  undefined: undefined,
  'undefined inside': { a: undefined, b: [undefined, 1] },
  dates: [new Date('2030-01-31T08:00:00.123Z'), new Date(Number.NaN), new Date(-8.64e15)],
  bigint: { n: 123456789012345678901234567890n, m: -1n },
  'odd numbers': [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -0, 0, 1e300, 5e-324],
  maps: new Map<unknown, unknown>([
    ['a', 1],
    [new Date(0), new Map([[1n, undefined]])],
  ]),
  sets: new Set([1, 'a', new Set()]),
  bytes: [new Uint8Array([0, 255, 1]), Buffer.from('olá')],
  'text that PostgreSQL dislikes': ['\u0000', '\ud800', '𝄞', '\\u0000'],
  'a key that is ours': { $retoma: 'date', value: 'x', nested: { $retoma: 1 } },
  'a key named __proto__': JSON.parse('{"__proto__": {"a": 1}, "constructor": 2}'),
  'the same twice': (() => {
    const one = { a: 1 }
    return [one, one]
  })(),
}

test.each(Object.entries(kept))('%s comes back as it was', (_, value) => {
  expect(roundTrip(value)).toStrictEqual(value)
})

test('a hole in a list comes back as undefined', () => {
  expect(roundTrip(Object.assign([1], { 2: 3 }))).toStrictEqual([1, undefined, 3])
})

test('an object without a prototype comes back with the usual one', () => {
  expect(roundTrip(Object.assign(Object.create(null), { a: 1 }))).toEqual({ a: 1 })
})

class Money {
  cents = 5
}
const circle: Record<string, unknown> = {}
circle.self = { circle }
const deep = JSON.parse(`${'['.repeat(1001)}${']'.repeat(1001)}`)

test.each([
  [{ a: { b: () => 1 } }, 'a.b is a function, which cannot be kept; return plain data'],
  [Symbol('x'), 'it is a symbol, which cannot be kept; return plain data'],
  [[1, new Money()], '[1] is a Money, which cannot be kept; return plain data'],
  [{ url: new URL('http://a') }, 'url is a URL, which cannot be kept; return plain data'],
  [new Error('x'), 'it is a Error, which cannot be kept; return plain data'],
  [circle, 'self.circle contains itself, which cannot be kept; return plain data'],
  [{ [Symbol('k')]: 1 }, 'it has a symbol as key, which cannot be kept; return plain data'],
  [deep, 'it is nested more than 1000 deep'],
])('what would come back as something else is refused: %#', (value, problem) => {
  const encoded = encodeValue(value)
  expect(encoded).toMatchObject({ ok: false, problem: { en: problem } })
  if (!encoded.ok) expect(englishIn(new RetomaError('bad_value', { what: 'x', problem: encoded.problem }))).toEqual([])
})
