/**
 * Enqueues jobs: validates the options and inputs, inserts the jobs and wakes workers.
 *
 * Invariant: for a list of any length at most two chunks and the ids of all jobs are in memory; an invalid item stops
 * `enqueueMany` at its chunk with an error that names the item, and the chunks written before stay.
 */

import type { Db, Run } from '../database/db.ts'
import { runInCallerTransaction, type Transaction } from '../database/transactions/caller-transaction.ts'
import { wakeAfterCommit } from '../database/transactions/wake-after-commit.ts'
import { refuseOption } from '../errors/invalid-option.ts'
import type { AnyJob, InputOf, Job, NoInputNeeded, OutputOf } from '../jobs/model/job.ts'
import type { JobHandle, WaitOptions } from '../jobs/model/job-handle.ts'
import type { Clock } from '../lib/clock.ts'
import { traceparent } from '../lib/trace.ts'
import { storedForm } from '../lib/values/value-codec.ts'
import type { Admission } from './admission.ts'
import { type Enqueued, enqueueUniform, type NewJob, newJob } from './enqueue.sql.ts'
import type { InsertBatcher } from './insert-batcher.ts'
import { insertJobs, isFull } from './insert-jobs.ts'
import type { KindRegistry } from './kind-registry.ts'
import {
  type CheckedEnqueueOptions,
  checkEnqueueOptions,
  dueTimesOf,
  type EnqueueOptions,
  optionsOfItem,
} from './model/enqueue-options.ts'
import { checkedInput } from './model/job-input.ts'

/** Options for many jobs: the shared options, and `each` for options of a single item (a unique key, a ref). */
export type EnqueueManyOptions<Input> = Omit<EnqueueOptions, 'key' | 'ref'> & {
  /**
   * The jobs exist if and only if this transaction of the caller commits. Default: transactions of the engine, chunk
   * by chunk.
   */
  tx?: Transaction
  /** Options of a single item, such as its `key` and `ref`. All jobs go to the same queue. Default: the shared options. */
  each?: (input: Input, index: number) => Omit<EnqueueOptions, 'queue'>
}

/** The answer of `enqueueMany`. */
export interface EnqueuedMany {
  created: number
  /** Jobs not created because another job has the unique key. */
  duplicates: number
  /** In the order of the input. */
  ids: string[]
}

/** The transaction of `enqueue`. */
export interface EnqueueTransaction {
  /** The job exists if and only if this transaction of the caller commits. Default: a transaction of the engine. */
  tx?: Transaction
}

export interface Enqueuer {
  /**
   * Adds a job, which is committed when the call resolves. Throws `bad_input`, `bad_option`, `queue_full` and `rate_limited`.
   *
   * @example
   * const handle = await engine.enqueue(classify, { code: 'A-17' }, { key: 'A-17', delay: minutes(5) })
   * const { category } = await handle.result()
   */
  enqueue<Of extends AnyJob>(job: Of & NoInputNeeded<Of>): Promise<JobHandle<OutputOf<Of>>>
  enqueue<Of extends AnyJob>(
    job: Of,
    input: InputOf<Of>,
    options?: EnqueueOptions & EnqueueTransaction,
  ): Promise<JobHandle<OutputOf<Of>>>
  /**
   * Adds a job for each input of a list or a stream, in order and in bounded memory.
   *
   * @example
   * await engine.enqueueMany(classify, documents, { each: ({ code }) => ({ key: code }) })
   */
  enqueueMany<Input>(
    job: Job<Input, unknown>,
    inputs: Iterable<NoInfer<Input>> | AsyncIterable<NoInfer<Input>>,
    options?: EnqueueManyOptions<NoInfer<Input>>,
  ): Promise<EnqueuedMany>
}

