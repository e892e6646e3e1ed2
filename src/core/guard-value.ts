/** What a guard compares with and sets. */
import { brand, hasBrand } from '../brand.ts'

/** The instant of the mark, in `set`: `set: { updated_at: now }`. */
export interface Now {
  readonly now: true
}
export const now: Now = Object.freeze(brand({ now: true as const }, 'now'))
export const isNow = (value: unknown): value is Now => hasBrand(value, 'now')

/** A text is taken as the column's own type reads it; a Date as an instant; an object as JSON. */
export type GuardValue = string | number | bigint | boolean | Date | object | null

/** What the column's type reads; a list goes as it is, for the driver to write where the column holds lists. */
export function valueText(value: GuardValue): string | null {
  if (value === null || typeof value === 'string') return value
  if (value instanceof Date) return value.toISOString()
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
