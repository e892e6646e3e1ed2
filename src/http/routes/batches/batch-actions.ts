/**
 * Routes of the batch actions. An action is safe to repeat and safe for many callers at once; a batch in the wrong state is 409 with the
 * code.
 */
import { z } from 'zod'
import type { Engine } from '../../../engine/create-engine.ts'
import type { ErrorCode } from '../../../errors/errors.ts'
import { omitUndefined } from '../../request/omit-undefined.ts'
import { type Route, route } from '../../route.ts'
import { idParams } from '../../shared-schemas.ts'
import { batchState, cause } from './batch-schemas.ts'

const afterwards = {
  id: z.string(),
  state: batchState,
  changed: z.boolean().meta({ description: 'by this call' }),
}
const count = z.number().int()

interface ActionRoute<B extends z.ZodType> {
  path: string
  name: string
  summary: string
  errors: readonly ErrorCode[]
  body?: B
  /** Further fields of the response. */
  more?: z.ZodRawShape
  apply(on: { engine: Engine; by: { by: string }; id: string; body: z.output<B> }): Promise<unknown>
}

const actionRoute = <B extends z.ZodType = z.ZodUndefined>({
  path,
  more = {},
  apply,
  ...about
}: ActionRoute<B>): Route =>
  route({
    method: 'post',
    path: `/api/v1/batches/{id}/${path}`,
    tag: 'batches',
    role: 'operator',
    params: idParams,
    ...about,
    errors: ['not_found', ...about.errors],
    answer: z.object({ ...afterwards, ...more }),
    run: ({ engine, params: { id }, body, who }) =>
      apply({ engine, by: { by: who.user }, id, body: body as z.output<B> }),
  })

export const batchActionRoutes: readonly Route[] = [
  actionRoute({
    path: 'resume',
    name: 'resumeBatch',
    summary: 'Resumes a paused or a stalled batch; a resume of a stalled batch is counted',
    errors: ['resumes_spent', 'batch_cancelled', 'batch_state'],
    more: { resumed: count.meta({ description: 'items without a final state, which continue' }) },
    apply: ({ engine, by, id }) => engine.batches.resume(id, by),
  }),
  actionRoute({
    path: 'retry-failed',
    name: 'retryFailed',
    summary: 'Retries the failed items of a batch, or the failed items of one cause, with a new budget of attempts',
    errors: ['batch_cancelled'],
    body: z.strictObject({ cause: cause.optional() }).optional(),
    more: {
      retried: count.meta({ description: 'items that wait again' }),
      conflicts: count.meta({ description: 'items whose key another job has by now, which stay failed' }),
    },
    apply: ({ engine, by, id, body }) => engine.batches.retryFailed(id, omitUndefined({ ...by, cause: body?.cause })),
  }),
  actionRoute({
    path: 'pause',
    name: 'pauseBatch',
    summary: 'Pauses a batch: no further item starts; running items continue',
    errors: ['batch_cancelled', 'batch_state'],
    apply: ({ engine, by, id }) => engine.batches.pause(id, by),
  }),
  actionRoute({
    path: 'cancel',
    name: 'cancelBatch',
    summary: 'Cancels a batch at once; items follow in chunks, and running attempts lose their lease',
    errors: ['batch_state'],
    apply: ({ engine, by, id }) => engine.batches.cancel(id, by),
  }),
  actionRoute({
    path: 'priority',
    name: 'setBatchPriority',
    summary: 'Changes the priority of the waiting and future items of a batch: 0 is first, 9 last',
    errors: ['batch_cancelled', 'batch_state'],
    body: z.strictObject({ priority: z.int().min(0).max(9) }),
    more: { moved: count },
    apply: ({ engine, by, id, body }) => engine.batches.setPriority(id, body.priority, by),
  }),
]
