/**
 * Values of ours are known by a mark that every copy of this library shares, not by their class: an application and one of
 * its packages may each have a copy, and what one makes the other must understand.
 */

/** Gives a value the mark; it shows in no listing of its properties. */
export const brand = <T extends object>(value: T, name: string): T =>
  Object.defineProperty(value, Symbol.for(`retoma.${name}`), { value: true })

/** Never throws: a proxy may when it is asked what it is, and then it is none of ours. */
export function hasBrand(value: unknown, name: string): boolean {
  try {
    return typeof value === 'object' && value !== null && Reflect.get(value, Symbol.for(`retoma.${name}`)) === true
  } catch {
    return false
  }
}
