/**
 * How often somebody may: `engine.limit`, for any route of an app. Windows are kept in PostgreSQL, or in Upstash Redis where
 * that is set.
 *
 * Invariant: the limit never goes away. While Upstash does not answer PostgreSQL judges, whose windows begin empty then; that
 * is told once, and once more when it is over. Meanwhile Upstash is asked again every five seconds, by one caller.
 */
import {
  type Allowance,
  allowanceOf,
  checkLimit,
  type Judged,
  type LimitOptions,
  type Windows,
} from '../core/window.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/log.ts'
import type { Db } from '../store/db.ts'
import { peekHits, takeHits } from '../store/rate-window.ts'
import { createUpstash, type Upstash } from './upstash.ts'

export interface LimitDesk {
  /**
   * Counts one for `who` in `bucket` when that is allowed, and says so: at most `limit` in any stretch of time as long as
   * `per`, however many ask at once and in however many processes. One bucket has one limit.
   */
  limit(asked: LimitOptions): Promise<Allowance>
  /** Whether one would be allowed, and nothing is counted. */
  peekLimit(asked: LimitOptions): Promise<Allowance>
}

/** Who keeps windows: PostgreSQL, or Upstash; 'off': nobody, and everything passes, which is for development. */
export type RateLimits = 'postgresql' | 'off' | Upstash

export function createLimits(given: { db: Db; clock: Clock; log: Log; rateLimits: RateLimits }): LimitDesk {
  const windows = windowsOf(given)
  return {
    limit: async asked => allowanceOf(checkLimit(asked), await windows.take(asked)),
    peekLimit: async asked => allowanceOf(checkLimit(asked), await windows.peek(asked)),
  }
}

function windowsOf({ db, clock, log, rateLimits }: Parameters<typeof createLimits>[0]): Windows {
  if (rateLimits === 'off') {
    log.warn({}, 'rate limits are off: everything passes')
    const passes = async (): Promise<Judged> => ({ granted: true, used: 0, freesMs: null, fitsMs: null })
    return { take: passes, peek: passes }
  }
  const ours = inPostgres(db, clock)
  return rateLimits === 'postgresql' ? ours : withFallback(createUpstash(rateLimits, clock), ours, clock, log)
}

function inPostgres(db: Db, clock: Clock): Windows {
  const one = async (judge: typeof takeHits, { who, ...asked }: LimitOptions): Promise<Judged> =>
    (await judge(db, { ...asked, of: new Map([[who, 1]]) }, clock.instant()))[0]!
  return { take: asked => one(takeHits, asked), peek: asked => one(peekHits, asked) }
}

const pauseMs = 5000

function withFallback(upstash: Windows, ours: Windows, clock: Clock, log: Log): Windows {
  /** From when on it may be asked again; undefined: it answers. */
  let downUntil: number | undefined

  function wentDown(error: unknown): void {
    if (downUntil === undefined)
      log.warn(
        { reason: reasonOf(error) },
        'Upstash does not answer: rate limits are kept in PostgreSQL, in windows that begin empty',
      )
    downUntil = clock.elapsed() + pauseMs
  }

  async function judge(verb: keyof Windows, asked: LimitOptions): Promise<Judged> {
    const isDown = downUntil !== undefined
    if (isDown && clock.elapsed() < downUntil!) return ours[verb](asked)
    // This caller tries; the others go on with PostgreSQL until it knows.
    if (isDown) downUntil = clock.elapsed() + pauseMs
    try {
      const judged = await upstash[verb](asked)
      // Of those that were asked before it went down some may still be answered: they say nothing about now.
      if (isDown) {
        downUntil = undefined
        log.info({}, 'Upstash answers again: rate limits are kept there')
      }
      return judged
    } catch (error) {
      wentDown(error)
      return ours[verb](asked)
    }
  }
  return { take: asked => judge('take', asked), peek: asked => judge('peek', asked) }
}

/** What fetch wraps lies in its cause, whose message may name the address: its code will do. */
const reasonOf = (error: unknown): string => {
  const { message, cause } = error as Error & { cause?: { code?: string } }
  return cause?.code ?? message
}
