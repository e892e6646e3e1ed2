/** Batches, their items and what failed of them, as they are answered. */
import { z } from 'zod'
import { batchStates } from '../../core/batch-state.ts'
import { states } from '../../core/state.ts'
import { instant } from '../contract.ts'

export const batchState = z.enum(batchStates)
export const itemState = z.enum(states)

/** What failures of one trouble have in common; empty for those without one. */
export const cause = z
  .string()
  .regex(/^[0-9a-f]{0,40}$/)
  .meta({ description: 'as failures/causes names it' })

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
      .meta({ description: 'why it is paused, stalled or failed: a code and its facts' }),
    priority: count,
    total: count,
    waiting: count,
    running: count,
    stalled: count,
    succeeded: count,
    failed: count,
    skipped: count,
    cancelled: count,
    percent: z.number().nullable().meta({ description: 'of a hundred, how many are final; null: it has no items' }),
    rate: z.number().nullable().meta({ description: 'items a second, lately' }),
    eta_seconds: z.number().nullable(),
    progress_at: instant.nullable().meta({ description: 'when the last attempt of an item ended' }),
    last_ref: z.string().nullable(),
    resumes: count,
    max_resumes: count,
    taken: count.meta({ description: 'how far into its list the submit has come' }),
    following: z.boolean().meta({ description: 'items still follow what was pressed' }),
    complete_job: z.string().nullable(),
    created_at: instant,
    submitted_at: instant.nullable(),
    finished_at: instant.nullable(),
  })
  .meta({ id: 'Batch' })

const failed = {
  what: z.string().meta({ description: 'error, timeout, crash, orphan, hung, stalled …' }),
  message: z.string(),
  code: z.string().nullable(),
  stack: z.string().nullable().meta({ description: 'for operators and admins; null for viewers' }),
  cause: z.string().optional(),
}

export const item = z
  .object({
    id: z.string(),
    queue: z.string(),
    kind: z.string(),
    version: count,
    key: z.string().nullable(),
    ref: z.string().nullable(),
    batch_id: z.string().nullable(),
    group_key: z.string().nullable(),
    state: itemState,
    priority: count,
    attempt: count,
    failures: count,
    crashes: count,
    restarts: count,
    care: z.looseObject({}).nullable(),
    run_at: instant,
    input: z.unknown(),
    result: z.unknown(),
    progress: z.unknown(),
    checkpoint: z.string().nullable(),
    error: z.looseObject(failed).nullable(),
    worker: z.string().nullable(),
    created_at: instant,
    started_at: instant.nullable(),
    finished_at: instant.nullable(),
  })
  .meta({ id: 'Item' })

export const failure = z
  .object({
    item: z.string(),
    ref: z.string().nullable(),
    attempt: count,
    failures: count,
    ...failed,
    cause: z.string(),
    at: instant.nullable(),
  })
  .meta({ id: 'Failure' })

export const failureGroup = z
  .object({
    cause: z.string(),
    count,
    more: z.boolean().meta({ description: 'there are more than are counted' }),
    code: z.string().nullable(),
    message: z.string().nullable().meta({ description: 'of one of them' }),
    refs: z.array(z.string()).meta({ description: 'of some of them' }),
    last_at: instant.nullable(),
  })
  .meta({ id: 'FailureGroup' })
