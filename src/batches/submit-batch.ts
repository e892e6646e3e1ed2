/**
 * Submits a batch from a list of any length: validates the items, inserts them chunk by chunk and wakes workers. The jobs run
 * while the list is still being read.
 *
 * Invariant: at most two chunks are in memory, and no ids. An invalid item stops the submit at its chunk with an error that names
 * the item; the batch stays `submitting` and records its position, and a submit with the same key and list continues from there.
 * An item becomes a job once, however often and by however many processes its chunk is sent.
 */

import type { Db } from '../database/db.ts'
import { isTransient } from '../database/pg-errors.ts'
import { retryWhileAway } from '../database/retry-while-away.ts'
import { runInCallerTransaction, type Transaction } from '../database/transactions/caller-transaction.ts'
import { wakeAfterCommit } from '../database/transactions/wake-after-commit.ts'
import { isFull } from '../enqueue/insert-jobs.ts'
import type { KindRegistry } from '../enqueue/kind-registry.ts'
import {
  type BatchItemOptions,
  checkEnqueueOptions,
  dueTimesOf,
  type EnqueueOptions,
  optionsOfItem,
  optionsOfWholeBatch,
  textOption,
} from '../enqueue/model/enqueue-options.ts'
import { checkedInput } from '../enqueue/model/job-input.ts'
import type { QueueDepths } from '../enqueue/queue-depth.ts'
import { hintFor } from '../errors/did-you-mean.ts'
import { localized, RetomaError } from '../errors/errors.ts'
import { type Refuse, refuseDefinition, refuseOption, refuseUnknownOptions } from '../errors/invalid-option.ts'
import type { AnyJob } from '../jobs/model/job.ts'
import { abortableIterable } from '../lib/abortable-iterable.ts'
import type { Clock } from '../lib/clock.ts'
import { traceparent } from '../lib/trace.ts'
import { type AnyBatch, type Batch, type BatchOverrides, batchOverrides, submittedPolicy } from './model/batch.ts'
import {
  addUniformItems,
  addVariedItems,
  closeSubmit,
  createBatch,
  hasBatch,
  type Submission,
  submissionOf,
  type VariedItem,
} from './sql/submit-batch.ts'

/**
 * stallAfter, onStall, maxResumes, stopAfter, items and retention override the options of the definition for this batch; about: display
 * data of this batch; weight: its weight in fair turns.
 */
export type SubmitOptions<Item> = Pick<EnqueueOptions, 'priority' | 'groupKey' | 'runAt' | 'delay'> &
  BatchOverrides & {
    /** The queue of the items. Only workers of the queue run the items. Default: the queue of the kind. */
    queue?: string
    /**
     * A single batch per name and key until 24 h after its end. A submit with a key can be continued after an
     * interruption. An existing batch keeps the policy of its first submit. Default: no key.
     */
    key?: string
    /** The caller's own code for an item, such as a document number. Default: none. */
    ref?: (item: Item, index: number) => string
    /** Other options of a single item. For the policy of all items use `items`. Default: none. */
    each?: (item: Item, index: number) => BatchItemOptions
    /**
     * Rejects an array as a whole if the queue has no room, as without a key: no partial batch remains. Default
     * false.
     */
    whole?: boolean
    /** The batch and all items exist if and only if this transaction of the caller commits. Default: chunk by chunk. */
    tx?: Transaction
    /** Stops the submit with the reason of the signal; a submit with the same key continues. Default: none. */
    signal?: AbortSignal
  }

const known = [
  'key',
  'ref',
  'each',
  'whole',
  'tx',
  'signal',
  'priority',
  'groupKey',
  'runAt',
  'delay',
  'queue',
  ...batchOverrides,
]

/** The answer of `engine.submit`. */
export interface Submitted {
  id: string
  /** false: a batch with this key existed already; the submit continued the batch, or the batch is the answer as it is. */
  created: boolean
  /** Number of jobs of the batch. */
  total: number
  /** Items left out because another job has their unique key. */
  duplicates: number
}

export interface BatchSubmitter {
  /**
   * Adds a batch from a list or a stream of any length. The items run while the list is read. Throws `bad_input` and `queue_full`.
   *
   * @example
   * const { id } = await engine.submit(defineBatch({ name: 'may', job: classify }), documents, { key: 'may' })
   * const { succeeded, failed } = await engine.wait({ batch: id })
   */
  submit<Input>(
    batch: Batch<Input>,
    items: Iterable<NoInfer<Input>> | AsyncIterable<NoInfer<Input>>,
    options?: SubmitOptions<NoInfer<Input>>,
  ): Promise<Submitted>
}

