/**
 * Implements `engine.limit`, rate limits for any route of an application. Rate windows live in PostgreSQL, or in Upstash Redis if
 * configured.
 *
 * Invariant: the limit always applies. During an Upstash outage PostgreSQL checks the limits, with windows that begin empty; the
 * log reports the begin and the end of the outage once each. Every five seconds a single caller tries Upstash again.
 */

import type { Db } from '../database/db.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/logging/log.ts'
import {
  allowanceOf,
  checkLimit,
  type LimitOptions,
  type RateAllowance,
  type RateWindows,
  type WindowVerdict,
} from './model/rate-window.ts'
import { peekHits, takeHits } from './sql/count-hits.ts'
import { createUpstash, type UpstashAccess } from './upstash.ts'

export interface RateLimiter {
  /**
   * Counts a hit for `who` in `bucket` if the limit allows the hit, and answers the result: at most `limit` hits in any period of
   * length `per`, for any number of concurrent callers and processes. A bucket has a single limit.
   *
   * @example
   * const { allowed } = await engine.limit({ bucket: 'export', who: user, limit: 10, per: minutes(1) })
   */
  limit(asked: LimitOptions): Promise<RateAllowance>
}

/** For the throttle of guesses and for HTTP alone. */
export interface RateLimitPeek {
  /** Answers whether a hit would be allowed, without counting. */
  peekLimit(asked: LimitOptions): Promise<RateAllowance>
}

/** Storage of rate windows: PostgreSQL or Upstash; 'off': no limits, for development. */
export type RateLimits = 'postgresql' | 'off' | UpstashAccess

export function createRateLimiter(given: {
  db: Db
  clock: Clock
  log: Log
  rateLimits: RateLimits
}): RateLimiter & RateLimitPeek {
  const windows = windowsOf(given)
  return {
    limit: async asked => allowanceOf(checkLimit(asked), await windows.take(asked)),
    peekLimit: async asked => allowanceOf(checkLimit(asked), await windows.peek(asked)),
  }
}

function windowsOf({ db, clock, log, rateLimits }: Parameters<typeof createRateLimiter>[0]): RateWindows {
  if (rateLimits === 'off') {
    log.warn({}, 'rate limits are off: everything passes')
    const passes = async (): Promise<WindowVerdict> => ({ granted: true, used: 0, freesMs: null, fitsMs: null })
    return { take: passes, peek: passes }
  }
  const ours = inPostgres(db, clock)
  return rateLimits === 'postgresql' ? ours : withFallback(createUpstash(rateLimits, clock), ours, clock, log)
}

function inPostgres(db: Db, clock: Clock): RateWindows {
  const one = async (judge: typeof takeHits, { who, ...asked }: LimitOptions): Promise<WindowVerdict> =>
    (await judge(db, { ...asked, of: new Map([[who, 1]]) }, clock.instant()))[0]!
  return { take: asked => one(takeHits, asked), peek: asked => one(peekHits, asked) }
}

const pauseMs = 5000

function withFallback(upstash: RateWindows, ours: RateWindows, clock: Clock, log: Log): RateWindows {
  /** Earliest time of the next request to Upstash; undefined: Upstash answers. */
  let downUntil: number | undefined

  function wentDown(error: unknown): void {
    if (downUntil === undefined)
      log.warn(
        { reason: reasonOf(error) },
        'Upstash does not answer: rate limits are kept in PostgreSQL, in windows that begin empty',
      )
    downUntil = clock.elapsed() + pauseMs
  }

  async function judge(method: keyof RateWindows, asked: LimitOptions): Promise<WindowVerdict> {
    const isDown = downUntil !== undefined
    if (isDown && clock.elapsed() < downUntil!) return ours[method](asked)
    // This caller tries Upstash; the others use PostgreSQL until the result is known.
    if (isDown) downUntil = clock.elapsed() + pauseMs
    try {
      const judged = await upstash[method](asked)
      // A request sent before the outage may be answered during the outage; such an answer does not end the outage.
      if (isDown) {
        downUntil = undefined
        log.info({}, 'Upstash answers again: rate limits are kept there')
      }
      return judged
    } catch (error) {
      wentDown(error)
      return ours[method](asked)
    }
  }
  return { take: asked => judge('take', asked), peek: asked => judge('peek', asked) }
}

/** fetch wraps the original error in `cause`. The message of the cause may contain the address, so only the code is used. */
const reasonOf = (error: unknown): string => {
  const { message, cause } = error as Error & { cause?: { code?: string } }
  return cause?.code ?? message
}
