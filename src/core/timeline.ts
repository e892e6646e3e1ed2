/**
 * What happened to a job, in the order of time: put together from what is kept of it. When an attempt began is kept of the last
 * one only; the others show by what they saved and how they ended.
 */
import { isFinal, type State } from './state.ts'

/** What is known of a job, as far as this needs it. */
export interface Told {
  state: State
  attempt: number
  createdAt: Date
  startedAt: Date | null
  finishedAt: Date | null
  runAt: Date
  error: { message: string } | null
  history: readonly { attempt: number; what: string; message: string; at: Date }[]
  checkpoints: readonly { name: string; attempt: number; at: Date; bytes: number; sleepUntil: Date | null }[]
  events: readonly { type: string; at: Date; data: Readonly<Record<string, unknown>> }[]
}

export type Moment = { at: Date; attempt: number | null } & (
  | { what: 'enqueued' | 'started' | 'succeeded' | 'cancelled' | 'stalled' }
  | { what: 'saved'; step: string; bytes: number }
  | { what: 'slept'; step: string; until: Date }
  | { what: 'failed'; how: string; message: string }
  /** The end, where no attempt's failure says it. */
  | { what: 'gave up' | 'skipped'; message: string | null }
  /** `last`: the number of attempts by then. */
  | { what: 'pressed'; verb: string; last: number }
  | { what: 'warned'; of: string; facts: Readonly<Record<string, unknown>> }
  /** Not yet: when it runs. */
  | { what: 'due' }
)

export function timelineOf(job: Told): Moment[] {
  const moments: Moment[] = [
    { at: job.createdAt, attempt: null, what: 'enqueued' },
    ...(job.startedAt === null ? [] : [{ at: job.startedAt, attempt: job.attempt, what: 'started' } as const]),
    ...job.checkpoints.map(savedMoment),
    ...job.history.map(
      ({ at, attempt, what, message }): Moment => ({ at, attempt, what: 'failed', how: what, message }),
    ),
    ...job.events.flatMap(eventMoments),
    ...endMoments(job),
  ]
  // Of one instant: by attempt, and then in the order above, which is that of a job's life.
  return moments.sort((a, b) => a.at.getTime() - b.at.getTime() || after(a) - after(b))
}

/** A button is pressed after the attempt that was the last by then. */
const after = (moment: Moment): number =>
  moment.what === 'pressed' ? moment.last + 0.5 : (moment.attempt ?? (moment.what === 'due' ? Number.MAX_VALUE : 0))

function savedMoment({ name, attempt, at, bytes, sleepUntil }: Told['checkpoints'][number]): Moment {
  return sleepUntil === null
    ? { at, attempt, what: 'saved', step: name, bytes }
    : { at, attempt, what: 'slept', step: name, until: sleepUntil }
}

function eventMoments({ type, at, data }: Told['events'][number]): Moment[] {
  const attempt = typeof data.attempt === 'number' ? data.attempt : null
  if (type === 'action') return [{ at, attempt: null, what: 'pressed', verb: String(data.what), last: attempt ?? 0 }]
  if (type === 'warning') return [{ at, attempt, what: 'warned', of: String(data.what), facts: data }]
  // Others are told by the failure of their attempt.
  return data.to === 'stalled' ? [{ at, attempt, what: 'stalled' }] : []
}

function endMoments({ state, attempt, finishedAt, runAt, error, history, events }: Told): Moment[] {
  if (state === 'waiting') return [{ at: runAt, attempt: null, what: 'due' }]
  if (!isFinal(state) || finishedAt === null) return []
  const message = error?.message ?? null
  switch (state) {
    case 'succeeded':
      return [{ at: finishedAt, attempt, what: 'succeeded' }]
    case 'skipped':
      return [{ at: finishedAt, attempt, what: 'skipped', message }]
    case 'cancelled':
      return events.some(({ data }) => data.to === 'cancelled') ? [] : [{ at: finishedAt, attempt, what: 'cancelled' }]
    case 'failed':
      return history.some(each => each.attempt === attempt)
        ? []
        : [{ at: finishedAt, attempt, what: 'gave up', message }]
  }
}
