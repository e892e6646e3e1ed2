/** Defines the values that a guard compares and sets. */
import { brand, hasBrand } from '../../errors/brand.ts'

/** Stands for the instant of the change, in `set`: `set: { updated_at: now }`. */
export interface GuardNow {
  readonly now: true
}
/** In `set` of a guard: the instant of the database. */
export const guardNow: GuardNow = Object.freeze(brand({ now: true as const }, 'now'))
export const isNow = (value: unknown): value is GuardNow => hasBrand(value, 'now')

/** A text is parsed by the type of the column; a Date is an instant; an object is JSON. */
export type GuardValue = string | number | bigint | boolean | Date | object | null

/** Returns the text for the type of the column. For an array column the caller passes a list to the driver instead. */
export function valueText(value: GuardValue): string | null {
  if (value === null || typeof value === 'string') return value
  if (value instanceof Date) return value.toISOString()
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
