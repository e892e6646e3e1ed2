/** Schemas of batches and of failed items in responses. An item is a job. */
import { z } from 'zod'
import { batchStates } from '../../../batches/model/batch-state.ts'
import { cost, instant } from '../../shared-schemas.ts'
import { error, omitted } from '../jobs/job-schemas.ts'

export const batchState = z.enum(batchStates)

/** The error fingerprint; empty for failures without a fingerprint. */
export const cause = z
  .string()
  .regex(/^[0-9a-f]{0,40}$/)
  .meta({ description: 'a cause from failures/causes' })

const count = z.number().int()

export const batch = z
  .object({
    id: z.string(),
    name: z.string(),
    key: z.string().nullable(),
    kind: z.string(),
    queue: z.string(),
    state: batchState,
    reason: z
      .looseObject({ code: z.string() })
      .nullable()
      .meta({ description: 'the reason of a paused, stalled or failed batch: a code with facts' }),
    priority: count,
    total: count,
    waiting: count,
    running: count,
    stalled: count,
    succeeded: count,
    failed: count,
    skipped: count,
    cancelled: count,
    percent: z
      .number()
      .nullable()
      .meta({ description: 'percentage of items in a final state; null: the batch has no items' }),
    rate: z.number().nullable().meta({ description: 'items a second, lately' }),
    eta_seconds: z.number().nullable(),
    progress_at: instant.nullable().meta({ description: 'when the last attempt of an item ended' }),
    last_ref: z.string().nullable(),
    cost: cost.meta({ description: 'what all attempts of the items have cost (`ctx.cost`), by currency; empty: none' }),
    resumes: count,
    max_resumes: count,
    items_received: count.meta({ description: 'items that the submit has sent so far' }),
    following: z.boolean().meta({ description: 'a cascade over the items is under way' }),
    complete_job: z.string().nullable(),
    created_at: instant,
    submitted_at: instant.nullable(),
    finished_at: instant.nullable(),
  })
  .meta({ id: 'Batch' })

export const failure = z
  .object({
    item: z.string(),
    ref: z.string().nullable(),
    attempt: count,
    failures: count,
    ...error.shape,
    cause: z.string(),
    omitted,
    at: instant.nullable(),
  })
  .meta({ id: 'Failure' })

export const failureGroup = z
  .object({
    cause: z.string(),
    count,
    more: z.boolean().meta({ description: 'the count is a lower bound' }),
    code: z.string().nullable(),
    message: z.string().nullable().meta({ description: 'the message of a failure of the group' }),
    refs: z.array(z.string()).meta({ description: 'refs of some items of the group' }),
    last_at: instant.nullable(),
  })
  .meta({ id: 'FailureGroup' })
