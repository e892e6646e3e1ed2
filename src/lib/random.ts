/** The only source of randomness. */
import { randomBytes } from 'node:crypto'

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'

/** A random name such as `w-3f9k2m8q1xhv`: 60 bits by default, safe in a file name and easy to read out. */
export function randomName(prefix: string, length = 12): string {
  const letters = Array.from(randomBytes(length), byte => alphabet[byte & 31])
  return `${prefix}-${letters.join('')}`
}

/** 256 bits as 43 letters, valid without escaping in a header, a cookie and a URL. */
export const randomSecret = (): string => randomBytes(32).toString('base64url')

/** True for text in the form of a `randomSecret`, also behind a prefix such as `rt_`: such a secret cannot be guessed. */
export const isRandomSecret = (secret: string): boolean => /^(?:[a-z]{1,8}_)?[\w-]{43}$/.test(secret)

/** Between 0 (included) and 1 (excluded). */
export type Random = () => number

export const systemRandom: Random = Math.random
