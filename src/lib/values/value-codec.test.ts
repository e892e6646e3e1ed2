import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { englishIn } from '../../../test/support/portuguese.ts'
import { RetomaError } from '../../errors/errors.ts'
import {
  decodeText,
  decodeValue,
  encodeStored,
  encodeValue,
  maxValueBytes,
  readableValue,
  viewValue,
} from './value-codec.ts'

function roundTrip(value: unknown): unknown {
  const encoded = encodeValue(value)
  if (!encoded.ok) throw new Error(encoded.problem.en)
  expect(decodeText(encoded.text)).toStrictEqual(decodeValue(JSON.parse(encoded.text)))
  return decodeText(encoded.text)
}

const refused = (value: unknown, maxBytes = maxValueBytes) => {
  const encoded = encodeValue(value, { root: 'input', maxBytes, jsonb: true })
  if (encoded.ok) return `accepted ${encoded.text}`
  if (!/cannot be read/.test(encoded.problem.en))
    expect(englishIn(new RetomaError('bad_value', { what: 'x', problem: encoded.problem }))).toEqual([])
  return encoded.problem.en
}
const nested = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels))

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
  'text that jsonb dislikes': ['\u0000', '\ud800', '𝄞', '\\u0000'],
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

test('any plain JSON is stored as JSON.stringify writes it', () => {
  fc.assert(
    fc.property(fc.jsonValue(), value => {
      const encoded = encodeValue(value)
      const isZero = JSON.stringify(value) === '0' || /[[,:]0[\],}]/.test(JSON.stringify(value))
      if (!isZero) expect(encoded).toEqual({ ok: true, text: JSON.stringify(value) })
    }),
  )
})

test('whatever is accepted comes back equal', () => {
  fc.assert(
    fc.property(
      fc.anything({
        withDate: true,
        withMap: true,
        withSet: true,
        withBigInt: true,
        withSparseArray: true,
        withTypedArray: true,
      }),
      value => {
        const encoded = encodeValue(value)
        if (encoded.ok) expect(decodeText(encoded.text)).toStrictEqual(value)
      },
    ),
  )
})

test('an object without a prototype comes back with the usual one; one of another realm is an object like any', () => {
  expect(roundTrip(Object.assign(Object.create(null), { a: 1 }))).toEqual({ a: 1 })
  expect(roundTrip(runInNewContext('({ a: [1, { b: 2 }] })'))).toEqual({ a: [1, { b: 2 }] })
})

class Money {
  cents = 5
}
class Many extends Array {}
class Instant extends Date {}
const circle: Record<string, unknown> = {}
circle.self = { circle }
const hidden = Object.defineProperty({ a: 1 }, 'b', { value: 2, enumerable: false })
const broken = {
  get price() {
    throw new Error('no\nprice')
  },
}
const match = /a(?<b>.)/.exec('ab')
const { proxy: revoked, revoke } = Proxy.revocable({}, {})
revoke()