export function createEnqueuer(given: {
  db: Db
  clock: Clock
  registry: KindRegistry
  /** For a job without a unique key: joins the insert with other enqueues at the same time. */
  writeShared: InsertBatcher
  admission: Admission
  /** Wakes workers here and in other processes: the queue may have ready jobs. */
  wake: (queue: string, delayMs?: number, job?: string) => void
  closing: AbortSignal
  /** Waits for the result of a job. */
  resultOf: (id: string, options?: WaitOptions) => Promise<unknown>
}): Enqueuer {
  const { db, clock, registry, writeShared, admission, wake, closing, resultOf } = given

  // biome-ignore lint/suspicious/noExplicitAny: the caller's type of the job says what the result is
  type AnyHandle = JobHandle<any>
  /** A handle prints and compares as its id and `created`, and is stored so if a step returns a handle. */
  class EnqueuedJob implements AnyHandle {
    readonly id: string
    readonly created: boolean

    constructor({ id, created }: Enqueued) {
      this.id = id
      this.created = created
    }

    result(options?: WaitOptions) {
      return resultOf(this.id, options)
    }

    get [storedForm](): Enqueued {
      return { ...this }
    }
  }
  const handleOf = (enqueued: Enqueued): AnyHandle => new EnqueuedJob(enqueued)

  const write = (jobs: NewJob[], run: Run) => insertJobs(run, jobs, clock.instant())

  async function writeAlike(
    job: AnyJob,
    same: CheckedEnqueueOptions,
    items: readonly Item[],
    run: Run,
  ): Promise<Enqueued[]> {
    const shared = newJob(job, same, '', traceparent())
    const texts = items.map(item => item.text)
    const ids = await enqueueUniform(run, shared, texts, clock.instant())
    return ids.map(id => ({ id, created: true }))
  }

  function announce(
    queue: string,
    asked: readonly CheckedEnqueueOptions[],
    tx: Transaction | undefined,
    job?: string,
  ): void {
    for (const wait of dueTimesOf(asked, clock.now())) {
      if (tx) wakeAfterCommit({ clock, closing }, () => wake(queue, wait))
      else wake(queue, wait, job)
    }
  }

  return {
    async enqueue(job: AnyJob, input?: unknown, given?: EnqueueOptions & EnqueueTransaction) {
      const { tx, ...options } = given ?? {}
      const run = tx === undefined ? db.run : runInCallerTransaction(tx, db.names)
      const asked = checkEnqueueOptions(options, job)
      const text = await checkedInput(job, input)
      await registry.add(job)
      if (asked.queue !== null) await registry.addQueue(asked.queue)
      const made = newJob(job, asked, text, traceparent())
      await admission.admit(made.queue, [asked.groupKey])
      const alone = tx !== undefined || asked.key !== null
      const enqueued = alone ? (await write([made], run))[0]! : await writeShared(made)
      announce(made.queue, [asked], tx, enqueued.id)
      return handleOf(enqueued)
    },

    async enqueueMany(job, inputs, given) {
      const { tx, each, ...options } = given ?? {}
      const run = tx === undefined ? db.run : runInCallerTransaction(tx, db.names)
      for (const name of ['key', 'ref'] as const) {
        if (name in options)
          refuseOption(
            name,
            'it differs from job to job: say it with each: input => ({ … })',
            'muda de job para job: diga com each: input => ({ … })',
          )
      }
      // `keyUntil` requires a key, which only `each` can give.
      const { keyUntil, ...shared } = options
      if (keyUntil !== undefined && each === undefined)
        refuseOption('keyUntil', 'it goes with a key, and a key with each', 'vai com key, e key com each')
      const same = checkEnqueueOptions(shared, job)
      const queue = same.queue ?? job.queue
      await registry.add(job)
      if (same.queue !== null) await registry.addQueue(same.queue)
      // If a list of known length does not fit as a whole, nothing is written; if `each` gives groups that do not fit, nothing of
      // the chunk is written.
      const known = Array.isArray(inputs)
      if (known) await admission.admitMany(queue, inputs.length, each === undefined ? same.groupKey : null)
      const total: EnqueuedMany = { created: 0, duplicates: 0, ids: [] }
      const send = async (chunk: Item[]) => {
        const groups = chunk.map(item => item.asked.groupKey)
        if (!known) await admission.admit(queue, groups)
        else if (each !== undefined) await admission.admitGroups(queue, groups)
        const enqueued =
          each === undefined ? await writeAlike(job, same, chunk, run) : await write(jobsOf(job, chunk), run)
        for (const { id, created } of enqueued) {
          total[created ? 'created' : 'duplicates']++
          total.ids.push(id)
        }
        announce(queue, each === undefined ? [same] : chunk.map(item => item.asked), tx)
      }
      // The next chunk is prepared while a chunk is sent; never two in flight, so that jobs keep the order of the list.
      let sending: Promise<void> = Promise.resolve()
      let chunk: Item[] = []
      let bytes = 0
      let index = 0
      try {
        for await (const input of inputs) {
          const asked = each === undefined ? same : checkEach(each(input, index), options, job)
          const text = await checkedInput(job, input, index)
          if (isFull(chunk.length, bytes, text)) {
            await sending
            sending = send(chunk)
            // Handled here too: the send may fail while the list is slow to give the next item.
            sending.catch(() => {})
            chunk = []
            bytes = 0
          }
          chunk.push({ asked, text })
          bytes += text.length
          index++
        }
      } finally {
        await sending
      }
      if (chunk.length > 0) await send(chunk)
      return total
    },
  }
}

interface Item {
  asked: CheckedEnqueueOptions
  text: string
}

function jobsOf(job: AnyJob, items: readonly Item[]): NewJob[] {
  const trace = traceparent()
  return items.map(({ asked, text }) => newJob(job, asked, text, trace))
}

/** Checks the options that `each` returned for an item, over the shared options. */
function checkEach(given: unknown, shared: EnqueueOptions, job: AnyJob): CheckedEnqueueOptions {
  const own = optionsOfItem(given)
  if (own.queue !== undefined)
    refuseOption(
      'queue',
      'all jobs of a call go to the same queue: give queue beside each',
      'todos os jobs de uma chamada vão para a mesma fila: dê queue ao lado de each',
    )
  return checkEnqueueOptions({ ...shared, ...own }, job)
}
