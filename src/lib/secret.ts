/**
 * Stores and compares secrets as hashes only. SHA-256 without salt is enough for secrets with 256 random bits. A secret chosen by a
 * person (RETOMA_ADMIN_TOKEN, CRON_SECRET) has to be long, and wrong guesses are slowed (auth/brute-force-throttle.ts).
 */
import { createHash, timingSafeEqual } from 'node:crypto'

export const hashOf = (secret: string): Buffer => createHash('sha256').update(secret).digest()

/** Takes the same time for every difference: the function compares hashes, so the lengths do not show either. */
export const sameSecret = (one: string, other: string): boolean => sameHash(hashOf(one), hashOf(other))

export const sameHash = (one: Uint8Array, other: Uint8Array): boolean =>
  one.length === other.length && timingSafeEqual(one, other)
