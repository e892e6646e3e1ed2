/**
 * Computes the sweep instants of kinds with a `sweepEvery` longer than a tick; the instants follow from the clock alone.
 * Any watchdog recovers everything due by then, in as many chunks as necessary. So no process must win a sweep, nothing
 * is written, and a watchdog that crashes during a sweep loses nothing. explain/model/next-watchdog-check.ts repeats the rule for
 * people; tests let the promised time pass.
 */
import { watchEvery } from '../../jobs/model/policy.ts'

/**
 * The last sweep at `now` of a kind with `sweepEvery` = `every` milliseconds. Sweeps are a tick less than `every` apart,
 * because the tick that runs a sweep may come a tick later.
 */
export const lastSweep = (now: string, every: string): string => `
  case
    when ${every} <= ${watchEvery} then ${now}
    else to_timestamp(floor(extract(epoch from ${now}) * 1000 / (${every} - ${watchEvery})) * (${every} - ${watchEvery}) / 1000)
  end`
