/**
 * Formats dollars for answers. A cost has two decimals, like money everywhere, and beside the cost the exact sum, because a document
 * costs fractions of a cent. A limit has the given decimals, at least two. PostgreSQL sends `numeric` as text, and the text never becomes
 * a floating-point number.
 */

import { type LocalizedText, localized } from 'retoma'

type Text<T> = T extends null ? null : string

const places = 6

/** `2.388000` is `2.39`: half a cent is rounded up. */
export const cents = <T extends string | null>(numeric: T): Text<T> =>
  formatted(numeric, (whole, decimals) => {
    const all = (BigInt(whole + decimals) + 5000n) / 10_000n
    const digits = String(all).padStart(3, '0')
    return `${digits.slice(0, -2)}.${digits.slice(-2)}`
  })

/** `2.388` is `2.388000`. */
export const exactly = <T extends string | null>(numeric: T): Text<T> =>
  formatted(numeric, (whole, decimals) => `${whole}.${decimals}`)

/** `0.012300` is `0.0123`, and `2.000000` is `2.00`. */
export const dollars = <T extends string | null>(numeric: T): Text<T> =>
  formatted(numeric, (whole, decimals) => `${whole}.${decimals.replace(/(?<!0)0+$/, '').padEnd(2, '0')}`)

function formatted<T extends string | null>(numeric: T, write: (whole: string, decimals: string) => string): Text<T> {
  if (numeric === null) return null as Text<T>
  const [whole, decimals = ''] = numeric.split('.')
  return write(whole!, decimals.padEnd(places, '0')) as Text<T>
}

/** For a sentence: with the decimal separator of the language. */
export function money(numeric: string): LocalizedText {
  const text = dollars(numeric)
  return localized(text, text.replace('.', ','))
}

export const currency = 'USD'
