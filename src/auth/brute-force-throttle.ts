/**
 * Throttles wrong guesses of a secret by the address of the caller, counted for all processes together. After ten wrong guesses
 * in a minute a wrong guess gets `rate_limited`, and a right secret is still accepted: an address is often shared by a whole
 * office, and a person who mistypes must not lock out the others. After a hundred, which no person types, a secret that a person
 * may have chosen is not looked up until the window allows it, so that a right guess does not help either. A secret of 32 random
 * bytes cannot be guessed: such secrets are still looked up, sequentially for each address, so that guesses of a stranger do not
 * lock out a token behind the same address.
 *
 * Invariant: this process looks up no more concurrent guesses than may be wrong. Guesses of a neighbour never delay a working
 * credential that has worked in this process before (tokens.ts does not call `guess` then).
 */

import { isRetomaError, RetomaError } from '../errors/errors.ts'
import { formatDuration, minutes } from '../lib/values/duration.ts'
import type { RateAllowance } from '../limits/model/rate-window.ts'
import type { RateLimiter, RateLimitPeek } from '../limits/rate-limiter.ts'

const per = minutes(1)
const mostWrong = 10
const mostLookups = 100
const wrongWindow = (from: string) => ({ bucket: 'login', who: from, limit: mostWrong, per })
const lookupWindow = (from: string) => ({ bucket: 'login-lookups', who: from, limit: mostLookups, per })

export interface GuessThrottle {
  /**
   * Answers the result of `lookUp`; null: no such secret, which counts as a wrong guess. Throws `rate_limited` after too many wrong
   * guesses. `from`: the origin of the guess, such as an address; undefined: unknown, so that wrong guesses must not lock out a
   * right secret. `isRandom`: the secret has the form of generated secrets.
   */
  guess<T>(from: string | undefined, lookUp: () => Promise<T | null>, isRandom?: boolean): Promise<T | null>
}

/** The callers from an address. */
interface Line {
  here: number
  /** Lookups start in sequence. */
  last: Promise<unknown>
  /** Lookups under way, not yet known to be wrong. */
  underWay: Set<Promise<void>>
  /** The last lookup of a random secret after the limit of a hundred. */
  lastRandom: Promise<unknown>
}

export function createGuessThrottle(limits: RateLimiter & RateLimitPeek): GuessThrottle {
  const lines = new Map<string, Line>()

  async function counted<T>(from: string, lookUp: () => Promise<T | null>): Promise<T | null> {
    const found = await lookUp()
    if (found !== null) return found
    await limits.limit(lookupWindow(from))
    refuseUnless(await limits.limit(wrongWindow(from)), mostWrong)
    return null
  }

  /** Waits until another lookup is allowed even if all lookups under way turn out wrong. */
  async function room(from: string, { underWay }: Line): Promise<void> {
    for (;;) {
      const allowance = await limits.peekLimit(lookupWindow(from))
      refuseUnless(allowance, mostLookups)
      if (underWay.size < allowance.remaining) return
      await Promise.race(underWay)
    }
  }

  async function inLine<T>(from: string, line: Line, lookUp: () => Promise<T | null>): Promise<T | null> {
    const entered = line.last.then(async () => {
      await room(from, line)
      const lookup = counted(from, lookUp)
      const over: Promise<void> = lookup.then(
        () => void line.underWay.delete(over),
        () => void line.underWay.delete(over),
      )
      line.underWay.add(over)
      return { lookup } // wrapped, because a bare promise would be awaited here, and so by the next caller
    })
    line.last = entered.catch(() => {})
    return (await entered).lookup
  }

  /** `refusal`: the error for a wrong secret. */
  async function random<T>(line: Line, lookUp: () => Promise<T | null>, refusal: unknown): Promise<T> {
    const lookup = line.lastRandom.then(lookUp)
    line.lastRandom = lookup.catch(() => {})
    const found = await lookup
    if (found === null) throw refusal
    return found
  }

  return {
    async guess(from, lookUp, isRandom = false) {
      if (from === undefined) return counted('unknown', lookUp)
      const line = lines.get(from) ?? {
        here: 0,
        last: Promise.resolve(),
        underWay: new Set(),
        lastRandom: Promise.resolve(),
      }
      lines.set(from, line)
      line.here++
      try {
        return await inLine(from, line, lookUp)
      } catch (error) {
        if (!isRandom || !isRetomaError(error, 'rate_limited')) throw error
        return await random(line, lookUp, error)
      } finally {
        if (--line.here === 0) lines.delete(from)
      }
    },
  }
}

function refuseUnless({ allowed, retryAfterSeconds }: RateAllowance, limit: number): void {
  if (allowed) return
  const seconds = Math.max(Math.ceil(retryAfterSeconds), 1)
  throw new RetomaError('rate_limited', { limit, per: formatDuration(per), seconds }, { retryAfterSeconds: seconds })
}
