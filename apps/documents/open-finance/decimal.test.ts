/** Money as decimal texts: no amount passes through a floating-point number. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { amountOf, parseExact, readAmount } from './decimal.ts'

test('a number of JSON keeps each digit, and a text of JSON stays as it is', () => {
  const body =
    '{"amount": -12345678901234.565, "e": 1e3, "list": [0.10, 7], "text": "5 \\" 6.5 \\\\", "7": null, "ok": true}'
  expect(parseExact(body)).toEqual({
    amount: '-12345678901234.565',
    e: '1e3',
    list: ['0.10', '7'],
    text: '5 " 6.5 \\',
    7: null,
    ok: true,
  })
  for (const bad of ['', '{', '{"a":01}', '{"a":1.}', '{"a":-}', '[1,]', 'NaN', '{"a":"1}'])
    expect(parseExact(bad), bad).toBeUndefined()
})

test('JSON that is parsed with texts for numbers is the JSON that JSON.parse reads', () => {
  fc.assert(
    fc.property(fc.jsonValue(), value => {
      const asTexts = (each: unknown): unknown => {
        if (typeof each === 'number') return JSON.stringify(each)
        if (Array.isArray(each)) return each.map(asTexts)
        if (typeof each !== 'object' || each === null) return each
        return Object.fromEntries(Object.entries(each).map(([name, inner]) => [name, asTexts(inner)]))
      }
      // As JSON: a key __proto__ is a field of the parsed object alone.
      expect(JSON.stringify(parseExact(JSON.stringify(value)))).toBe(
        JSON.stringify(asTexts(JSON.parse(JSON.stringify(value)))),
      )
    }),
    { seed: 7 },
  )
})

test.each([
  ['0', '0.00'],
  ['-0.004', '0.00'],
  ['1.1', '1.10'],
  ['-1234.5', '-1234.50'],
  ['0.30000000000000004', '0.30'],
  ['1.005', '1.01'],
  ['-1.005', '-1.01'],
  ['9007199254740993.99', '9007199254740993.99'],
  ['1.5e3', '1500.00'],
  ['15e-3', '0.02'],
  ['1e-30', '0.00'],
  ['0012.3', '12.30'],
  ['1e16', null],
  ['1e99', null],
  ['1e-999', null],
  ['', null],
  ['NaN', null],
  ['1,10', null],
  ['R$ 5', null],
  [5, null],
  [null, null],
])('the amount of %j is %s', (given, amount) => {
  expect(readAmount(given)).toBe(amount)
})

test('whole cents are an amount', () => {
  expect([0, 5, -5, 123_450, -99].map(amountOf)).toEqual(['0.00', '0.05', '-0.05', '1234.50', '-0.99'])
})
