/**
 * Marks values of this library with a brand shared by every copy of the library, instead of a class check: an application and a
 * package of the application may each have a copy, and a copy must recognise the values of the other.
 */

/** Brands a value; the brand is not enumerable. */
export const brand = <T extends object>(value: T, name: string): T =>
  Object.defineProperty(value, Symbol.for(`retoma.${name}`), { value: true })

/** Never throws: if a proxy throws on access, the value is not ours. */
export function hasBrand(value: unknown, name: string): boolean {
  try {
    return typeof value === 'object' && value !== null && Reflect.get(value, Symbol.for(`retoma.${name}`)) === true
  } catch {
    return false
  }
}
