/**
 * Enqueues jobs of any kinds together: all or none. The HTTP API uses this module.
 *
 * Invariant: all jobs are validated before any write, and several statements run in a single transaction. With `once`, the jobs
 * and the stored response commit in the same transaction: after a crash or a lost answer the same request gives the same jobs,
 * and two concurrent requests create the jobs once.
 */

import { type Db, type Run, runOn } from '../database/db.ts'
import { refuseOption, refuseUnknownOptions } from '../errors/invalid-option.ts'
import { exactlyOnce, type Replayable } from '../idempotency/idempotent-request.ts'
import type { IdempotencyKey, StoredResponse } from '../idempotency/stored-response.sql.ts'
import { type AnyJob, isJob } from '../jobs/model/job.ts'
import type { JobState } from '../jobs/model/state.ts'
import { statesOf } from '../jobs/sql/job-view.ts'
import type { Clock } from '../lib/clock.ts'
import { checkedInputs } from './check-inputs.ts'
import { type Enqueued, type NewJob, newJob } from './enqueue.sql.ts'
import type { InsertBatcher } from './insert-batcher.ts'
import { insertJobs, isFull } from './insert-jobs.ts'
import { type KindRegistry, refuseEngineQueue } from './kind-registry.ts'
import { checkEnqueueOptions, dueTimesOf, type EnqueueOptions } from './model/enqueue-options.ts'

export interface JobRequest {
  job: AnyJob
  input: unknown
  options?: EnqueueOptions
}

/** `state`: any state, if the job existed already. */
export type EnqueuedJob = Enqueued & { state: JobState }

export interface MixedEnqueuer {
  /** Answers in the order of the list. */
  enqueueTogether(orders: readonly JobRequest[]): Promise<EnqueuedJob[]>
  /** `answer`: the response to store; a repetition gets the stored response and creates nothing. */
  enqueueOnce(
    orders: readonly JobRequest[],
    once: IdempotencyKey,
    answer: (made: EnqueuedJob[]) => StoredResponse,
  ): Promise<Replayable<EnqueuedJob[]>>
}

export function createMixedEnqueuer(given: {
  db: Db
  clock: Clock
  registry: KindRegistry
  writeShared: InsertBatcher
  /** Admits jobs of these groups to the queue, or throws. */
  admit: (queue: string, groups: readonly (string | null)[]) => Promise<void>
  wake: (queue: string, delayMs?: number, job?: string) => void
}): MixedEnqueuer {
  const { db, clock, registry, writeShared, admit, wake } = given

  async function checked(orders: readonly JobRequest[]): Promise<NewJob[]> {
    for (const [index, order] of orders.entries()) {
      refuseUnknownOptions(Object(order), ['job', 'input', 'options'], `orders[${index}].`)
      if (!isJob(order?.job)) refuseOption(`orders[${index}].job`, 'it is made by defineJob', 'é feito por defineJob')
    }
    const inputs = await checkedInputs(orders, orders.length > 1)
    const jobs = orders.map(({ job, options = {} }, index) =>
      newJob(job, checkEnqueueOptions(options, job), inputs[index]!),
    )
    await registry.add(...new Set(orders.map(order => order.job)))
    for (const queue of new Set(orders.map(order => order.options?.queue))) {
      if (queue === undefined) continue
      refuseEngineQueue(queue)
      await registry.findQueue(queue)
    }
    for (const [queue, those] of byQueue(jobs)) {
      const groups = those.map(job => job.groupKey)
      await admit(queue, groups)
    }
    return jobs
  }

  async function write(jobs: readonly NewJob[], run: Run): Promise<EnqueuedJob[]> {
    const made: EnqueuedJob[] = []
    for (const chunk of chunksOf(jobs)) {
      const enqueued = await insertJobs(run, chunk.map(index => jobs[index]!), clock.instant()) // biome-ignore format: one call
      chunk.forEach((index, i) => {
        made[index] = { ...enqueued[i]!, state: 'waiting' }
      })
    }
    const held = made.filter(each => !each.created)
    const states = held.length === 0 ? new Map<string, JobState>() : await statesOf(run, held.map(each => each.id)) // biome-ignore format: one call
    return made.map(each => (each.created ? each : { ...each, state: states.get(each.id) ?? 'waiting' }))
  }

  const writeOne = async (job: NewJob): Promise<EnqueuedJob[]> => [{ ...(await writeShared(job)), state: 'waiting' }]

  function announce(jobs: readonly NewJob[], made: readonly EnqueuedJob[]): void {
    if (made.every(each => !each.created)) return
    for (const [queue, those] of byQueue(jobs)) {
      for (const wait of dueTimesOf(those, clock.now())) wake(queue, wait, made.length === 1 ? made[0]!.id : undefined)
    }
  }

  return {
    async enqueueTogether(orders) {
      const jobs = await checked(orders)
      const made = await (jobs.length === 1 && jobs[0]!.key === null
        ? writeOne(jobs[0]!)
        : chunksOf(jobs).length <= 1
          ? write(jobs, db.run)
          : db.transaction(client => write(jobs, runOn(client))))
      announce(jobs, made)
      return made
    },

    async enqueueOnce(orders, once, answer) {
      let jobs: NewJob[] = []
      const prepare = async () => {
        jobs = await checked(orders)
        return (run: Run) => write(jobs, run)
      }
      const done = await exactlyOnce({ db, clock }, once, prepare, answer)
      if (done.made !== undefined) announce(jobs, done.made)
      return done
    },
  }
}

function byQueue(jobs: readonly NewJob[]): Map<string, NewJob[]> {
  const queues = new Map<string, NewJob[]>()
  for (const job of jobs) {
    const those = queues.get(job.queue)
    if (those === undefined) queues.set(job.queue, [job])
    else those.push(job)
  }
  return queues
}

/**
 * Splits the list into chunks of indexes, so that a statement stays small. With several chunks, jobs with a unique key are sorted
 * by key over all chunks: two lists with the same keys in opposite order would otherwise deadlock. A single statement sorts keys
 * on its own and keeps the order of the list.
 */
function chunksOf(jobs: readonly NewJob[]): number[][] {
  const indexes = jobs.map((_, index) => index)
  const chunks = cut(jobs, indexes)
  if (chunks.length <= 1 || jobs.every(job => job.key === null)) return chunks
  return cut(jobs, indexes.sort((a, b) => before(jobs[a]!, jobs[b]!) || a - b)) // biome-ignore format: one call
}

function cut(jobs: readonly NewJob[], indexes: readonly number[]): number[][] {
  const chunks: number[][] = []
  let bytes = 0
  for (const index of indexes) {
    const { input } = jobs[index]!
    const last = chunks.at(-1)
    if (last === undefined || isFull(last.length, bytes, input)) {
      chunks.push([index])
      bytes = input.length
    } else {
      last.push(index)
      bytes += input.length
    }
  }
  return chunks
}

const keyOf = ({ kind, key }: NewJob) => (key === null ? '' : `${kind}\n${key}`)
const before = (a: NewJob, b: NewJob) => (keyOf(a) < keyOf(b) ? -1 : keyOf(a) > keyOf(b) ? 1 : 0)
