/**
 * Dollars as they are answered: a text with two to six decimals, for a document costs fractions of a cent. `numeric` comes from
 * PostgreSQL as a text, and is never made a floating number on its way.
 */

/** `0.012300` is `0.0123`, and `2.000000` is `2.00`. */
export function dollars(numeric: string): string
export function dollars(numeric: string | null): string | null
export function dollars(numeric: string | null): string | null {
  if (numeric === null) return null
  const [whole, decimals = ''] = numeric.split('.')
  return `${whole}.${decimals.replace(/0+$/, '').padEnd(2, '0')}`
}

export const currency = 'USD'
