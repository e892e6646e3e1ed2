/**
 * A sliding window over what somebody does: at most `limit` in any stretch of time as long as `per`. What is kept of it, and
 * who keeps it (PostgreSQL, Upstash), is elsewhere; here is what may be asked and what is answered.
 */
import { RetomaError } from '../errors.ts'
import type { Duration } from './duration.ts'
import { textOption } from './enqueue-options.ts'
import { checkRate, type Rate } from './limits.ts'
import { namePattern, nameRule } from './name.ts'
import { refuseOption, refuseUnknownOptions } from './refuse.ts'
import { span } from './span.ts'

export interface LimitOptions {
  /** What is counted together, such as `documents`. */
  bucket: string
  /** Whose it is: a user, a tenant, an address. */
  who: string
  /** So many at most … */
  limit: number
  /** … in any stretch of time as long as this. */
  per: Duration
}

export interface Allowance {
  /** It passes, and counts. */
  allowed: boolean
  limit: number
  /** How many more would pass at this moment. */
  remaining: number
  /** Whole seconds until it would pass; 0 when it does. */
  retryAfterSeconds: number
  /** Whole seconds until more is allowed than now; 0 when nothing is used. */
  resetSeconds: number
}

/** How one who keeps windows judged: what counts now, with what was asked for when it was granted. */
export interface Judged {
  granted: boolean
  used: number
  /** Milliseconds until the first of what counts no longer does; null: nothing counts. */
  freesMs: number | null
  /** Milliseconds until as many as were asked for fit; null: they do, or never will. */
  fitsMs: number | null
}

/** A window remembers so many instants; above that in a window, so many parts of its time. */
export const mostInstants = 256

/** Who keeps windows. */
export interface Windows {
  take(asked: LimitOptions): Promise<Judged>
  /** The same without taking: whether one would be granted. */
  peek(asked: LimitOptions): Promise<Judged>
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

export function allowanceOf({ limit }: Pick<Rate, 'limit'>, { granted, used, freesMs, fitsMs }: Judged): Allowance {
  const resetSeconds = upTo(freesMs ?? 0)
  return {
    allowed: granted,
    limit,
    remaining: Math.max(limit - used, 0),
    retryAfterSeconds: granted ? 0 : Math.max(upTo(fitsMs ?? freesMs ?? 0), 1),
    resetSeconds,
  }
}

export function rateLimited({ limit, per }: Rate, retryAfterSeconds: number): RetomaError {
  const facts = { limit, per: span(per / 1000), seconds: retryAfterSeconds }
  return new RetomaError('rate_limited', facts, { retryAfterSeconds })
}

/** One who comes back after so many whole seconds does not come too early. */
const upTo = (ms: number) => Math.max(Math.ceil(ms / 1000), 0)
