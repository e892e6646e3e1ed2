/**
 * Builds the timeline of a job from the stored rows, in the order of time. The start is stored for the last attempt and with each
 * failure; an earlier attempt that was released without a failure appears by its checkpoints.
 */
import { isFinal, type JobState } from './state.ts'

/** Facts about a job for the timeline. */
export interface TimelineFacts {
  state: JobState
  attempt: number
  createdAt: Date
  startedAt: Date | null
  finishedAt: Date | null
  runAt: Date
  error: { message: string } | null
  history: readonly { attempt: number; type: string; message: string; startedAt: Date | null; at: Date }[]
  checkpoints: readonly { name: string; attempt: number; at: Date; bytes: number; sleepUntil: Date | null }[]
  events: readonly { type: string; at: Date; data: Readonly<Record<string, unknown>> }[]
}

export type Moment = { at: Date; attempt: number | null } & (
  | { type: 'enqueued' | 'started' | 'succeeded' | 'cancelled' | 'stalled' }
  | { type: 'saved'; step: string; bytes: number }
  | { type: 'slept'; step: string; until: Date }
  | { type: 'failed'; failureType: string; message: string }
  /** Final state without a failure of the last attempt. */
  | { type: 'gave up' | 'skipped'; message: string | null }
  /** `last`: number of attempts at the time of the action. */
  | { type: 'action'; action: string; last: number }
  | { type: 'warned'; warning: string; facts: Readonly<Record<string, unknown>> }
  /** In the future: the time of the next attempt. */
  | { type: 'due' }
)

export function timelineOf(job: TimelineFacts): Moment[] {
  const moments: Moment[] = [
    { at: job.createdAt, attempt: null, type: 'enqueued' },
    ...startMoments(job),
    ...job.checkpoints.map(savedMoment),
    ...job.history.map(
      ({ at, attempt, type, message }): Moment => ({ at, attempt, type: 'failed', failureType: type, message }),
    ),
    ...job.events.flatMap(eventMoments),
    ...endMoments(job),
  ]
  // Moments of the same instant: by attempt, then in the order above, the order of a job's states.
  return moments.sort((a, b) => a.at.getTime() - b.at.getTime() || after(a) - after(b))
}

/** One start for each attempt: the row of the job repeats the start of the last attempt. */
function startMoments({ attempt, startedAt, history }: TimelineFacts): Moment[] {
  const starts = new Map(history.map(each => [each.attempt, each.startedAt]))
  if (startedAt !== null) starts.set(attempt, startedAt)
  return [...starts].flatMap(([attempt, at]) => (at === null ? [] : [{ at, attempt, type: 'started' }]))
}

/** An action comes after the last attempt at the time of the action. */
const after = (moment: Moment): number =>
  moment.type === 'action' ? moment.last + 0.5 : (moment.attempt ?? (moment.type === 'due' ? Number.MAX_VALUE : 0))

function savedMoment({ name, attempt, at, bytes, sleepUntil }: TimelineFacts['checkpoints'][number]): Moment {
  return sleepUntil === null
    ? { at, attempt, type: 'saved', step: name, bytes }
    : { at, attempt, type: 'slept', step: name, until: sleepUntil }
}

function eventMoments({ type, at, data }: TimelineFacts['events'][number]): Moment[] {
  const attempt = typeof data.attempt === 'number' ? data.attempt : null
  if (type === 'action') return [{ at, attempt: null, type: 'action', action: String(data.what), last: attempt ?? 0 }]
  if (type === 'warning') return [{ at, attempt, type: 'warned', warning: String(data.what), facts: data }]
  // Other events repeat the failure of an attempt.
  return data.to === 'stalled' ? [{ at, attempt, type: 'stalled' }] : []
}

function endMoments({ state, attempt, finishedAt, runAt, error, history, events }: TimelineFacts): Moment[] {
  if (state === 'waiting') return [{ at: runAt, attempt: null, type: 'due' }]
  if (!isFinal(state) || finishedAt === null) return []
  const message = error?.message ?? null
  switch (state) {
    case 'succeeded':
      return [{ at: finishedAt, attempt, type: 'succeeded' }]
    case 'skipped':
      return [{ at: finishedAt, attempt, type: 'skipped', message }]
    case 'cancelled':
      return events.some(({ data }) => data.to === 'cancelled') ? [] : [{ at: finishedAt, attempt, type: 'cancelled' }]
    case 'failed':
      return history.some(each => each.attempt === attempt)
        ? []
        : [{ at: finishedAt, attempt, type: 'gave up', message }]
  }
}
