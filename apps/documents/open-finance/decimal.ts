/**
 * Reads amounts of money as decimal texts, without a floating-point number on the way: `parseExact` keeps each number of a JSON text as
 * the text of the number, and `readAmount` rounds the text to two decimals.
 */

/**
 * A text of JSON, or a number of JSON outside of a text. A text without an end goes to the end of the body: the pattern does not begin again
 * at every quote of such a text.
 */
const token = /"[^"\\]*(?:\\[\s\S][^"\\]*)*"?|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/g

/** Parses JSON. Each number becomes the text of the number: `{"amount":1.10}` becomes `{ amount: '1.10' }`. undefined: no JSON. */
export function parseExact(body: string): unknown {
  try {
    return JSON.parse(body.replace(token, found => (found.startsWith('"') ? found : `"${found}"`))) as unknown
  } catch {
    return undefined
  }
}

const number = /^(-?)(\d{1,40})(?:\.(\d{1,60}))?(?:[eE]([+-]?\d{1,3}))?$/
/** Digits before the decimal point, as in the columns. */
const mostDigits = 16

/** The amount with two decimals, rounded half away from zero: `-1234.50`. null: no amount. */
export function readAmount(value: unknown): string | null {
  const found = typeof value === 'string' ? number.exec(value) : null
  if (found === null) return null
  const [, minus, whole = '', decimals = '', exponent = '0'] = found
  const digits = `${whole}${decimals}`
  // The place of the decimal point in `digits`.
  const point = whole.length + Number(exponent)
  if (point < -100 || point > 100) return null
  const shifted = point > 0 ? digits.padEnd(point, '0') : digits.padStart(digits.length - point, '0')
  const at = Math.max(point, 0)
  const thousandths = `${shifted.slice(0, at)}${shifted.slice(at).padEnd(3, '0').slice(0, 3)}`
  const cents = (BigInt(thousandths) + 5n) / 10n
  const text = String(cents).padStart(3, '0')
  const amount = `${text.slice(0, -2)}.${text.slice(-2)}`
  if (amount.length > mostDigits + 3) return null
  return cents === 0n ? '0.00' : `${minus}${amount}`
}

/** Whole cents as an amount: 123450 is `1234.50`. */
export function amountOf(cents: number): string {
  const text = String(Math.abs(cents)).padStart(3, '0')
  return `${cents < 0 ? '-' : ''}${text.slice(0, -2)}.${text.slice(-2)}`
}
