/**
 * Secrets are kept and compared as hashes only. SHA-256 without salt is enough for what is random by 256 bits; what a person
 * chose (RETOMA_ADMIN_TOKEN, CRON_SECRET) has to be long, and wrong guesses are slowed (engine/guesses.ts).
 */
import { createHash, timingSafeEqual } from 'node:crypto'

export const hashOf = (secret: string): Buffer => createHash('sha256').update(secret).digest()

/** In the same time wherever they differ: of their hashes, so that their lengths do not show either. */
export const sameSecret = (one: string, other: string): boolean => sameHash(hashOf(one), hashOf(other))

export const sameHash = (one: Uint8Array, other: Uint8Array): boolean =>
  one.length === other.length && timingSafeEqual(one, other)