test.each<[unknown, string]>([
  [{ a: { b: () => 1 } }, 'input.a.b is a function, which cannot be stored'],
  [Symbol('x'), 'input is a symbol, which cannot be stored'],
  [{ items: [1, new Money()] }, 'input.items[1] is an instance of Money, which cannot be stored'],
  [{ 'a b': new URL('http://a') }, 'input["a b"] is an instance of URL, which cannot be stored'],
  [{ error: new Error('x') }, 'input.error is an instance of Error, which cannot be stored'],
  [new RetomaError('engine_closed', {}), 'input is an instance of RetomaError, which cannot be stored'],
  [/x/, 'input is an instance of RegExp, which cannot be stored'],
  [new String('x'), 'input is an instance of String, which cannot be stored'],
  [Promise.resolve(1), 'input is an instance of Promise, which cannot be stored'],
  [new WeakMap(), 'input is an instance of WeakMap, which cannot be stored'],
  [new Float64Array(1), 'input is an instance of Float64Array, which cannot be stored'],
  [new ArrayBuffer(1), 'input is an instance of ArrayBuffer, which cannot be stored'],
  [Many.from([1]), 'input is an instance of Many, which cannot be stored'],
  [new Instant(0), 'input is an instance of Instant, which cannot be stored'],
  [Object.create({}), 'input is an instance of Object, which cannot be stored'],
  [Object.create(Object.create(null)), 'input is an instance of a class, which cannot be stored'],
  [{ at: { toJSON: () => 1 } }, 'input.at.toJSON is a function, which cannot be stored'],
  [circle, 'input.self.circle contains itself, which cannot be stored'],
  [{ [Symbol('k')]: 1 }, 'input has a symbol as key, which cannot be stored'],
  [hidden, 'input has "b", which is not among its values, which cannot be stored'],
  [Object.assign([1], { 2: 3 }), 'input[1] is a hole in a list, which cannot be stored'],
  [Object.assign([1], { '-1': 3 }), 'input is a list that has "-1" besides its places, which cannot be stored'],
  [Object.assign([1], { '0.5': 3 }), 'input is a list that has "0.5" besides its places, which cannot be stored'],
  [match, 'input is a list that has "index" besides its places, which cannot be stored'],
  [Object.assign(new Map(), { size2: 1 }), 'input has "size2", which is not among its values, which cannot be stored'],
  [new Map([['a', new Set([() => 1])]]), 'input[0][1][0] is a function, which cannot be stored'],
  [{ broken }, 'input.broken.price cannot be read (no), which cannot be stored'],
  [nested(1001), 'it is nested more than 1000 deep'],
  [{ a: [{ text: 'a\u0000b' }] }, 'input.a[0].text holds a NUL character (\\u0000), which PostgreSQL cannot store'],
  [{ 'a\u0000': 1 }, 'input holds a NUL character (\\u0000), which PostgreSQL cannot store'],
  [new Map([['k', '\ud800']]), 'input[0][1] holds half of a surrogate pair, which PostgreSQL cannot store'],
])('what would come back as something else is refused by its path: %#', (value, problem) => {
  expect(refused(value)).toBe(problem)
})

test('a value that throws while it is looked at is refused, and nothing is thrown', () => {
  expect(refused(revoked)).toMatch(/^input cannot be read/)
  expect(refused({ a: revoked })).toMatch(/^input\.a cannot be read/)
})

test('a path is as long as a person reads, however deep it is', () => {
  let value: unknown = () => 1
  for (let i = 0; i < 500; i++) value = { ['x'.repeat(50)]: value }
  expect(refused(value).length).toBeLessThan(300)
})

test.each([
  [null, 'null'],
  ['', '""'],
  [0, '0'],
  [{ a: [1, 'Olá'] }, '{"a":[1,"Olá"]}'],
  ['emoji 😀', '"emoji 😀"'],
  ['the text \\u0000', '"the text \\\\u0000"'],
  ['the text \\ud800', '"the text \\\\ud800"'],
  ['\\\\u0000', '"\\\\\\\\u0000"'],
  ['\u0001\u001f', '"\\u0001\\u001f"'],
])('%j is stored as it is', (value, text) => {
  expect(encodeStored(value, 'input')).toEqual({ ok: true, text })
})

test('an input that is left out, and a result of nothing, is null', () => {
  expect(encodeStored(undefined, 'result')).toEqual({ ok: true, text: 'null' })
})

test.each([
  ['NUL', 'a\u0000b', 'a NUL character (\\u0000)'],
  ['NUL behind a backslash', '\\\u0000', 'a NUL character (\\u0000)'],
  ['the first half', '\ud83d', 'half of a surrogate pair'],
  ['the second half', 'x\ude00', 'half of a surrogate pair'],
  ['two halves in the wrong order', '\ude00\ud83d', 'half of a surrogate pair'],
  ['half behind a backslash', '\\\udfff', 'half of a surrogate pair'],
])('%s is refused by name where a column is jsonb', (_, value, held) => {
  expect(refused(value)).toBe(`input holds ${held}, which PostgreSQL cannot store`)
})

