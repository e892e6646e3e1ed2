/**
 * A batch comes in from a list of any length: checked at the door, written chunk by chunk, and whoever might run it is
 * told. Its jobs run while the list is still being taken.
 *
 * Invariant: at most two chunks are in memory, and no ids. A bad item stops the submit at its chunk, with the error that
 * names it; the batch stays `submitting`, with how far it came, and the same key with the same list goes on from there. An
 * item becomes a job once, however often its chunk is sent and by however many processes.
 */
import { type AnyBatch, type Batch, type BatchOverrides, batchOverrides, submittedPolicy } from '../core/batch.ts'
import { checkEnqueueOptions, duesOf, type EnqueueOptions, optionsOfItem } from '../core/enqueue-options.ts'
import { checkedInput } from '../core/input.ts'
import type { AnyJob } from '../core/job.ts'
import { type Refuse, refuseDefinition, refuseOption, refuseUnknownOptions } from '../core/refuse.ts'
import { hintFor } from '../core/suggest.ts'
import { RetomaError, say } from '../errors.ts'
import type { Clock } from '../lib/clock.ts'
import { leaving } from '../lib/leaving.ts'
import { traceparent } from '../lib/trace.ts'
import {
  addAlike,
  addDifferent,
  closeSubmit,
  createBatch,
  type DifferentItem,
  hasBatch,
  type Submission,
  submissionOf,
} from '../store/batch.ts'
import type { Db } from '../store/db.ts'
import { passes } from '../store/trouble.ts'
import type { Depths } from './depth.ts'
import type { Registry } from './registry.ts'
import { isFull } from './write.ts'

/** stallAfter, onStall, maxResumes, stopAfter and items: for this one, in place of what its definition says; about: its own. */
export type SubmitOptions<Item> = Pick<EnqueueOptions, 'priority' | 'groupKey' | 'runAt' | 'delay'> &
  BatchOverrides & {
    /**
     * One batch per name and key until 24 h after its end. With it a submit that broke off can be continued. A batch that is
     * there already keeps the policy it was first submitted with.
     */
    key?: string
    /** Your own code for an item, such as a document's. */
    ref?: (item: Item, index: number) => string
    /** What else differs from item to item. */
    each?: (item: Item, index: number) => EnqueueOptions
    /** An array for which its queue has no room is refused whole, as it is without a key: nothing of it is left to be continued. */
    whole?: boolean
    signal?: AbortSignal
  }

const known = ['key', 'ref', 'each', 'whole', 'signal', 'priority', 'groupKey', 'runAt', 'delay', ...batchOverrides]

export interface Submitted {
  id: string
  /** false: a batch with this key was there already; it was continued, or is the answer as it is. */
  created: boolean
  /** Jobs it has. */
  total: number
  /** Items that another job with the same key stands for, which are not part of it. */
  held: number
}

export interface Submits {
  submit<Input>(
    batch: Batch<Input>,
    items: Iterable<NoInfer<Input>> | AsyncIterable<NoInfer<Input>>,
    options?: SubmitOptions<NoInfer<Input>>,
  ): Promise<Submitted>
}

/** A chunk whose answer is lost may be sent again: so often, after so long. */
const tries = 6
const firstPauseMs = 100

