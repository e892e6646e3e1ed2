/**
 * Checks the options of a rate window and computes the answer: at most `limit` hits in any period of length `per`. PostgreSQL or
 * Upstash stores the window, in other files.
 */

import { textOption } from '../../enqueue/model/enqueue-options.ts'
import { RetomaError } from '../../errors/errors.ts'
import { refuseOption, refuseUnknownOptions } from '../../errors/invalid-option.ts'
import type { Duration } from '../../lib/values/duration.ts'
import { spanText } from '../../lib/values/format-duration.ts'
import { namePattern, nameRule } from '../../lib/values/name.ts'
import { checkRate, type QueueRate } from './queue-limits.ts'

/** Options of `engine.limit`. */
export interface LimitOptions {
  /** Name of the counter, such as `documents`. */
  bucket: string
  /** Owner of the hits: a user, a tenant, an address. */
  who: string
  /** At most so many hits … */
  limit: number
  /** … in any period of this length. */
  per: Duration
}

/** The answer of `engine.limit`. */
export interface RateAllowance {
  /** The hit is granted and counts. */
  allowed: boolean
  limit: number
  /** Hits that would be granted at this moment. */
  remaining: number
  /** Whole seconds until a hit would be granted; 0 if `allowed`. */
  retryAfterSeconds: number
  /** Whole seconds until more hits are free than now; 0 if no hit counts. */
  resetSeconds: number
}

/** Result of a rate window: the counting hits, including this hit if granted. */
export interface WindowVerdict {
  granted: boolean
  used: number
  /** Milliseconds until the oldest counting hit leaves the window; null: no hit counts. */
  freesMs: number | null
  /** Milliseconds until the requested hits fit; null: the hits fit now, or never. */
  fitsMs: number | null
}

/** A window stores so many instants; with a higher limit the window stores so many slices of its period. */
export const mostInstants = 256

/** Stores rate windows. */
export interface RateWindows {
  take(asked: LimitOptions): Promise<WindowVerdict>
  /** Same as `take` without a hit: returns the result of a possible hit. */
  peek(asked: LimitOptions): Promise<WindowVerdict>
}

const names = ['bucket', 'who', 'limit', 'per'] as const

export function checkLimit(asked: LimitOptions): LimitOptions {
  refuseUnknownOptions(Object(asked), names)
  for (const name of names) if (asked?.[name] === undefined) refuseOption(name, 'it is missing', 'falta')
  if (typeof asked.bucket !== 'string' || !namePattern.test(asked.bucket))
    refuseOption('bucket', `its name is ${nameRule.en}`, `o nome tem ${nameRule.pt}`)
  textOption('who', asked.who)
  checkRate(asked)
  return asked
}

export function allowanceOf(
  { limit }: Pick<QueueRate, 'limit'>,
  { granted, used, freesMs, fitsMs }: WindowVerdict,
): RateAllowance {
  const resetSeconds = upTo(freesMs ?? 0)
  return {
    allowed: granted,
    limit,
    remaining: Math.max(limit - used, 0),
    retryAfterSeconds: granted ? 0 : Math.max(upTo(fitsMs ?? freesMs ?? 0), 1),
    resetSeconds,
  }
}

export function rateLimited({ limit, per }: QueueRate, retryAfterSeconds: number): RetomaError {
  const facts = { limit, per: spanText(per / 1000), seconds: retryAfterSeconds }
  return new RetomaError('rate_limited', facts, { retryAfterSeconds })
}

/** Rounds up, so that a caller who returns after so many seconds is not early. */
const upTo = (ms: number) => Math.max(Math.ceil(ms / 1000), 0)