test('a value may be 1000 deep and no more, and brackets in a text are not depth', () => {
  expect(encodeValue(nested(1000)).ok).toBe(true)
  expect(refused(nested(5000))).toBe('it is nested more than 1000 deep')
  let endless: unknown = 1
  for (let i = 0; i < 100_000; i++) endless = [endless]
  expect(refused(endless)).toBe('it is nested more than 1000 deep')
  expect(encodeValue(`${'['.repeat(5000)}"\\`).ok).toBe(true)
})

test('the size limit counts bytes of the JSON text, to the byte', () => {
  const fits = (value: unknown, maxBytes: number) => encodeValue(value, { maxBytes }).ok
  expect([fits('x'.repeat(8), 10), fits('x'.repeat(9), 10)]).toEqual([true, false])
  // 'é' has two bytes, '€' three, '😀' four.
  expect([fits('éééé', 10), fits('ééééx', 10)]).toEqual([true, false])
  expect([fits('€€xx', 10), fits('€€€', 10)]).toEqual([true, false])
  expect([fits('😀😀', 10), fits('😀😀x', 10)]).toEqual([true, false])
  expect(fits('x'.repeat(maxValueBytes - 2), maxValueBytes)).toBe(true)
  expect(refused('x'.repeat(maxValueBytes - 1))).toMatch(/^it is more than 8 MB of JSON/)
  fc.assert(
    fc.property(fc.jsonValue(), fc.integer({ min: 0, max: 200 }), (value, bytes) => {
      const encoded = encodeValue(value)
      expect(/more than/.test(refused(value, bytes))).toBe(encoded.ok && Buffer.byteLength(encoded.text) > bytes)
    }),
  )
})

test('what is far too large is refused before its text is made', () => {
  const huge = [
    { text: 'x'.repeat(300_000_000) },
    Buffer.alloc(100_000_000),
    new Map([[1, Buffer.alloc(100_000_000)]]),
    new Array(4_000_000_000),
    Array.from({ length: 10_000 }, () => 'y'.repeat(100_000)),
    [new Date(), ...Array.from({ length: 10_000 }, () => 'y'.repeat(100_000))],
  ]
  for (const value of huge) expect(refused(value)).toMatch(/^it is more than 8 MB of JSON/)
})

describe('as people read it in JSON', () => {
  test('what JSON does not have is shown in its nearest words', () => {
    expect(
      readableValue({
        at: new Date('2030-01-31T08:00:00Z'),
        never: new Date(Number.NaN),
        n: 12n,
        nan: Number.NaN,
        named: new Map([['a', new Set([1n])]]),
        pairs: new Map([[1, 'a']]),
        bytes: new Uint8Array([1, 2]),
        list: [undefined, 1],
        nothing: undefined,
      }),
    ).toEqual({
      at: '2030-01-31T08:00:00.000Z',
      never: 'Invalid Date',
      n: '12',
      nan: 'NaN',
      named: { a: ['1'] },
      pairs: [[1, 'a']],
      bytes: 'AQI=',
      list: [null, 1],
      nothing: undefined,
    })
  })

  test('what a newer version has written is shown as it is stored', () => {
    const stored = { a: { $retoma: 'matrix', value: [1] } }
    expect(viewValue(stored)).toEqual(stored)
    expect(() => decodeValue(stored)).toThrow('bad_value')
  })
})

test('a value that throws where it is read is refused, and nothing is thrown', () => {
  const traps = {
    ownKeys: () => {
      throw new Error('no keys')
    },
  }
  const odd = [
    Object.create(Date.prototype),
    new Proxy(new Date(), {}),
    new Proxy(new Map([[1, 2]]), {}),
    new Proxy(new Set([1]), {}),
    new Proxy(new Uint8Array(2), {}),
    new Proxy({ a: 1 }, traps),
    new Proxy([1], traps),
  ]
  for (const value of odd) {
    expect(encodeValue({ a: value }, { root: 'input' })).toMatchObject({
      ok: false,
      problem: { en: expect.stringMatching(/^input.* cannot be read \(.+\), which cannot be stored$/) },
    })
  }
})
