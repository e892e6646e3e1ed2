/** Routes to submit, list, read and explain batches. Batch actions are in batch-actions.ts, items in batch-items.ts. */

import { z } from 'zod'
import { checkedInputs, type Engine } from '../../../engine/create-engine.ts'
import { internalsOf } from '../../../engine/internals.ts'
import { localized, RetomaError } from '../../../errors/errors.ts'
import type { BatchView } from '../../../index.ts'
import { batchWire } from '../../../json-views.ts'
import { seconds } from '../../../lib/values/duration.ts'
import { mostWeight } from '../../../lib/values/weight.ts'
import { policyFields, policyOf, retentionOf, retentionSeconds } from '../../policy-schemas.ts'
import { keyOf } from '../../request/idempotency-key.ts'
import { refuseWideInput } from '../../request/input-width.ts'
import { refuseInternal } from '../../request/internal-kinds.ts'
import { omitUndefined } from '../../request/omit-undefined.ts'
import { type Route, route } from '../../route.ts'
import { hiddenKinds } from '../../security/private-kinds.ts'
import { anyInstant, idParams, pageOf, pageQuery } from '../../shared-schemas.ts'
import { explainRoutes } from '../explain.ts'
import { batch, batchState } from './batch-schemas.ts'

const megabyte = 1024 * 1024
const mostItems = 100_000

const text = z.string().min(1).max(500)

const submit = z.strictObject({
  name: z.string().min(1).max(100).meta({ description: 'the name of a batch definition of the engine' }),
  items: z.array(z.unknown()).max(mostItems).meta({ description: 'the inputs of the jobs' }),
  refs: z
    .array(text)
    .max(mostItems)
    .optional()
    .meta({ description: "your own codes, one for each item, such as documents' names" }),
  key: text.optional().meta({ description: 'one batch per name and key until 24 h after its end' }),
  priority: z.int().min(0).max(9).optional(),
  weight: z
    .int()
    .min(1)
    .max(mostWeight)
    .optional()
    .meta({ description: 'items in one turn, in a queue whose batches take turns' }),
  group_key: text.optional(),
  run_at: anyInstant.optional(),
  delay_seconds: z.number().min(0).max(3_155_760_000).optional(),
  queue: z
    .string()
    .min(1)
    .max(100)
    .optional()
    .meta({ description: 'an existing queue, in place of the queue of the kind' }),
  ...policyFields,
  retention_seconds: retentionSeconds.optional(),
})

const submitted = z.object({
  id: z.string(),
  created: z.boolean().meta({ description: 'false: the batch already existed with this key' }),
  total: z.number().int(),
  duplicates: z.number().int().meta({ description: 'items without a new job, because another job has the key' }),
})

/** Throws 404 also for the id of a job. */
async function batchOf(engine: Engine, id: string): Promise<BatchView> {
  const found = await engine.batch(id)
  if (found === null) throw new RetomaError('not_found', { what: localized('batch', 'lote'), id })
  return found
}

/** Converts the body to the engine's options: lists for all items, and optional fields. */
function optionsOf(body: z.output<typeof submit>) {
  const { key, priority, group_key: groupKey, run_at: runAt, delay_seconds: delay, refs } = body
  const refuse = (field: string, en: string, pt: string) => {
    throw new RetomaError('bad_request', { field, problem: localized(en, pt) })
  }
  if (refs !== undefined && refs.length !== body.items.length)
    refuse('refs', 'it has one for each item, or is left out', 'tem um para cada item, ou fica de fora')
  if (runAt !== undefined && delay !== undefined)
    refuse('delay_seconds', 'give either run_at or delay_seconds, not both', 'use run_at ou delay_seconds, um só')
  const items = policyOf(body)
  return omitUndefined({
    key,
    priority,
    weight: body.weight,
    groupKey,
    queue: body.queue,
    items: Object.keys(items).length === 0 ? undefined : items,
    retention: retentionOf(body.retention_seconds),
    runAt: runAt === undefined ? undefined : new Date(runAt),
    delay: delay === undefined ? undefined : seconds(delay),
    ref: refs && ((_: unknown, index: number) => refs[index]!),
  })
}

export const batchRoutes: readonly Route[] = [
  route({
    method: 'post',
    path: '/api/v1/batches',
    name: 'submitBatch',
    tag: 'batches',
    summary: 'Submits a batch: each input becomes a job, and the jobs have one progress',
    role: 'operator',
    body: submit,
    largest: 16 * megabyte,
    answer: submitted,
    status: 201,
    makes: true,
    errors: [
      'unknown_batch',
      'unknown_queue',
      'internal_kind',
      'bad_input',
      'input_too_large',
      'bad_option',
      'queue_full',
      'not_found',
      'other_list',
      'batch_cancelled',
      'batch_state',
      'batch_went_back',
    ],
    async run({ engine, body, once }) {
      const definition = internalsOf(engine).batchNamed(body.name)
      refuseInternal(definition.job)
      const ownKey = once !== undefined && body.key === undefined
      const options = ownKey ? { ...optionsOf(body), key: keyOf(once), whole: true } : optionsOf(body)
      // All inputs are validated before the first insert: a list with a bad item leaves nothing behind.
      const { job } = definition
      for (const input of body.items) refuseWideInput(input)
      await checkedInputs(
        body.items.map(input => ({ job, input })),
        true,
      )
      if (body.queue !== undefined) await internalsOf(engine).findQueue(body.queue)
      const made = await engine.submit(definition, body.items, options)
      // With a key derived from the idempotent request, an existing batch was created by the same request, whose response never arrived.
      return ownKey ? { ...made, created: true } : made
    },
  }),
  route({
    method: 'get',
    path: '/api/v1/batches',
    name: 'listBatches',
    tag: 'batches',
    summary: 'Lists batches, the newest first',
    role: 'viewer',
    query: z.strictObject({
      state: batchState.optional(),
      name: z.string().max(100).optional(),
      ...pageQuery,
    }),
    answer: pageOf(batch),
    errors: ['bad_option'],
    async run({ engine, query, who }) {
      const { items, next } = await engine.batches.list(
        omitUndefined({ ...query, except: await hiddenKinds(engine, who) }),
      )
      return { items: items.map(batchWire), next }
    },
  }),
  route({
    method: 'get',
    path: '/api/v1/batches/{id}',
    name: 'getBatch',
    tag: 'batches',
    summary: 'Gets a batch with state, counts, rate and time left',
    role: 'viewer',
    params: idParams,
    answer: batch,
    errors: ['not_found'],
    run: async ({ engine, params }) => batchWire(await batchOf(engine, params.id)),
  }),
  ...explainRoutes({
    path: '/api/v1/batches/{id}/explain',
    name: 'explainBatch',
    tag: 'batches',
    summary: 'Explains why a batch does not advance, and whether to wait or to run an action',
    params: idParams,
    unknown: 'not_found',
    target: ({ id }) => ({ batch: id }),
  }),
]
