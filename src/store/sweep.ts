/**
 * When a kind is swept whose jobs are looked after less often than at every tick: an instant that follows from the clock
 * alone. Whatever was due by then is put right, by whoever comes by, in as many bites as it takes. So nobody need win a
 * sweep, nothing is written, and a watchdog that dies in the middle of one loses nothing. Said again in core/explain/watch.ts,
 * for people; tests let the promised time pass.
 */
import { watchEvery } from '../core/policy.ts'

/**
 * The last sweep by `now` of a kind whose sweepEvery is that many milliseconds. Sweeps are a tick less than that apart,
 * because the tick that makes one may come that much later.
 */
export const lastSweep = (now: string, every: string): string => `
  case
    when ${every} <= ${watchEvery} then ${now}
    else to_timestamp(floor(extract(epoch from ${now}) * 1000 / (${every} - ${watchEvery})) * (${every} - ${watchEvery}) / 1000)
  end`
