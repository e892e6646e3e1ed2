/** Lists the attempts of a job from the stored rows: outcome, worker, start, end and error of each. */
import { isFinal, type JobState } from './state.ts'

export interface Tried {
  state: JobState
  attempt: number
  worker: string | null
  startedAt: Date | null
  finishedAt: Date | null
  history: readonly {
    attempt: number
    type: string
    code: string | null
    message: string
    worker: string | null
    startedAt: Date | null
    at: Date
  }[]
}

export interface Attempt {
  attempt: number
  /** `what` of a failure (error, timeout, crash …), or the job's state for the last attempt; null: the attempt was not counted. */
  outcome: string | null
  code: string | null
  message: string | null
  worker: string | null
  startedAt: Date | null
  endedAt: Date | null
}

const most = 1000

/** Returns the last thousand attempts. */
export function attemptsOf(job: Tried): Attempt[] {
  const failed = new Map(job.history.map(each => [each.attempt, each]))
  const first = Math.max(1, job.attempt - most + 1)
  return Array.from({ length: Math.max(0, job.attempt - first + 1) }, (_, i): Attempt => {
    const attempt = first + i
    const failure = failed.get(attempt)
    const isLast = attempt === job.attempt
    return {
      attempt,
      outcome: failure?.type ?? (isLast ? lastOutcome(job.state) : null),
      code: failure?.code ?? null,
      message: failure?.message ?? null,
      worker: failure?.worker ?? (isLast ? job.worker : null),
      startedAt: failure?.startedAt ?? (isLast ? job.startedAt : null),
      endedAt: failure?.at ?? (isLast ? job.finishedAt : null),
    }
  })
}

const lastOutcome = (state: JobState): string | null =>
  isFinal(state) || state === 'running' || state === 'stalled' ? state : null
