/**
 * Changes a job that waits: its earliest start, its priority, its input.
 *
 * Invariant: a job that has started is never changed; the caller gets `wrong_state`. A repeated call after a lost answer makes the same
 * change again.
 */

import type { Db } from '../database/db.ts'
import { RetomaError } from '../errors/errors.ts'
import { refuseOption } from '../errors/invalid-option.ts'
import { type ActedBy, checkActor } from '../jobs/model/actor.ts'
import { storedVersion } from '../jobs/model/kind-version.ts'
import { defaultPolicy } from '../jobs/model/policy.ts'
import type { JobState } from '../jobs/model/state.ts'
import { type JobChanges, stateAndKind, updateJob } from '../jobs/sql/job-update.ts'
import type { Clock } from '../lib/clock.ts'
import type { Duration } from '../lib/values/duration.ts'
import { isId } from '../lib/values/id.ts'
import type { KindRegistry } from './kind-registry.ts'
import { checkEnqueueOptions } from './model/enqueue-options.ts'
import { checkedInput } from './model/job-input.ts'

/** Changes of `engine.jobs.update`. At least one is required. */
export interface JobUpdate {
  /** The instant before which the job does not start; an instant in the past means now. Default: unchanged. */
  runAt?: Date
  /** The time from now before which the job does not start, such as `minutes(5)`. Default: unchanged. */
  delay?: Duration
  /** 0 (first) to 9. Default: unchanged. */
  priority?: number
  /**
   * The new input, in place of the whole present input. This engine must have the code of the kind, which checks the input. Refused with
   * `steps_saved` if an attempt has saved steps. Default: unchanged.
   */
  input?: unknown
}

/** A method of the namespace `engine.jobs`. */
export interface JobUpdater {
  /**
   * Changes a waiting job, an item of a batch included. A job that has started meanwhile is not changed. Throws `not_found`, `wrong_state`,
   * `steps_saved`, `bad_input`, `unknown_kind` and `bad_option`.
   *
   * @example
   * await engine.jobs.update(id, { runAt: new Date(), priority: 0 })
   */
  update(id: string, changes: JobUpdate, options?: ActedBy): Promise<{ id: string; state: JobState; changed: boolean }>
}

/** A job may start and wait again between the change and the read of its state. */
const mostTries = 5

export function createJobUpdater(given: {
  db: Db
  clock: Clock
  registry: KindRegistry
  wake: (queue: string, delayMs?: number) => void
}): JobUpdater {
  const { db, clock, registry, wake } = given

  async function changesOf(id: string, { input, ...when }: JobUpdate): Promise<JobChanges> {
    const checked = checkEnqueueOptions(when, { policy: defaultPolicy, retention: null })
    const changes = {
      runAt: checked.runAt,
      delayMs: when.delay === undefined ? null : checked.delayMs,
      priority: when.priority === undefined ? null : checked.priority,
    }
    if (input === undefined) return { ...changes, input: null, version: null }
    const found = await stateAndKind(db, id)
    if (found === undefined) throw new RetomaError('not_found', { what: 'job', id })
    const job = registry.find(found.kind)
    return { ...changes, input: await checkedInput(job, input), version: storedVersion(job.version) }
  }

  return {
    async update(id, changes, options) {
      const by = checkActor(options)
      if (Object.values(changes).every(each => each === undefined))
        refuseOption(
          'changes',
          'it changes nothing: give runAt, delay, priority or input',
          'não muda nada: dê runAt, delay, priority ou input',
        )
      if (!isId(id)) throw new RetomaError('not_found', { what: 'job', id: String(id) })
      const checked = await changesOf(id, changes)
      for (let left = mostTries; ; left--) {
        const updated = await updateJob(db, id, checked, by, clock.instant())
        if (updated === 'steps') throw new RetomaError('steps_saved', { id })
        if (updated !== undefined) {
          wake(updated.queue, Math.max(updated.dueMs, 0))
          return { id, state: 'waiting', changed: true }
        }
        const found = await stateAndKind(db, id)
        if (found === undefined) throw new RetomaError('not_found', { what: 'job', id })
        if (found.state !== 'waiting' || left === 0)
          throw new RetomaError('wrong_state', { id, state: found.state, action: 'update' })
      }
    },
  }
}
