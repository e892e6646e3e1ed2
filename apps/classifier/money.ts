/**
 * Dollars as they are answered. A cost has two decimals, as money has everywhere, and beside it the exact sum, for a document
 * costs fractions of a cent; a limit has as many as it was given, two at least. `numeric` comes from PostgreSQL as a text, and
 * is never made a floating number on its way.
 */

import { type Saying, say } from 'retoma'

type Text<T> = T extends null ? null : string

const places = 6

/** `2.388000` is `2.39`: half a cent is rounded up. */
export const cents = <T extends string | null>(numeric: T): Text<T> =>
  told(numeric, (whole, decimals) => {
    const all = (BigInt(whole + decimals) + 5000n) / 10_000n
    const digits = String(all).padStart(3, '0')
    return `${digits.slice(0, -2)}.${digits.slice(-2)}`
  })

/** `2.388` is `2.388000`. */
export const exactly = <T extends string | null>(numeric: T): Text<T> =>
  told(numeric, (whole, decimals) => `${whole}.${decimals}`)

/** `0.012300` is `0.0123`, and `2.000000` is `2.00`. */
export const dollars = <T extends string | null>(numeric: T): Text<T> =>
  told(numeric, (whole, decimals) => `${whole}.${decimals.replace(/(?<!0)0+$/, '').padEnd(2, '0')}`)

function told<T extends string | null>(numeric: T, write: (whole: string, decimals: string) => string): Text<T> {
  if (numeric === null) return null as Text<T>
  const [whole, decimals = ''] = numeric.split('.')
  return write(whole!, decimals.padEnd(places, '0')) as Text<T>
}

/** For a sentence: with the comma or the point of its language. */
export function money(numeric: string): Saying {
  const text = dollars(numeric)
  return say(text, text.replace('.', ','))
}

export const currency = 'USD'
