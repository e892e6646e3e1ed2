/** Money as whole cents (`bigint`), never as a floating-point number. Providers, the database and answers have decimal texts: "3499.00". */

export const currency = 'BRL'

/** `3499`, `3499.9` and `3499.90` are texts of money. Throws for any other text. */
export function centsOf(text: string): bigint {
  const found = /^(\d{1,12})(?:\.(\d{1,2}))?$/.exec(text)
  if (found === null) throw new TypeError(`"${text.slice(0, 40)}" is no amount with at most two decimals`)
  const [, whole, decimals = ''] = found
  return BigInt(whole!) * 100n + BigInt(decimals.padEnd(2, '0'))
}

export function textOf(cents: bigint): string {
  const digits = String(cents).padStart(3, '0')
  return `${digits.slice(0, -2)}.${digits.slice(-2)}`
}

/** For people: `R$ 3.499,00`. */
export function shown(cents: bigint): string {
  const [whole, decimals] = textOf(cents).split('.') as [string, string]
  return `R$ ${whole.replace(/\B(?=(\d{3})+$)/g, '.')},${decimals}`
}
