/** Amounts of money in texts, in Brazilian and English forms. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { compareAmounts, readAmount, readCurrency } from './money-text.ts'

test.each([
  ['R$ 3.499,00', '3499.00'],
  ['R$\u00a03.499,9', '3499.90'],
  ['R$3.499', '3499.00'],
  ['R$ 1.234.567,89', '1234567.89'],
  ['1,234,567.89', '1234567.89'],
  ['$ 3,499.00', '3499.00'],
  ['3,499', '3499.00'],
  ['3499', '3499.00'],
  ['3499.9', '3499.90'],
  ['3499,90', '3499.90'],
  ['149.9900', '149.99'],
  ['1000.000', '1000.00'],
  ['0,99', '0.99'],
  ['0.005', '0.01'],
  ['1 234,56', '1234.56'],
  ["1'234.50", '1234.50'],
  ['BRL 10', '10.00'],
  ['10,00 BRL', '10.00'],
  ['R$ 99,90 à vista', '99.90'],
  ['por R$ 99,90', '99.90'],
  [3499.9, '3499.90'],
  [0.1 + 0.2, '0.30'],
  [1999, '1999.00'],
])('%o is %s', (text, amount) => {
  expect(readAmount(text)).toBe(amount)
})

test.each([
  '', 'grátis', '0', '0,00', '-10,00', 'R$ -10,00', '10x de R$ 34,99', 'R$ 10,00 - R$ 20,00', '1e5', '12x', '50%', '1.23.4', '1,2,3',
  '1.234,567,8', '9'.repeat(13), '999999999999.995', 'x'.repeat(300), null, undefined, Number.NaN, Number.POSITIVE_INFINITY, -1, 0, 1e21, {}, [],
])('%o is no amount', text => {
  expect(readAmount(text)).toBe(null)
}) // biome-ignore format: read as one list

test('every amount of cents is read back from both forms', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 1n, max: 10n ** 12n }), cents => {
      const [whole, rest] = [cents / 100n, String(cents % 100n).padStart(2, '0')]
      const groups = String(whole).replace(/\B(?=(?:\d{3})+$)/g, '.')
      expect(readAmount(`R$ ${groups},${rest}`)).toBe(`${whole}.${rest}`)
      expect(readAmount(`${groups.replaceAll('.', ',')}.${rest}`)).toBe(`${whole}.${rest}`)
      expect(readAmount(`${whole}.${rest}`)).toBe(`${whole}.${rest}`)
    }),
  )
})

test('amounts are ordered by value, not by letters', () => {
  expect(['9.00', '10.00', '9.50'].sort(compareAmounts)).toEqual(['9.00', '9.50', '10.00'])
})

test.each([
  ['BRL', 'BRL'],
  ['brl', 'BRL'],
  ['R$', 'BRL'],
  ['R$ 10,00', 'BRL'],
  ['US$ 10', 'USD'],
  ['€ 10', 'EUR'],
  ['CLP', 'CLP'],
  ['$', null],
  ['', null],
  [10, null],
])('the currency of %o is %s', (text, currency) => {
  expect(readCurrency(text)).toBe(currency)
})
