/**
 * Reads an amount of money and a currency from the text of a page: Brazilian (`R$ 3.499,00`) and English (`3,499.00`) forms. Works on
 * digits only: money is never a floating-point number.
 *
 * The rules for `.` and `,`: the last separator is the decimal separator if both occur, or if one or two digits follow. A single separator
 * before exactly three digits separates thousands (`3.499` is 3499.00), because no price has three decimals; a JSON number is exact.
 */

const mostDigits = 12
const spaces = /[\s\u00a0\u2007\u2009\u202f]+/g
/** Digits with separators between digits. A space separates thousands if groups of three digits follow. */
const numbers = /\d+(?:[.,'’]\d+|[ ](?=\d{3}(?!\d))\d{3})*/g

/** Returns a decimal with two places. null: no amount, more than one amount, zero or less. */
export function readAmount(given: unknown): string | null {
  if (typeof given === 'number') return Number.isFinite(given) && given > 0 ? decimal(String(given)) : null
  if (typeof given !== 'string' || given.length > 200) return null
  const text = given.replace(spaces, ' ').trim()
  const found = text.match(numbers) ?? []
  if (found.length !== 1) return null
  const number = found[0]!
  const at = text.indexOf(number)
  if (/-\s*(?:[A-Z]{0,3}\$?\s*)$/i.test(text.slice(0, at))) return null
  // "3e5", "x10" and "10x" are no amounts.
  if (/[A-Za-z]$/.test(text.slice(0, at)) && !/(?:BRL|USD|EUR|GBP|R)$/i.test(text.slice(0, at))) return null
  if (/^\s?(?:x\b|%|e\d)/i.test(text.slice(at + number.length))) return null
  const plain = withPoint(number)
  return plain === null ? null : decimal(plain)
}

/** Returns the number with a point as the decimal separator and without other separators. */
function withPoint(number: string): string | null {
  const separators = number.match(/[.,'’ ]/g) ?? []
  if (separators.length === 0) return number
  const last = separators.at(-1)!
  const at = number.lastIndexOf(last)
  const [whole, rest] = [number.slice(0, at), number.slice(at + 1)]
  const others = separators.slice(0, -1)
  const isRepeated = others.includes(last)
  const isDecimal =
    /[.,]/.test(last) &&
    !isRepeated &&
    (others.length > 0 || rest.length !== 3 || whole.length > 3 || whole.startsWith('0'))
  if (isDecimal) return areGroups(whole) ? `${whole.replace(/[.,'’ ]/g, '')}.${rest}` : null
  return areGroups(number) ? number.replace(/[.,'’ ]/g, '') : null
}

/** `1.234.567`: one separator for all groups of three digits. */
const areGroups = (number: string): boolean => /^\d+$|^\d{1,3}([.,'’ ])\d{3}(?:\1\d{3})*$/.test(number)

/** Rounds half up to two places. */
function decimal(plain: string): string | null {
  const [, whole = '', fraction = ''] = /^(\d+)(?:\.(\d+))?$/.exec(plain) ?? []
  const digits = whole.replace(/^0+(?=\d)/, '')
  if (whole === '' || digits.length > mostDigits) return null
  const cents = BigInt(`${digits}${fraction.slice(0, 2).padEnd(2, '0')}`) + (fraction.charAt(2) >= '5' ? 1n : 0n)
  // Rounded up, 12 nines have 13 digits.
  if (cents === 0n || cents >= 10n ** BigInt(mostDigits + 2)) return null
  const text = cents.toString().padStart(3, '0')
  return `${text.slice(0, -2)}.${text.slice(-2)}`
}

/** Orders two decimals with two places. */
export const compareAmounts = (one: string, other: string): number => {
  const [a, b] = [BigInt(one.replace('.', '')), BigInt(other.replace('.', ''))]
  return a < b ? -1 : a > b ? 1 : 0
}

const symbols: readonly (readonly [RegExp, string])[] = [
  [/R\$|\bBRL\b|\breais\b|\breal\b/i, 'BRL'],
  [/US\$|\bUSD\b|U\$S/i, 'USD'],
  [/€|\bEUR\b/i, 'EUR'],
  [/£|\bGBP\b/i, 'GBP'],
  [/(?:AR|A)\$|\bARS\b/i, 'ARS'],
]

/** Returns the code of ISO 4217. null: the text names no currency; a lone `$` is no name. */
export function readCurrency(given: unknown): string | null {
  if (typeof given !== 'string') return null
  const text = given.trim().slice(0, 200)
  for (const [pattern, code] of symbols) if (pattern.test(text)) return code
  return /^[A-Za-z]{3}$/.test(text) ? text.toUpperCase() : null
}
