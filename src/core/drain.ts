/** When there may be room again in a queue that is full: from how fast it was seen to empty. */
import { etaOf, rateOf, type Sample } from './rate.ts'

const soonest = 1
const latest = 60
/** Nobody has looked for long enough to know. */
const unknown = 5

/**
 * Whole seconds, from 1 to 60. `samples`: how many had left it when, in the order they were taken; `gone`: how many have by
 * now; `over`: how many must leave before what was refused fits. The longest where nothing was seen to leave.
 */
export function roomAfterSeconds(samples: readonly Sample[], gone: number, over: number): number {
  if ((samples[0]?.ageSeconds ?? 0) < 1) return unknown
  return Math.min(Math.max(etaOf(rateOf(samples, gone), over) ?? latest, soonest), latest)
}
