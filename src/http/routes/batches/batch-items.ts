/** Routes of the items of a batch: lists of items and failures, and the actions on an item. */

import { z } from 'zod'
import type { Engine } from '../../../engine/create-engine.ts'
import { internalsOf } from '../../../engine/internals.ts'
import { localized, RetomaError } from '../../../errors/errors.ts'
import type { ItemFilter, ItemPageOptions, JobView } from '../../../index.ts'
import { batchActionWire, failureGroupWire, itemMapWire, jobWire, omittedWire } from '../../../json-views.ts'
import { omitUndefined } from '../../request/omit-undefined.ts'
import { paged } from '../../response/page-of-list.ts'
import { type Route, route } from '../../route.ts'
import { redactForRole } from '../../security/redact-for-role.ts'
import { idParams, instant, pageOf, pageQuery } from '../../shared-schemas.ts'
import { job, jobActionResult, jobState, noReason, skipBody } from '../jobs/job-schemas.ts'
import { cause, failure, failureGroup } from './batch-schemas.ts'

/** For a page of items that is empty so far. */
const mostReads = 20
const longestMs = 100

const itemParams = z.object({ id: z.string(), item: z.string() })

function failureWire({ id, ref, attempt, failures, error, finishedAt, omitted }: JobView) {
  const { type, code, message, stack, cause } = error ?? unknown
  const cut = omitted?.error === undefined ? null : omittedWire(id, { error: omitted.error })
  return {
    item: id,
    ref,
    attempt,
    failures,
    type,
    code,
    message,
    stack,
    cause: cause ?? '',
    omitted: cut,
    at: finishedAt,
  }
}

const unknown = { type: 'error', code: null, message: '', stack: null, cause: '' }

/** Throws 404 if the job is not an item of this batch. */
async function refuseOthers(engine: Engine, batch: string, id: string): Promise<void> {
  const job = await internalsOf(engine).jobListed(id)
  if (job === null || job.batchId !== batch) throw new RetomaError('not_found', { what: localized('item', 'item'), id })
}

/**
 * Each call of the engine examines only a part of a large batch: repeats until there are items, no more pages, or `longestMs` have passed.
 * A client then continues with `next`, and other requests get their turn.
 */
async function pageOfItems(engine: Engine, batch: string, filter: ItemFilter & ItemPageOptions) {
  const { clock } = internalsOf(engine)
  const began = clock.now().getTime()
  const isLate = () => clock.now().getTime() - began > longestMs
  for (let { after, offset } = filter, left = mostReads; ; left--) {
    const page = await engine.batches.items(batch, omitUndefined({ ...filter, after, offset }))
    if (page.items.length > 0 || page.next === null || left === 0 || isLate()) return page
    after = page.next
    offset = undefined
  }
}

