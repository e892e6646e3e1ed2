/**
 * Limits the requests of a user: `route({ …, limit: { bucket, limit, per } })`. A request is counted after authentication and before
 * anything is read. Every response of such a route reports the remaining requests in the three usual RateLimit headers.
 */

import { internalsOf } from '../../engine/internals.ts'
import type { RetomaError } from '../../errors/errors.ts'
import type { QueueRate } from '../../limits/model/queue-limits.ts'
import { type RateAllowance, rateLimited } from '../../limits/model/rate-window.ts'
import { processMetrics } from '../../metrics/model/metric-table.ts'
import type { Call } from '../route.ts'

/** The rate limit of a route. */
export interface RouteLimit extends QueueRate {
  bucket: string
}

/** Counts this request and returns the RateLimit headers; throws `rate_limited`. */
export async function limited(
  { engine, who }: Pick<Call, 'engine' | 'who'>,
  given: RouteLimit,
): Promise<Record<string, string>> {
  const { bucket, limit, per } = given
  const allowance = await engine.limit({ bucket, who: who.user, limit, per })
  if (allowance.allowed) return limitHeaders(allowance)
  internalsOf(engine).meter.add(processMetrics.limited, 1, { bucket })
  throw rateLimited(given, allowance.retryAfterSeconds)
}

/** For an app that calls `engine.limit` itself; with Retry-After if the request was refused. */
export const limitHeaders = (given: RateAllowance): Record<string, string> => ({
  'ratelimit-limit': String(given.limit),
  'ratelimit-remaining': String(given.remaining),
  'ratelimit-reset': String(given.resetSeconds),
  ...(given.allowed ? {} : { 'retry-after': String(given.retryAfterSeconds) }),
})

/** For a refused request: nothing remains until the next request is allowed. */
export const refusedHeaders = ({ facts, retryAfterSeconds = 1 }: RetomaError): Record<string, string> => ({
  'ratelimit-limit': String(facts.limit),
  'ratelimit-remaining': '0',
  'ratelimit-reset': String(retryAfterSeconds),
})
