import fc from 'fast-check'
import { expect, test } from 'vitest'
import { asText, cleanText, maxValueBytes, storable } from './json.ts'

const refused = (value: unknown, maxBytes?: number) => {
  const checked = storable(value, maxBytes)
  return checked.ok ? `accepted ${checked.text}` : checked.problem.en
}
const nested = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels))

test.each([
  [undefined, 'null'],
  [null, 'null'],
  ['', '""'],
  [0, '0'],
  [{ a: [1, 'Olá'], b: undefined }, '{"a":[1,"Olá"]}'],
  ['emoji 😀', '"emoji 😀"'],
  ['the text \\u0000', '"the text \\\\u0000"'],
  ['the text \\ud800', '"the text \\\\ud800"'],
  ['\\\\u0000', '"\\\\\\\\u0000"'],
  ['\u0001\u001f', '"\\u0001\\u001f"'],
])('%j is stored as it is', (value, text) => {
  expect(storable(value)).toEqual({ ok: true, text })
})

test.each([
  ['NUL', 'a\u0000b'],
  ['NUL behind a backslash', '\\\u0000'],
  ['NUL in a key', { 'a\u0000': 1 }],
])('%s is refused by name', (_, value) => {
  expect(refused(value)).toBe('it holds a NUL character (\\u0000), which PostgreSQL cannot store')
})

test.each([
  ['the first half', '\ud83d'],
  ['the second half', 'x\ude00'],
  ['two halves in the wrong order', '\ude00\ud83d'],
  ['half behind a backslash', '\\\udfff'],
  ['half in a key', { '\ud800': 1 }],
])('%s of a surrogate pair is refused by name', (_, value) => {
  expect(refused(value)).toBe('it holds half of a surrogate pair, which PostgreSQL cannot store')
})

test('what is not JSON is refused with the reason', () => {
  const circle: Record<string, unknown> = {}
  circle.self = circle
  const says = (message: unknown) => ({
    toJSON() {
      throw message
    },
  })
  expect(refused(1n)).toMatch(/BigInt/)
  expect(refused(circle)).toBe('Converting circular structure to JSON')
  expect(refused(() => 1)).toBe('a function is not JSON')
  expect(refused(Symbol('x'))).toBe('a symbol is not JSON')
  expect(refused(says(new Error('no\nsecond line')))).toBe('no')
  expect(refused(says('a text'))).toBe('a text')
  expect(refused(says(Object.create(null)))).toBe('{}')
  expect(refused({ toJSON: () => undefined })).toBe('a object is not JSON')
})

test('a value that throws while it is looked at, and an error that does, are refused and nothing is thrown', () => {
  const unreadable = Object.defineProperty(new Error(), 'message', {
    get() {
      throw new Error('again')
    },
  })
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  for (const thrown of [unreadable, proxy]) {
    const value = {
      get broken() {
        throw thrown
      },
    }
    expect(storable(value)).toMatchObject({ ok: false })
  }
  expect(storable(proxy)).toMatchObject({ ok: false })
})

test('a value may be 1000 deep and no more, and brackets in a text are not depth', () => {
  expect(storable(nested(1000)).ok).toBe(true)
  expect(refused(nested(1001))).toBe('it is nested more than 1000 deep')
  expect(refused(nested(5000))).toBe('it is nested more than 1000 deep')
  let endless: unknown = 1
  for (let i = 0; i < 100_000; i++) endless = [endless]
  expect(refused(endless)).toBe('it is nested more than 1000 deep')
  expect(storable(`${'['.repeat(5000)}"\\`).ok).toBe(true)
})

test('the size limit counts bytes of the JSON text, to the byte', () => {
  const fits = (value: unknown, bytes: number) => storable(value, bytes).ok
  expect([fits('x'.repeat(8), 10), fits('x'.repeat(9), 10)]).toEqual([true, false])
  // 'é' is two bytes, '€' three, '😀' four.
  expect([fits('éééé', 10), fits('ééééx', 10)]).toEqual([true, false])
  expect([fits('€€xx', 10), fits('€€€', 10)]).toEqual([true, false])
  expect([fits('😀😀', 10), fits('😀😀x', 10)]).toEqual([true, false])
  expect(storable('x'.repeat(maxValueBytes - 2)).ok).toBe(true)
  expect(refused('x'.repeat(maxValueBytes - 1))).toMatch(/^it is more than 8 MB of JSON/)
})

test('what is far too large is refused before its text is made, and nothing that fits is', () => {
  const began = performance.now()
  const huge = [
    { text: 'x'.repeat(300_000_000) },
    Buffer.alloc(100_000_000),
    new Float64Array(10_000_000),
    new Array(4_000_000_000),
    Array.from({ length: 10_000 }, () => 'y'.repeat(100_000)),
  ]
  for (const value of huge) expect(refused(value)).toMatch(/^it is more than 8 MB of JSON/)
  // Their texts are gigabytes and take a minute to make.
  expect(performance.now() - began).toBeLessThan(10_000)
  const shorter = Object.assign(new Uint8Array(100), { toJSON: () => 'short' })
  expect([storable(shorter, 7).ok, storable(new String('12345'), 7).ok]).toEqual([true, true])
  expect(refused(circle(2))).toMatch(/circular/)
  fc.assert(
    fc.property(fc.jsonValue(), fc.integer({ min: 0, max: 200 }), (value, bytes) => {
      expect(/more than/.test(refused(value, bytes))).toBe(Buffer.byteLength(JSON.stringify(value)) > bytes)
    }),
  )
})

/** Every node leads to every other: a walk of all ways through it would never end. */
function circle(size: number): unknown {
  const nodes = Array.from({ length: size }, (): Record<string, unknown> => ({}))
  for (const node of nodes) for (const [i, other] of nodes.entries()) node[`to${i}`] = other
  return nodes[0]
}

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
