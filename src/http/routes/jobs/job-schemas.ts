/** Schemas of jobs in requests and responses. */
import { z } from 'zod'
import { localized } from '../../../errors/errors.ts'
import { finalStates, states } from '../../../jobs/model/state.ts'
import { cost, instant } from '../../shared-schemas.ts'

export const jobState = z.enum(states)

const stack = z.string().nullable().meta({ description: 'for operators and admins; null for viewers' })

export const error = z.looseObject({
  type: z.string().meta({ description: 'error, timeout, crash, orphan, hung, stalled …' }),
  message: z.string(),
  code: z.string().nullable(),
  stack,
  cause: z.string().optional(),
})

const whole = z.object({
  bytes: z.number().int().meta({ description: 'bytes of the value in the table, where large values are compressed' }),
  href: z.string().meta({ description: 'the path of the whole value, below the mount path of the API' }),
})

/** In a list, a value of more than 2,000 bytes is null, and the message and the stack of an error are cut. */
export const omitted = z
  .object({ input: whole, result: whole, progress: whole, error: whole })
  .partial()
  .nullable()
  .meta({ description: 'large values that this list omits or cuts; null: none' })

const durationSeconds = z.number().min(0)

const policyOverride = z
  .object({
    max_attempts: z.number().int(),
    backoff: z.object({
      first_seconds: durationSeconds,
      factor: z.number(),
      max_seconds: durationSeconds,
      jitter: z.number(),
    }),
    timeout_seconds: durationSeconds,
  })
  .partial()
  .nullable()
  .meta({ description: 'options of the enqueue in place of the options of the kind; null: none' })

export const job = z
  .object({
    id: z.string(),
    queue: z.string(),
    kind: z.string(),
    version: z.number().int(),
    key: z.string().nullable(),
    ref: z.string().nullable(),
    batch_id: z.string().nullable(),
    group_key: z.string().nullable(),
    state: jobState,
    priority: z.number().int(),
    attempt: z.number().int().meta({ description: 'claims so far, with the claims that did not count as an attempt' }),
    starts: z.number().int().meta({ description: 'starts of the handler so far' }),
    failures: z.number().int(),
    crashes: z.number().int(),
    restarts: z.number().int(),
    crash_suspicion: z.unknown(),
    run_at: instant,
    policy_override: policyOverride,
    retention_seconds: z
      .partialRecord(z.enum(finalStates), durationSeconds)
      .nullable()
      .meta({ description: 'by final state, of the enqueue or of the kind; null: as the engine keeps jobs' }),
    input: z.unknown(),
    result: z.unknown(),
    progress: z.unknown(),
    checkpoint: z.string().nullable(),
    error: error.nullable(),
    omitted,
    worker: z.string().nullable(),
    created_at: instant,
    started_at: instant.nullable(),
    finished_at: instant.nullable(),
  })
  .meta({ id: 'Job' })

const attempt = z.object({
  attempt: z.number().int(),
  outcome: z
    .string()
    .nullable()
    .meta({ description: 'null: the attempt was released or recovered, and is not counted' }),
  code: z.string().nullable(),
  message: z.string().nullable(),
  worker: z.string().nullable(),
  started_at: instant
    .nullable()
    .meta({ description: 'null: an earlier attempt that was released, and is not counted' }),
  ended_at: instant.nullable(),
})

const failure = z.object({
  attempt: z.number().int(),
  type: z.string(),
  code: z.string().nullable(),
  message: z.string(),
  stack,
  evidence: z.record(z.string(), z.unknown()).nullable(),
  worker: z.string().nullable(),
  started_at: instant.nullable().meta({ description: 'start of the attempt' }),
  at: instant,
})

const checkpoint = z.object({
  name: z.string(),
  attempt: z.number().int(),
  at: instant,
  bytes: z.number().int(),
  sleep_until: instant.nullable(),
})

export const checkpointValue = checkpoint
  .omit({ bytes: true, sleep_until: true })
  .extend({ value: z.unknown() })
  .meta({ id: 'CheckpointValue' })

export const logLine = z
  .object({
    attempt: z.number().int(),
    n: z.number().int().meta({ description: 'number of the line in the attempt; the last 200 lines are kept' }),
    at: instant,
    level: z.enum(['info', 'warn', 'error']),
    message: z.string(),
    facts: z.record(z.string(), z.unknown()).nullable(),
  })
  .meta({ id: 'JobLogLine' })

export const jobDetail = job
  .omit({ omitted: true })
  .extend({
    omitted: omitted.optional().meta({ description: 'with `values=short`: what is left out because it is large' }),
    attempts: z.array(attempt).meta({ description: 'the last thousand' }),
    history: z.array(failure).meta({ description: 'the last thousand failures, the last hundred with their stacks' }),
    checkpoints: z.array(checkpoint),
    cost: cost.meta({ description: 'what all attempts have cost (`ctx.cost`), by currency; empty: none' }),
    events: z.array(z.object({ type: z.string(), at: instant, data: z.record(z.string(), z.unknown()) })),
    timeline: z.array(z.looseObject({ at: instant, attempt: z.number().int().nullable(), type: z.string() })),
  })
  .meta({ id: 'JobDetail' })

/** A button without a text box sends no reason. */
export const skipBody = z.strictObject({ reason: z.string().min(1).max(1000).optional() }).optional()
export const noReason = localized('no reason was given', 'sem motivo informado')

export const jobActionResult = z
  .object({
    id: z.string(),
    state: jobState,
    changed: z.boolean().meta({ description: 'false: the action had nothing to change' }),
  })
  .meta({ id: 'JobActionResult' })
