/**
 * Wrong guesses of a secret, slowed by where they come from, counted for all processes together. Past ten in a minute a wrong
 * one is told to wait, and a right one comes in all the same: behind one address is often a whole office, and somebody in it who
 * mistypes must not lock out the others. Past a hundred, which no typing makes, a secret that a person may have chosen is not even looked
 * up until its time has come, so a right guess of such a secret does not help either. A secret of 32 random bytes cannot be guessed: of
 * those, one at a time per address is still looked up, so that a stranger who guesses locks out no token behind the same address.
 *
 * Invariant: also of those that come all at once, no more are looked up in this process than may be wrong. A credential that
 * works, and has worked here before, is never held up by the guesses of a neighbour (tokens.ts does not ask for it).
 */
import { formatDuration, minutes } from '../core/duration.ts'
import type { Allowance } from '../core/window.ts'
import { isRetomaError, RetomaError } from '../errors.ts'
import type { LimitDesk } from './limits.ts'

const per = minutes(1)
const told = 10
const lookedUp = 100
const toldOf = (from: string) => ({ bucket: 'login', who: from, limit: told, per })
const lookedUpOf = (from: string) => ({ bucket: 'login-looked-up', who: from, limit: lookedUp, per })

export interface Guesses {
  /**
   * What `look` finds; null: nothing, which counts. Throws rate_limited instead for who has guessed wrong too often. `from`: where it
   * comes from, such as an address; undefined: nobody knows, and then one who guesses must not be able to keep the right one out.
   * `isRandom`: the secret has the form of the secrets that we make.
   */
  guess<T>(from: string | undefined, look: () => Promise<T | null>, isRandom?: boolean): Promise<T | null>
}

/** Those who come from one place. */
interface Line {
  here: number
  /** They are let in one after another. */
  last: Promise<unknown>
  /** Looked up, and not known yet whether wrong. */
  underWay: Set<Promise<void>>
  /** The last random secret that is looked up past the hundred. */
  lastRandom: Promise<unknown>
}

export function createGuesses(limits: LimitDesk): Guesses {
  const lines = new Map<string, Line>()

  async function counted<T>(from: string, look: () => Promise<T | null>): Promise<T | null> {
    const found = await look()
    if (found !== null) return found
    await limits.limit(lookedUpOf(from))
    refuseUnless(await limits.limit(toldOf(from)), told)
    return null
  }

  /** As many more as may be wrong, should all that are under way be. */
  async function room(from: string, { underWay }: Line): Promise<void> {
    for (;;) {
      const allowance = await limits.peekLimit(lookedUpOf(from))
      refuseUnless(allowance, lookedUp)
      if (underWay.size < allowance.remaining) return
      await Promise.race(underWay)
    }
  }

  async function inLine<T>(from: string, line: Line, look: () => Promise<T | null>): Promise<T | null> {
    const entered = line.last.then(async () => {
      await room(from, line)
      const looked = counted(from, look)
      const over: Promise<void> = looked.then(
        () => void line.underWay.delete(over),
        () => void line.underWay.delete(over),
      )
      line.underWay.add(over)
      return { looked } // bare it would be waited for, and so by the next in line
    })
    line.last = entered.catch(() => {})
    return (await entered).looked
  }

  /** `refusal`: of a secret that is wrong. */
  async function random<T>(line: Line, look: () => Promise<T | null>, refusal: unknown): Promise<T> {
    const looked = line.lastRandom.then(look)
    line.lastRandom = looked.catch(() => {})
    const found = await looked
    if (found === null) throw refusal
    return found
  }

  return {
    async guess(from, look, isRandom = false) {
      if (from === undefined) return counted('unknown', look)
      const line = lines.get(from) ?? {
        here: 0,
        last: Promise.resolve(),
        underWay: new Set(),
        lastRandom: Promise.resolve(),
      }
      lines.set(from, line)
      line.here++
      try {
        return await inLine(from, line, look)
      } catch (error) {
        if (!isRandom || !isRetomaError(error, 'rate_limited')) throw error
        return await random(line, look, error)
      } finally {
        if (--line.here === 0) lines.delete(from)
      }
    },
  }
}

function refuseUnless({ allowed, retryAfterSeconds }: Allowance, limit: number): void {
  if (allowed) return
  const seconds = Math.max(Math.ceil(retryAfterSeconds), 1)
  throw new RetomaError('rate_limited', { limit, per: formatDuration(per), seconds }, { retryAfterSeconds: seconds })
}
