/**
 * How often a user may ask: `route({ …, limit: { bucket, limit, per } })`. Counted once who asks is known and before anything
 * is read; every answer of such a route says what is left, in the three RateLimit headers that clients know.
 */
import type { Rate } from '../core/limits.ts'
import { processMetrics } from '../core/metric.ts'
import { type Allowance, rateLimited } from '../core/window.ts'
import type { RetomaError } from '../errors.ts'
import type { Call } from './route.ts'

export interface RouteLimit extends Rate {
  bucket: string
}

/** Counts this request, and answers the headers that say so; throws rate_limited. */
export async function limited(
  { engine, who }: Pick<Call, 'engine' | 'who'>,
  given: RouteLimit,
): Promise<Record<string, string>> {
  const { bucket, limit, per } = given
  const allowance = await engine.limit({ bucket, who: who.user, limit, per })
  if (allowance.allowed) return limitHeaders(allowance)
  engine.meter.add(processMetrics.limited, 1, { bucket })
  throw rateLimited(given, allowance.retryAfterSeconds)
}

/** For an app that asks `engine.limit` itself; with Retry-After where it was refused. */
export const limitHeaders = (given: Allowance): Record<string, string> => ({
  'ratelimit-limit': String(given.limit),
  'ratelimit-remaining': String(given.remaining),
  'ratelimit-reset': String(given.resetSeconds),
  ...(given.allowed ? {} : { 'retry-after': String(given.retryAfterSeconds) }),
})

/** Of a refusal: nothing is left until it may be tried again. */
export const refusedHeaders = ({ facts, retryAfterSeconds = 1 }: RetomaError): Record<string, string> => ({
  'ratelimit-limit': String(facts.limit),
  'ratelimit-remaining': '0',
  'ratelimit-reset': String(retryAfterSeconds),
})