export const batchItemRoutes: readonly Route[] = [
  route({
    method: 'get',
    path: '/api/v1/batches/{id}/items',
    name: 'listItems',
    tag: 'batches',
    summary:
      'Lists the items of a batch in order; failed items by cause. A page may have fewer items than `limit` although `next` is set',
    role: 'viewer',
    heavy: true,
    params: idParams,
    query: z.strictObject({
      state: jobState.optional(),
      cause: cause.optional(),
      ref: z
        .string()
        .min(1)
        .max(500)
        .optional()
        .meta({ description: 'how their refs begin; without cause, and without the states failed, running, stalled' }),
      offset: z.coerce
        .number()
        .int()
        .min(0)
        .max(2 ** 31 - 1)
        .optional()
        .meta({ description: 'the place in the list to begin at, from 0; with limit alone' }),
      ...pageQuery,
    }),
    answer: pageOf(job),
    errors: ['not_found', 'bad_option'],
    async run({ engine, params, query, who }) {
      if (query.cause !== undefined && (query.state ?? 'failed') !== 'failed')
        throw new RetomaError('bad_request', {
          field: 'cause',
          problem: localized('only failed items have one', 'só itens com erro têm uma'),
        })
      const filter = query.cause === undefined ? query : { ...query, state: 'failed' as const }
      const { items, next } = await pageOfItems(engine, params.id, omitUndefined(filter))
      return { items: redactForRole(who, items.map(jobWire)), next }
    },
  }),
  route({
    method: 'get',
    path: '/api/v1/batches/{id}/map',
    name: 'getItemMap',
    tag: 'batches',
    summary:
      'Gets the states of the items as letters: one letter for each item up to 5,000 items, samples of 1,000 cells above',
    role: 'viewer',
    heavy: true,
    params: idParams,
    answer: z.object({
      id: z.string(),
      total: z.number().int(),
      items_per_cell: z.number().meta({ description: 'items of a cell; 1: a cell is an item' }),
      samples_per_cell: z.number().int().meta({ description: 'letters of a cell' }),
      states: z.string().meta({
        description:
          'in the order of the list: w waiting, r running, t stalled, s succeeded, f failed, k skipped, c cancelled, - erased',
      }),
    }),
    errors: ['not_found'],
    run: async ({ engine, params }) => itemMapWire(await engine.batches.map(params.id)),
  }),
  route({
    method: 'get',
    path: '/api/v1/batches/{id}/actions',
    name: 'listBatchActions',
    tag: 'batches',
    summary: 'Lists the actions of people on a batch and its items, the newest first',
    role: 'viewer',
    params: idParams,
    query: z.strictObject(pageQuery),
    answer: pageOf(
      z
        .object({
          id: z.string(),
          at: instant,
          job_id: z.string().nullable().meta({ description: 'null: the action is of the batch itself' }),
          who: z.string().nullable(),
          what: z.string(),
          data: z.record(z.string(), z.unknown()),
        })
        .meta({ id: 'BatchAction' }),
    ),
    errors: ['not_found', 'bad_option'],
    async run({ engine, params, query }) {
      const { items, next } = await engine.batches.actions(params.id, omitUndefined(query))
      return { items: items.map(batchActionWire), next }
    },
  }),
  route({
    method: 'post',
    path: '/api/v1/batches/{id}/items/{item}/skip',
    name: 'skipItem',
    tag: 'batches',
    summary: 'Skips an item: the item ends as `skipped`, with the reason',
    role: 'operator',
    params: itemParams,
    body: skipBody,
    answer: jobActionResult,
    errors: ['not_found', 'wrong_state'],
    async run({ engine, params, body, who, language }) {
      await refuseOthers(engine, params.id, params.item)
      return engine.jobs.skip(params.item, body?.reason ?? noReason[language], { by: who.user })
    },
  }),
  route({
    method: 'post',
    path: '/api/v1/batches/{id}/items/{item}/retry',
    name: 'retryItem',
    tag: 'batches',
    summary: 'Retries a failed, skipped or cancelled item with a new budget of attempts; saved steps stay',
    role: 'operator',
    params: itemParams,
    answer: jobActionResult,
    errors: ['not_found', 'wrong_state', 'key_reserved', 'batch_cancelled'],
    async run({ engine, params, who }) {
      await refuseOthers(engine, params.id, params.item)
      return engine.jobs.retry(params.item, { by: who.user })
    },
  }),
  route({
    method: 'get',
    path: '/api/v1/batches/{id}/failures',
    name: 'listFailures',
    tag: 'batches',
    summary: 'Lists the failed items of a batch by cause, each with its last error',
    role: 'viewer',
    heavy: true,
    params: idParams,
    query: z.strictObject({ cause: cause.optional(), ...pageQuery }),
    answer: pageOf(failure),
    errors: ['not_found', 'bad_option'],
    async run({ engine, params, query, who }) {
      const { items, next } = await engine.batches.items(
        params.id,
        omitUndefined({ ...query, state: 'failed' as const }),
      )
      return { items: redactForRole(who, items.map(failureWire)), next }
    },
  }),
  route({
    method: 'get',
    path: '/api/v1/batches/{id}/failures/causes',
    name: 'listFailureCauses',
    tag: 'batches',
    summary:
      'Groups the failed items of a batch by cause, the most frequent first, with an example and some refs; at most 100 causes',
    role: 'viewer',
    heavy: true,
    params: idParams,
    query: z.strictObject(pageQuery),
    answer: pageOf(failureGroup),
    errors: ['not_found'],
    async run({ engine, params, query }) {
      const { items, next } = paged(await engine.batches.failures(params.id), each => each.cause, query)
      return { items: items.map(failureGroupWire), next }
    },
  }),
]
