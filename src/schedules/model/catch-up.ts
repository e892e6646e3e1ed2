/** Selects the occurrences of a schedule to enqueue now, and the next occurrence, including the missed occurrences. */
import { minutes } from '../../lib/values/duration.ts'
import { lastOccurrence, occurrenceAfter, type Recurrence } from './recurrence.ts'

/** Rule for missed occurrences. `skip`: no job. `once`: a single job for all. `all`: a job for each. */
export type CatchUp = 'skip' | 'once' | 'all'

export const catchUps: readonly CatchUp[] = ['skip', 'once', 'all']

/** An occurrence of at most this age is not missed, only late, because no process checks at the exact instant. */
const onTime = minutes(1)

export interface DueOccurrences {
  occurrences: Date[]
  nextAt: Date
}

/** `nextAt` is a due occurrence. At most `limit` occurrences are returned; then the returned `nextAt` may be due too. */
export function dueOccurrences(
  recurrence: Recurrence,
  catchUp: CatchUp,
  nextAt: Date,
  now: Date,
  limit: number,
): DueOccurrences {
  if (catchUp !== 'all') {
    const last = lastOccurrence(recurrence, nextAt, now)
    const missed = catchUp === 'skip' && now.getTime() - last.getTime() > onTime
    return { occurrences: missed ? [] : [last], nextAt: occurrenceAfter(recurrence, last) }
  }
  const occurrences = [nextAt]
  for (;;) {
    const next = occurrenceAfter(recurrence, occurrences.at(-1)!)
    if (next > now || occurrences.length >= limit) return { occurrences, nextAt: next }
    occurrences.push(next)
  }
}
