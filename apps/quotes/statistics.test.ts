/** The result of a product: exact, and not moved by a few wrong prices. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { centsOf, shown, textOf } from './money.ts'
import { summarise } from './statistics.ts'

const cents = (...prices: readonly string[]) => prices.map(centsOf)

test('money is whole cents, and no other text is money', () => {
  for (const [text, value] of [
    ['3499', 349900n],
    ['0.1', 10n],
    ['1234567.89', 123456789n],
  ] as const)
    expect(centsOf(text)).toBe(value)
  for (const text of ['', '-1', '1e3', '1.234', '1,50', 'NaN', ' 1']) expect(() => centsOf(text)).toThrow(TypeError)
  expect([textOf(5n), textOf(349990n), shown(123456789n)]).toEqual(['0.05', '3499.90', 'R$ 1.234.567,89'])
  fc.assert(fc.property(fc.bigInt({ min: 0n, max: 10n ** 13n }), value => centsOf(textOf(value)) === value))
})

test('of four prices or more, those far from the median do not count, and say why', () => {
  const { judged, statistics, confidence } = summarise(
    cents('100.00', '102.00', '98.00', '101.00', '99.00', '900.00', '12.00'),
  )
  expect(judged.map(each => each.used)).toEqual([true, true, true, true, true, false, false])
  expect(judged.slice(5).map(each => each.reason)).toEqual([
    'muito acima da mediana de R$ 100,00',
    'muito abaixo da mediana de R$ 100,00',
  ])
  expect(statistics).toEqual({
    mean: '100.00',
    median: '100.00',
    lowest: '98.00',
    highest: '102.00',
    coefficientOfVariation: 0.0141,
  })
  expect(confidence).toBe('high')
})

test('of three prices all count', () => {
  expect(summarise(cents('1.00', '2.00', '900.00')).judged.every(each => each.used)).toBe(true)
})

test('where most shops have the same price, a price some percent away counts', () => {
  const { judged } = summarise(cents('100.00', '100.00', '100.00', '100.00', '109.00', '125.00'))
  expect(judged.map(each => each.used)).toEqual([true, true, true, true, true, false])
})

test('mean and median round half a cent up', () => {
  expect(summarise(cents('0.01', '0.02')).statistics).toMatchObject({ mean: '0.02', median: '0.02' })
})

test('too few prices are low confidence, few or different ones medium', () => {
  const confidence = (...prices: readonly string[]) => {
    const { confidence, confidenceReason } = summarise(cents(...prices))
    return [confidence, confidenceReason]
  }
  expect(confidence()).toEqual(['low', 'nenhum preço encontrado'])
  expect(confidence('10.00')).toEqual(['low', 'apenas 1 preço; são precisos 3'])
  expect(confidence('10.00', '10.00')).toEqual(['low', 'apenas 2 preços; são precisos 3'])
  expect(confidence('10.00', '10.10', '10.20')).toEqual(['medium', 'apenas 3 preços'])
  expect(confidence('10.00', '20.00', '30.00')[0]).toBe('medium')
})

test('any prices: every one is used or has a reason, and the statistics are those of the used ones', () => {
  const prices = fc.array(fc.bigInt({ min: 1n, max: 10n ** 12n }), { maxLength: 30 })
  fc.assert(
    fc.property(prices, given => {
      const { judged, statistics } = summarise(given)
      const used = given.filter((_, index) => judged[index]!.used).toSorted((a, b) => (a < b ? -1 : 1))
      expect(judged.every(each => each.used === (each.reason === null))).toBe(true)
      expect(statistics === null).toBe(given.length === 0)
      if (statistics === null) return
      expect(statistics.lowest).toBe(textOf(used[0]!))
      expect(statistics.highest).toBe(textOf(used.at(-1)!))
      expect(centsOf(statistics.mean) >= used[0]! && centsOf(statistics.mean) <= used.at(-1)!).toBe(true)
      expect(statistics.coefficientOfVariation).toBeGreaterThanOrEqual(0)
    }),
  )
})
