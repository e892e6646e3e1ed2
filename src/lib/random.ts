/** Randomness, in one place so that nothing else reads it. */
import { randomBytes } from 'node:crypto'

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'

/** A random name such as `w-3f9k2m8q1xhv`: 60 bits by default, safe in a file name and easy to read out. */
export function randomName(prefix: string, length = 12): string {
  const letters = Array.from(randomBytes(length), byte => alphabet[byte & 31])
  return `${prefix}-${letters.join('')}`
}

/** 256 bits as 43 letters that a header, a cookie and a URL carry as they are. */
export const randomSecret = (): string => randomBytes(32).toString('base64url')

/** Whether it has the form of a `randomSecret`, also behind a prefix such as `rt_`: then nobody can guess it. */
export const isRandomSecret = (secret: string): boolean => /^(?:[a-z]{1,8}_)?[\w-]{43}$/.test(secret)

/** Between 0 (included) and 1 (excluded). */
export type Random = () => number

export const systemRandom: Random = Math.random
