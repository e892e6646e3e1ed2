/** Estimates the time until a full queue has room, from the observed throughput. */
import { etaOf, rateOf, type Sample } from '../../batches/model/throughput.ts'

const soonest = 1
const latest = 60
/** For a queue observed too briefly. */
const unknown = 5

/**
 * Returns whole seconds, from 1 to 60. `samples`: jobs that had left the queue, in the order of time; `gone`: jobs that have left
 * by now; `over`: jobs that must leave before the refused jobs fit. 60 if no job was seen to leave.
 */
export function queueFullRetryAfter(samples: readonly Sample[], gone: number, over: number): number {
  if ((samples[0]?.ageSeconds ?? 0) < 1) return unknown
  return Math.min(Math.max(etaOf(rateOf(samples, gone), over) ?? latest, soonest), latest)
}
