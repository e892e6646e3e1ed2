/**
 * Wrong guesses of a secret, slowed by where they come from: ten in a minute, counted for all processes together. Whoever
 * has had those is not even looked up until his time has come, so a right guess does not help him either.
 *
 * Invariant: a credential that works, and has worked here before, is never held up by the guesses of a neighbour (tokens.ts
 * does not ask for it).
 */
import { formatDuration, minutes } from '../core/duration.ts'
import { RetomaError } from '../errors.ts'
import type { LimitDesk } from './limits.ts'

const limit = 10
const per = minutes(1)
const guess = (from: string) => ({ bucket: 'login', who: from, limit, per })

export interface Guesses {
  /** Throws rate_limited for who has guessed wrong too often. `from`: where it comes from, such as an address. */
  mayGuess(from: string): Promise<void>
  /** Counts one; throws rate_limited when it is one too many. */
  guessedWrong(from: string): Promise<void>
}

export function createGuesses(limits: LimitDesk): Guesses {
  return {
    mayGuess: async from => refuseUnless(await limits.peekLimit(guess(from))),
    guessedWrong: async from => refuseUnless(await limits.limit(guess(from))),
  }
}

function refuseUnless({ allowed, retryAfterSeconds }: { allowed: boolean; retryAfterSeconds: number }): void {
  if (allowed) return
  const seconds = Math.max(Math.ceil(retryAfterSeconds), 1)
  throw new RetomaError('rate_limited', { limit, per: formatDuration(per), seconds }, { retryAfterSeconds: seconds })
}
