/**
 * Enqueues jobs over HTTP: a job, or many jobs of any kinds, all or none. With an Idempotency-Key the response is stored in the
 * transaction that creates the jobs, so that a client without the response repeats the request and gets the same jobs.
 */

import { z } from 'zod'
import type { Engine, EnqueuedJob, JobRequest, StoredResponse } from '../../../engine/create-engine.ts'
import { internalsOf } from '../../../engine/internals.ts'
import { isRetomaError, localized, RetomaError } from '../../../errors/errors.ts'
import { longestDuration, seconds } from '../../../lib/values/duration.ts'
import { policyFields, policyOf, retentionOf, retentionSeconds } from '../../policy-schemas.ts'
import { answerExactly } from '../../request/idempotency-key.ts'
import { refuseWideInput } from '../../request/input-width.ts'
import { refuseInternal } from '../../request/internal-kinds.ts'
import { omitUndefined } from '../../request/omit-undefined.ts'
import { type Route, route } from '../../route.ts'
import { anyInstant } from '../../shared-schemas.ts'
import { jobState } from './job-schemas.ts'

const most = 10_000
const largest = 16 * 1024 * 1024

const text = z.string().min(1).max(500)

const order = z.strictObject({
  kind: z.string().min(1).max(100),
  input: z.unknown().optional(),
  key: text.optional().meta({ description: 'one job per kind and key until 24 h after its end' }),
  key_until: z.enum(['day', 'final']).optional(),
  priority: z.int().min(0).max(9).optional(),
  run_at: anyInstant.optional(),
  delay_seconds: z
    .number()
    .min(0)
    .max(longestDuration / 1000)
    .optional(),
  group_key: text.optional().meta({ description: 'the tenant or user of the job' }),
  ref: text.optional().meta({ description: 'your own code for the job' }),
  queue: z
    .string()
    .min(1)
    .max(100)
    .optional()
    .meta({ description: 'an existing queue, in place of the queue of the kind' }),
  ...policyFields,
  retention_seconds: retentionSeconds.optional(),
})

const orders = z.array(order).min(1).max(most)

const made = z.object({
  id: z.string(),
  created: z.boolean().meta({ description: 'false: the job already existed with this key' }),
  state: jobState,
})
const madeMany = z.object({ items: z.array(made), created: z.number().int(), duplicates: z.number().int() })

/** `at`: the path of the job in the body. */
function orderOf(engine: Engine, asked: z.output<typeof order>, at: string): JobRequest {
  const {
    kind,
    input,
    key,
    key_until: keyUntil,
    priority,
    run_at,
    delay_seconds,
    group_key: groupKey,
    ref,
    queue,
  } = asked
  const refuse = (field: string, en: string, pt: string) => {
    throw new RetomaError('bad_request', { field: at + field, problem: localized(en, pt) })
  }
  if (run_at !== undefined && delay_seconds !== undefined)
    refuse('delay_seconds', 'give either run_at or delay_seconds, not both', 'use run_at ou delay_seconds, um só')
  if (keyUntil !== undefined && key === undefined) refuse('key_until', 'it goes with key', 'vai com key')
  const job = internalsOf(engine).kind(kind)
  refuseInternal(job)
  refuseWideInput(input)
  const runAt = run_at === undefined ? undefined : new Date(run_at)
  const delay = delay_seconds === undefined ? undefined : seconds(delay_seconds)
  const options = { key, keyUntil, priority, runAt, delay, groupKey, ref, queue, ...policyOf(asked) }
  return { job, input, options: omitUndefined({ ...options, retention: retentionOf(asked.retention_seconds) }) }
}

/** For many jobs, adds the path of the refused input in the body. */
const refusedAt = (root: string) => (error: unknown) => {
  if (!isRetomaError(error, 'bad_input') && !isRetomaError(error, 'input_too_large')) throw error
  const { kind, problem, item } = error.facts
  if (item === undefined) throw error
  const facts = { kind: kind!, problem: problem!, field: `${root}[${item}].input` }
  throw new RetomaError(error.code, facts)
}

/** For many jobs: in the order of the list. `created` is then a number, so the status is 201 even if every job existed already. */
const answerOf = (made: readonly EnqueuedJob[], isOne: boolean) => {
  if (isOne) return made[0]!
  const created = made.filter(each => each.created).length
  return { items: made, created, duplicates: made.length - created }
}

export const enqueueRoutes: readonly Route[] = [
  route({
    method: 'post',
    path: '/api/v1/jobs',
    name: 'enqueueJobs',
    tag: 'jobs',
    summary: 'Enqueues one job, or up to 10,000 jobs of any kinds: all or none',
    role: 'operator',
    body: z.union([order, orders, z.strictObject({ jobs: orders })]),
    largest,
    answer: z.union([made, madeMany]),
    status: 201,
    makes: 'exactly',
    errors: [
      'unknown_kind',
      'unknown_queue',
      'internal_kind',
      'bad_input',
      'input_too_large',
      'bad_option',
      'queue_full',
      'key_locked',
    ],
    async run({ engine, body, once, headers }) {
      const isOne = !Array.isArray(body) && !('jobs' in body)
      const list = Array.isArray(body) ? body : 'jobs' in body ? body.jobs : [body]
      const root = Array.isArray(body) ? '' : 'jobs'
      const asked = list.map((each, index) => orderOf(engine, each, isOne ? '' : `${root}[${index}].`))
      if (once === undefined)
        return answerOf(await internalsOf(engine).enqueueTogether(asked).catch(refusedAt(root)), isOne)
      const make = (keep: (made: EnqueuedJob[]) => StoredResponse) =>
        internalsOf(engine).enqueueOnce(asked, once, keep).catch(refusedAt(root))
      return answerExactly(headers, make, made => answerOf(made, isOne))
    },
  }),
]