/** Maximum number of sends of a chunk whose answer is lost, and the first pause. */
const tries = 6
const firstPauseMs = 100

export function createBatchSubmitter(given: {
  db: Db
  clock: Clock
  registry: KindRegistry
  queueDepths: QueueDepths
  wake: (queue: string, delayMs?: number) => void
  /** Checks whether the batch is complete. */
  ask: (batch: string) => Promise<unknown>
  closing: AbortSignal
}): BatchSubmitter {
  const { db, clock, registry, queueDepths, wake, ask, closing } = given

  /** Repeats `work` after a lost answer; safe, because the statements check the position behind the batch's lock. */
  const repeated = <T>(work: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> =>
    retryWhileAway(work, { clock, signal, isAnswer: error => !isTransient(error), mostCalls: tries, firstPauseMs })
  /** After an error the transaction of the caller accepts no further statement. */
  const onlyOnce = <T>(work: () => Promise<T>): Promise<T> => work()

  return {
    async submit(batch, items, options = {}) {
      checkSubmit(batch, items, options)
      const {
        key,
        ref,
        each,
        whole,
        tx,
        signal,
        stallAfter,
        onStall,
        maxResumes,
        stopAfter,
        items: ofItems,
        retention,
        about,
        weight,
        ...asked
      } = options
      const { job, name } = batch
      const same = checkEnqueueOptions({ ...asked, ...(key === undefined ? {} : { key }) }, job)
      const on = tx === undefined ? db : { run: runInCallerTransaction(tx, db.names) }
      const surely = tx === undefined ? repeated : onlyOnce
      const policy = submittedPolicy(batch, options, option => (en, pt) => refuseOption(option, en, pt))
      await registry.add(job, ...(batch.onComplete ? [batch.onComplete] : []))
      const { kind } = job
      const queue = same.queue ?? job.queue
      if (same.queue !== null) await registry.addQueue(queue)
      // A list of known length must fit as a whole, so that no partial batch remains without a key to continue it.
      const isNew = async () => key === undefined || (whole === true && !(await hasBatch(on, name, key)))
      const admitted = Array.isArray(items) && (await isNew())
      if (admitted) await queueDepths.admit(queue, items.length)
      const trace = traceparent()
      const made = { name, key: same.key, kind, queue, policy, priority: same.priority }
      const { created, ...found } = await createBatch(on, made, clock.instant())
      const { id } = found
      let known: Submission = found
      const answer = (): Submitted => ({
        id,
        created,
        total: known.total,
        duplicates: known.itemsReceived - known.total,
      })
      if (known.submitted) return answer()
      refuseOver(known)

      /** Sends the items from index `from`, except items the batch has already received. */
      async function send(from: number, chunk: readonly VariedItem[]): Promise<void> {
        if (!admitted) await queueDepths.admit(queue, chunk.length)
        for (let position = from; ; ) {
          const rest = chunk.slice(position - from)
          if (rest.length === 0) break
          const landed = await surely(
            () =>
              each === undefined
                ? addUniformItems(on, id, position, same, rest, clock.instant(), job.version, trace)
                : addVariedItems(on, id, position, kind, rest, clock.instant(), job.version, trace),
            signal,
          )
          known = landed ?? (await readSubmission())
          if (known.submitted) return
          if (known.itemsReceived < from)
            throw new RetomaError('batch_went_back', { id, received: known.itemsReceived, sent: from })
          // Received from an earlier call with a lost answer, or from another process that continues the same list.
          position = Math.min(known.itemsReceived, from + chunk.length)
        }
        if (tx === undefined)
          for (const wait of dueTimesOf(each === undefined ? [same] : chunk, clock.now())) wake(queue, wait)
      }

      async function readSubmission(): Promise<Submission> {
        const now = await surely(() => submissionOf(on, id), signal)
        if (now === undefined) throw new RetomaError('not_found', { what: localized('batch', 'lote'), id })
        if (!now.submitted) refuseOver(now)
        return now
      }

      const itemOf = async (item: unknown, index: number): Promise<VariedItem> => {
        const own = each === undefined ? undefined : ownOptions(each(item as never, index))
        const checked = own === undefined ? same : checkEnqueueOptions({ ...asked, ...own }, job)
        const code = ref === undefined ? checked.ref : textOption('ref', ref(item as never, index))
        const input = await checkedInput(job, item, index)
        const priority = own?.priority === undefined ? null : own.priority
        return { ...checked, ...(own === undefined ? { key: null, keyHold: null } : {}), priority, ref: code, input }
      }

      // The next chunk is prepared while a chunk is sent; never two in flight, so that jobs keep the order of the list.
      let sending: Promise<void> = Promise.resolve()
      let chunk: VariedItem[] = []
      let bytes = 0
      let index = 0
      const skipped = known.itemsReceived
      try {
        for await (const item of abortableIterable(items, signal)) {
          signal?.throwIfAborted()
          if (index++ < skipped) continue
          const next = await itemOf(item, index - 1)
          if (isFull(chunk.length, bytes, next.input)) {
            await sending
            sending = send(index - 1 - chunk.length, chunk)
            // Handled here too: the send may fail while the list is slow to give the next item.
            sending.catch(() => {})
            chunk = []
            bytes = 0
          }
          chunk.push(next)
          bytes += next.input.length
        }
      } finally {
        await sending
      }
      if (chunk.length > 0) await send(index - chunk.length, chunk)
      known = (await surely(() => closeSubmit(on, id, index, clock.instant()), signal)) ?? (await readSubmission())
      if (!known.submitted) throw new RetomaError('other_list', { id, received: known.itemsReceived, given: index })
      if (tx === undefined) await ask(id)
      // An empty batch is complete at once. If the commit comes later, the watchdog finds this out.
      else
        wakeAfterCommit(
          { clock, closing },
          () => wake(queue),
          () => void ask(id).catch(() => {}),
        )
      return answer()
    },
  }
}

/** Rejects an invalid call before any write, because the call would leave a batch that waits for its first item forever. */
function checkSubmit(batch: AnyBatch, items: unknown, options: SubmitOptions<never>): void {
  checkBatches([batch])
  const list = Object(items)
  if (
    typeof items !== 'object' ||
    !(typeof list[Symbol.asyncIterator] === 'function' || typeof list[Symbol.iterator] === 'function')
  )
    refuseOption(
      'items',
      'it is a list or a stream: an array, a generator, any (async) iterable',
      'é uma lista ou um fluxo: um array, um gerador, qualquer iterável (assíncrono também)',
    )
  if (options === null || typeof options !== 'object')
    refuseOption('options', 'it is an object, or left out', 'é um objeto, ou nada')
  for (const option of ['ref', 'each'] as const) {
    if (options[option] !== undefined && typeof options[option] !== 'function')
      refuseOption(option, 'it is a function of an item and its position', 'é uma função do item e do lugar dele')
  }
  if (options.signal !== undefined && !(options.signal instanceof AbortSignal))
    refuseOption('signal', 'it is an AbortSignal', 'é um AbortSignal')
  if ('keyUntil' in options)
    refuseOption(
      'keyUntil',
      "a batch's key is held until 24 h after its end; for the key of an item say it with each",
      'a chave de um lote vale até 24 h depois do fim; para a chave de um item, diga com each',
    )
  refuseUnknownOptions(options, known)
}

/** Rejects the options that only a whole batch can have: the policy and the queue of an item are those of its batch. */
function ownOptions(given: unknown): EnqueueOptions {
  const own = optionsOfItem(given)
  for (const option of optionsOfWholeBatch)
    if (own[option] !== undefined) {
      const options = option === 'queue' || option === 'retention' ? `{ ${option} }` : `{ items: { ${option} } }`
      refuseOption(
        option,
        `all items of a batch have the same: submit(batch, list, ${options})`,
        `é igual para todos os itens de um lote: submit(batch, list, ${options})`,
      )
    }
  return own
}

/** Rejects further items if the batch was cancelled or failed during the submit. */
function refuseOver({ id, state, submitted }: Submission): void {
  if (submitted) return
  if (state === 'cancelled') throw new RetomaError('batch_cancelled', { id })
  if (state === 'failed') throw new RetomaError('batch_state', { id, state, action: 'submit' })
}

/** Validates batch definitions when the engine is created (not made by defineBatch, duplicate name) and answers their jobs. */
export function checkBatches(batches: readonly AnyBatch[]): AnyJob[] {
  const names = new Set<string>()
  for (const batch of batches) {
    const refuse: Refuse = refuseDefinition(localized(`the batch "${batch?.name}"`, `lote "${batch?.name}"`))
    if (batch?.policy === undefined || batch.job === undefined)
      refuse('it was not made by defineBatch', 'ele não foi feito por defineBatch')
    if (names.has(batch.name)) refuse('another batch has the same name', 'outro lote tem o mesmo nome')
    names.add(batch.name)
  }
  return [...new Set(batches.flatMap(({ job, onComplete }) => (onComplete === null ? [job] : [job, onComplete])))]
}

export function findBatch(batches: readonly AnyBatch[], name: string): AnyBatch {
  const batch = batches.find(each => each.name === name)
  if (batch !== undefined) return batch
  const known = batches.map(each => each.name)
  throw new RetomaError('unknown_batch', { name, hint: hintFor(name, known) })
}