export function createSubmits(given: {
  db: Db
  clock: Clock
  registry: Registry
  depths: Depths
  tell: (queue: string, delayMs?: number) => void
  /** Something of that batch may have been the last. */
  ask: (batch: string) => Promise<unknown>
}): Submits {
  const { db, clock, registry, depths, tell, ask } = given

  /** What is checked behind the batch's lock may be sent again when its answer is lost. */
  async function surely<T>(work: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    for (let left = tries - 1, pause = firstPauseMs; ; left--, pause *= 2) {
      try {
        return await work()
      } catch (error) {
        signal?.throwIfAborted()
        if (left === 0 || !passes(error)) throw error
        await clock.sleep(pause, signal)
      }
    }
  }

  return {
    async submit(batch, items, options = {}) {
      checkSubmit(batch, items, options)
      const {
        key,
        ref,
        each,
        whole,
        signal,
        stallAfter,
        onStall,
        maxResumes,
        stopAfter,
        items: ofItems,
        about,
        ...asked
      } = options
      const same = checkEnqueueOptions({ ...asked, ...(key === undefined ? {} : { key }) })
      const { job, name } = batch
      const policy = submittedPolicy(batch, options, option => (en, pt) => refuseOption(option, en, pt))
      await registry.add(job, ...(batch.onComplete ? [batch.onComplete] : []))
      const { kind, queue } = job
      // A list whose length is known has room as a whole, or leaves nothing behind that no key could continue.
      const isNew = async () => key === undefined || (whole === true && !(await hasBatch(db, name, key)))
      const admitted = Array.isArray(items) && (await isNew())
      if (admitted) await depths.admit(queue, items.length)
      const trace = traceparent()
      const made = { name, key: same.key, kind, queue, policy, priority: same.priority }
      const { created, ...found } = await createBatch(db, made, clock.instant())
      const { id } = found
      let known: Submission = found
      const answer = (): Submitted => ({ id, created, total: known.total, held: known.taken - known.total })
      if (known.submitted) return answer()
      refuseOver(known)

      /** Sends items `from` … of the list, or what of them is not taken yet. */
      async function send(from: number, chunk: readonly DifferentItem[]): Promise<void> {
        if (!admitted) await depths.admit(queue, chunk.length)
        for (let place = from; ; ) {
          const rest = chunk.slice(place - from)
          if (rest.length === 0) break
          const landed = await surely(
            () =>
              each === undefined
                ? addAlike(db, id, place, same, rest, clock.instant(), job.version, trace)
                : addDifferent(db, id, place, kind, rest, clock.instant(), job.version, trace),
            signal,
          )
          known = landed ?? (await look())
          if (known.submitted) return
          if (known.taken < from) throw new RetomaError('batch_went_back', { id, taken: known.taken, sent: from })
          // Taken by an earlier call whose answer was lost, or by somebody who continues the same list.
          place = Math.min(known.taken, from + chunk.length)
        }
        for (const wait of duesOf(each === undefined ? [same] : chunk, clock.now())) tell(queue, wait)
      }

      async function look(): Promise<Submission> {
        const now = await surely(() => submissionOf(db, id), signal)
        if (now === undefined) throw new RetomaError('not_found', { what: say('batch', 'lote'), id })
        if (!now.submitted) refuseOver(now)
        return now
      }

      const itemOf = async (item: unknown, index: number): Promise<DifferentItem> => {
        const own = each === undefined ? undefined : optionsOfItem(each(item as never, index))
        const checked = own === undefined ? same : checkEnqueueOptions({ ...asked, ...own })
        const code = ref === undefined ? checked.ref : checkEnqueueOptions({ ref: ref(item as never, index) }).ref
        const input = await checkedInput(job, item, index)
        const priority = own?.priority === undefined ? null : own.priority
        return { ...checked, ...(own === undefined ? { key: null, keyHold: null } : {}), priority, ref: code, input }
      }

      // One chunk is on its way while the next is made ready; never two, so that jobs keep the order of the list.
      let sending: Promise<void> = Promise.resolve()
      let chunk: DifferentItem[] = []
      let bytes = 0
      let index = 0
      const skipped = known.taken
      try {
        for await (const item of leaving(items, signal)) {
          signal?.throwIfAborted()
          if (index++ < skipped) continue
          const next = await itemOf(item, index - 1)
          if (isFull(chunk.length, bytes, next.input)) {
            await sending
            sending = send(index - 1 - chunk.length, chunk)
            // Heard here too: it may fail while the list is slow to give its next item.
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
      known = (await surely(() => closeSubmit(db, id, index, clock.instant()), signal)) ?? (await look())
      if (!known.submitted) throw new RetomaError('other_list', { id, taken: known.taken, given: index })
      await ask(id)
      return answer()
    },
  }
}

/** At the door: nothing is made of what cannot be a submit, such as a batch that takes its first item for ever. */
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
      refuseOption(option, 'it is a function of an item and its place', 'é uma função do item e do lugar dele')
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

/** It was cancelled or has failed while it was being submitted: nothing more comes in. */
function refuseOver({ id, state, submitted }: Submission): void {
  if (submitted) return
  if (state === 'cancelled') throw new RetomaError('batch_cancelled', { id })
  if (state === 'failed') throw new RetomaError('batch_state', { id, state, verb: 'submit' })
}

/** The jobs that batches bring, checked when the engine is made: what no defineBatch made, a name given twice. */
export function checkBatches(batches: readonly AnyBatch[]): AnyJob[] {
  const names = new Set<string>()
  for (const batch of batches) {
    const refuse: Refuse = refuseDefinition(say(`the batch "${batch?.name}"`, `lote "${batch?.name}"`))
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
