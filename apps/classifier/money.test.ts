import { expect, test } from 'vitest'
import { cents, dollars, exactly } from './money.ts'

test.each([
  ['0', '0.00', '0.000000', '0.00'],
  ['2.388000', '2.39', '2.388000', '2.388'],
  ['0.004999', '0.00', '0.004999', '0.004999'],
  ['0.005000', '0.01', '0.005000', '0.005'],
  ['0.995', '1.00', '0.995000', '0.995'],
  ['9007199254740993.125', '9007199254740993.13', '9007199254740993.125000', '9007199254740993.125'],
])(
  '%s is %s to the cent, half a cent rounded up, %s exactly, and %s as it was given',
  (given, rounded, exact, shown) => {
    expect([cents(given), exactly(given), dollars(given)]).toEqual([rounded, exact, shown])
  },
)

test('what has no price has none', () => {
  expect([cents(null), exactly(null), dollars(null)]).toEqual([null, null, null])
})
