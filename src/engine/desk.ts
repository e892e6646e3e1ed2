/** What people and programs ask of jobs that are there: look, wait, cancel, retry, resume. */
import { isId } from '../core/id.ts'
import { isFinal, type State } from '../core/state.ts'
import { RetomaError, say } from '../errors.ts'
import type { Clock } from '../lib/clock.ts'
import { type ControlVerb, press } from '../store/control.ts'
import type { Db } from '../store/db.ts'
import { passes } from '../store/trouble.ts'
import {
  type CheckpointView,
  type FailureView,
  type JobFilter,
  type JobView,
  viewCheckpoints,
  viewFailures,
  viewJob,
  viewJobs,
} from '../store/view.ts'
import type { Waiters } from './waiters.ts'

/** With what went wrong so far, and the steps that are done. */
export type JobDetail = JobView & { history: FailureView[]; checkpoints: CheckpointView[] }

/** What was pressed: the state afterwards, and whether this call changed it. */
export interface Pressed {
  id: string
  state: State
  changed: boolean
}

export interface Desk {
  job(id: string): Promise<JobDetail | null>
  jobs(filter?: JobFilter & { limit?: number; after?: string }): Promise<{ items: JobView[]; next: string | null }>
  /** Resolves when the job is final or stalled; a database that goes away and comes back is waited for. */
  wait(what: { job: string }, options?: { signal?: AbortSignal }): Promise<JobDetail>
  cancel(id: string): Promise<Pressed>
  /** Runs a failed, skipped or cancelled job again, with a new budget of tries. */
  retry(id: string): Promise<Pressed>
  resume(id: string): Promise<Pressed>
}

const firstLook = 50
const slowestLook = 1000

export function createDesk(given: {
  db: Db
  clock: Clock
  waiters: Waiters
  tell: (queue: string) => void
  closing: AbortSignal
}): Desk {
  const { db, clock, waiters, tell, closing } = given

  async function job(id: string): Promise<JobDetail | null> {
    if (!isId(id)) return null
    const found = await viewJob(db, id)
    if (found === undefined) return null
    const [history, checkpoints] = await Promise.all([viewFailures(db, id), viewCheckpoints(db, id)])
    return { ...found, history, checkpoints }
  }

  /** Undefined: the database is away; it comes back, and so does whoever waits. */
  const look = (id: string) =>
    job(id).catch(error => {
      if (!passes(error)) throw error
    })

  /** `fine`: states in which the verb has nothing left to do, so that pressing twice is no error. */
  async function pressed(verb: ControlVerb, word: string, id: string, fine: readonly State[]): Promise<Pressed> {
    const result = isId(id) ? await press(db, verb, id, clock.instant()) : undefined
    if (result === undefined) throw new RetomaError('not_found', { what: 'job', id })
    const { state, moved, queue, heldBy } = result
    if (heldBy !== undefined && !fine.includes(state)) throw new RetomaError('key_held', { id, holder: heldBy })
    if (!moved && !fine.includes(state)) throw new RetomaError('wrong_state', { id, state, verb: word })
    // What is cancelled may have freed a place under its queue's limit.
    if (moved) tell(queue)
    return { id, state, changed: moved }
  }

  return {
    job,

    async jobs(filter = {}) {
      const { limit = 50, after } = filter
      if (!Number.isInteger(limit) || limit < 1 || limit > 500) refuse('limit', 'it is from 1 to 500', 'é de 1 a 500')
      if (after !== undefined && !isId(after))
        refuse('after', 'it is the next of an earlier list', 'é o next de uma lista anterior')
      const rows = await viewJobs(db, filter, after, limit + 1)
      const items = rows.slice(0, limit)
      return { items, next: rows.length > limit ? items.at(-1)!.id : null }
    },

    async wait({ job: id }, { signal } = {}) {
      for (let pause = firstLook; ; pause = Math.min(pause * 2, slowestLook)) {
        signal?.throwIfAborted()
        if (closing.aborted) throw new RetomaError('engine_closed', {})
        const turn = new AbortController()
        const over = signal === undefined ? turn.signal : AbortSignal.any([turn.signal, signal])
        // Asked before looking: what is settled in between is not missed.
        const settled = waiters.next(id, turn.signal)
        const stopped = new Promise<void>(resolve => over.addEventListener('abort', () => resolve(), { once: true }))
        try {
          const found = await Promise.race([look(id), stopped])
          if (found === null) throw new RetomaError('not_found', { what: 'job', id })
          if (found && (isFinal(found.state) || found.state === 'stalled')) return found
          await Promise.race([settled, clock.sleep(pause, over)])
        } finally {
          turn.abort()
        }
      }
    },

    cancel: id => pressed('cancel', 'cancel', id, ['cancelled']),
    retry: id => pressed('rerun', 'retry', id, ['waiting', 'running']),
    resume: id => pressed('resume', 'resume', id, ['waiting', 'running']),
  }
}

function refuse(option: string, en: string, pt: string): never {
  throw new RetomaError('bad_option', { option, problem: say(en, pt) })
}
