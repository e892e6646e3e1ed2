/** How often somebody may. */
import type { Duration } from '../core/duration.ts'
import type { Clock } from '../lib/clock.ts'

interface LimitOptions {
  bucket: string
  who: string
  limit: number
  per: Duration
}

interface Allowance {
  allowed: boolean
  limit: number
  remaining: number
  retryAfterSeconds: number
  resetSeconds: number
}

export interface LimitDesk {
  /** Counts one when that is allowed, and says so. */
  limit(asked: LimitOptions): Promise<Allowance>
  /** Whether one would be allowed, and nothing is counted. */
  peekLimit(asked: LimitOptions): Promise<Allowance>
}

export function createLimits({ clock }: { clock: Clock }): LimitDesk {
  const hits = new Map<string, number[]>()
  const judge = async ({ bucket, who, limit, per }: LimitOptions, count: boolean): Promise<Allowance> => {
    const now = clock.elapsed()
    const name = `${bucket} ${who}`
    const within = (hits.get(name) ?? []).filter(at => at > now - per)
    const allowed = within.length < limit
    if (allowed && count) hits.set(name, [...within, now])
    const seconds = Math.ceil(((within[0] ?? now) + per - now) / 1000)
    const retryAfterSeconds = allowed ? 0 : seconds
    return { allowed, limit, remaining: limit - within.length, retryAfterSeconds, resetSeconds: seconds }
  }
  return { limit: asked => judge(asked, true), peekLimit: asked => judge(asked, false) }
}
