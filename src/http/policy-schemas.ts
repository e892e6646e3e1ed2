/** Schemas of the policy and of the retention in requests, with durations in seconds. */
import { z } from 'zod'
import type { EnqueueOptions, ItemOptions, Retention } from '../index.ts'
import { longestDuration, seconds } from '../lib/values/duration.ts'
import { omitUndefined } from './request/omit-undefined.ts'

const duration = z
  .number()
  .min(0.001)
  .max(longestDuration / 1000)

export const policyFields = {
  max_attempts: z.int().min(1).max(1_000_000).optional().meta({ description: 'in place of maxAttempts of the kind' }),
  backoff: z
    .strictObject({
      first_seconds: duration.or(z.literal(0)).optional(),
      factor: z.number().min(1).max(100).optional(),
      max_seconds: duration.optional(),
      jitter: z.number().min(0).max(1).optional(),
    })
    .optional()
    .meta({ description: 'in place of the backoff of the kind, part by part' }),
  timeout_seconds: duration.optional().meta({ description: 'in place of the timeout of the kind' }),
}

/** Throws nothing: the engine checks the options again. */
export function policyOf(asked: z.output<z.ZodObject<typeof policyFields>>): PolicyOfRequest {
  const { max_attempts: maxAttempts, backoff, timeout_seconds: timeout } = asked
  return omitUndefined({
    maxAttempts,
    backoff:
      backoff &&
      omitUndefined({
        first: optionalSeconds(backoff.first_seconds),
        factor: backoff.factor,
        max: optionalSeconds(backoff.max_seconds),
        jitter: backoff.jitter,
      }),
    timeout: optionalSeconds(timeout),
  })
}

type PolicyOfRequest = Pick<EnqueueOptions & ItemOptions, 'maxAttempts' | 'backoff' | 'timeout'>

const kept = duration.optional()

export const retentionSeconds = z
  .union([duration, z.strictObject({ succeeded: kept, failed: kept, skipped: kept, cancelled: kept })])
  .meta({ description: 'the retention after the final state: one value, or a value for each final state' })

export function retentionOf(asked: z.output<typeof retentionSeconds> | undefined): Retention | undefined {
  if (asked === undefined) return undefined
  if (typeof asked === 'number') return seconds(asked)
  const { succeeded, failed, skipped, cancelled } = asked
  return omitUndefined({
    succeeded: optionalSeconds(succeeded),
    failed: optionalSeconds(failed),
    skipped: optionalSeconds(skipped),
    cancelled: optionalSeconds(cancelled),
  })
}

const optionalSeconds = (value: number | undefined) => (value === undefined ? undefined : seconds(value))
