/** Routes to list, read and explain jobs. enqueue-jobs.ts enqueues jobs, job-actions.ts has the job actions. */

import { z } from 'zod'
import type { Engine } from '../../../engine/create-engine.ts'
import { internalsOf } from '../../../engine/internals.ts'
import { localized, RetomaError } from '../../../errors/errors.ts'
import type { JobDetail, JobView, ListPage } from '../../../index.ts'
import { jobDetailWire, jobWire, logLineWire, omittedWire } from '../../../json-views.ts'
import { jsonText } from '../../response/json-response.ts'
import { type Principal, type Route, route } from '../../route.ts'
import { hiddenKinds, refuseHiddenBatch } from '../../security/private-kinds.ts'
import { redactForRole } from '../../security/redact-for-role.ts'
import { anyInstant, idParams, pageOf, pageQuery } from '../../shared-schemas.ts'
import { explainRoutes } from '../explain.ts'
import { checkpointValue, job, jobDetail, jobState, logLine } from './job-schemas.ts'

const text = z.string().min(1).max(500)

const listQuery = z.strictObject({
  state: jobState.optional(),
  kind: text.optional(),
  queue: text.optional(),
  group_key: text.optional(),
  ref: text.optional(),
  key: text.optional().meta({ description: 'the job with this unique key, of each kind' }),
  batch_id: text.optional().meta({ description: 'with state alone; oldest first' }),
  created_before: anyInstant.optional(),
  created_after: anyInstant.optional(),
  error: text.optional().meta({ description: 'a text in the message of the last error, or its code' }),
  worker: text.optional().meta({ description: 'the running jobs of this worker' }),
  ...pageQuery,
})

/** Throws 404 also for the id of a batch. */
export async function jobOf(engine: Engine, id: string): Promise<JobView> {
  return known(await internalsOf(engine).jobListed(id), id)
}

function known<T>(found: T | null, id: string): T {
  if (found === null) throw new RetomaError('not_found', { what: 'job', id })
  return found
}

/** Input, result and progress are already JSON texts: each may have megabytes and is passed on unparsed. */
function detailText(who: Principal, { input, result, progress, ...job }: JobDetail, isShort: boolean): string {
  const wire: Record<string, unknown> = {
    ...jobDetailWire({ ...job, input: null, result: null, progress: null }),
    ...(isShort ? { omitted: omittedWire(job.id, job.omitted) } : {}),
  }
  const { input: _, result: __, progress: ___, ...others } = wire
  const fields = Object.entries({ input, result, progress }).map(([name, text]) => `,"${name}":${text ?? 'null'}`)
  return `${JSON.stringify(redactForRole(who, others)).slice(0, -1)}${fields.join('')}}`
}

async function list(engine: Engine, query: z.output<typeof listQuery>, who: Principal): Promise<ListPage<JobView>> {
  const { limit, after, state, batch_id: batch, ...others } = query
  const page = { limit, ...(after === undefined ? {} : { after }) }
  if (batch === undefined) {
    const except = await hiddenKinds(engine, who)
    const { kind, queue, group_key: groupKey, ref, key, created_before: before, created_after: from } = others
    const { error, worker } = others
    const createdBefore = before === undefined ? undefined : new Date(before)
    const createdAfter = from === undefined ? undefined : new Date(from)
    const filter = { state, kind, queue, groupKey, ref, key, createdBefore, createdAfter, error, worker, except }
    return engine.jobs.list({ ...filter, ...page })
  }
  for (const [field, value] of Object.entries(others)) {
    if (value !== undefined)
      throw new RetomaError('bad_request', {
        field,
        problem: localized('with batch_id there is only state', 'com batch_id só existe state'),
      })
  }
  await refuseHiddenBatch(engine, who, batch)
  return engine.batches.items(batch, { ...page, ...(state === undefined ? {} : { state }) })
}

export const jobRoutes: readonly Route[] = [
  route({
    method: 'get',
    path: '/api/v1/jobs',
    name: 'listJobs',
    tag: 'jobs',
    summary: 'Lists jobs by filter, the newest first. A page may have fewer jobs than `limit` although `next` is set',
    role: 'viewer',
    heavy: true,
    query: listQuery,
    answer: pageOf(job),
    errors: ['not_found', 'bad_option'],
    async run({ engine, query, who }) {
      const { items, next } = await list(engine, query, who)
      return { items: redactForRole(who, items.map(jobWire)), next }
    },
  }),
  route({
    method: 'get',
    path: '/api/v1/jobs/{id}',
    name: 'getJob',
    tag: 'jobs',
    summary: 'Gets a job with its attempts, failures, checkpoints and history',
    role: 'viewer',
    heavy: true,
    params: idParams,
    query: z.strictObject({
      values: z.enum(['all', 'short']).default('all').meta({
        description:
          'short: input, result and progress of more than 2,000 bytes are null, and `omitted` has their sizes',
      }),
    }),
    answer: jobDetail,
    errors: ['not_found'],
    async run({ engine, params: { id }, query: { values }, who, headers }) {
      const isShort = values === 'short'
      const { jobAsText, jobAsShortText } = internalsOf(engine)
      const found = await (isShort ? jobAsShortText(id) : jobAsText(id))
      return jsonText(detailText(who, known(found, id), isShort), 200, headers)
    },
  }),
  route({
    method: 'get',
    path: '/api/v1/jobs/{id}/checkpoints/{step}',
    name: 'getCheckpoint',
    tag: 'jobs',
    summary: 'Reads the saved value of a step of a job',
    // A step may have saved what was not meant to be read, such as an answer that was refused.
    role: 'operator',
    heavy: true,
    params: z.object({ id: z.string(), step: z.string() }),
    answer: checkpointValue,
    errors: ['not_found'],
    async run({ engine, params: { id, step }, headers }) {
      const found = await internalsOf(engine).checkpointAsText(id, step)
      if (found === null) {
        await jobOf(engine, id)
        throw new RetomaError('not_found', { what: 'checkpoint', id: `${id}/${step}` })
      }
      const { value, ...others } = found
      return jsonText(`${JSON.stringify(others).slice(0, -1)},"value":${value}}`, 200, headers)
    },
  }),
  route({
    method: 'get',
    path: '/api/v1/jobs/{id}/logs',
    name: 'listJobLogs',
    tag: 'jobs',
    summary: 'Lists the last log lines of a job (`ctx.log`), the oldest first',
    role: 'viewer',
    params: idParams,
    query: z.strictObject({
      attempt: z.coerce
        .number()
        .int()
        .min(1)
        .max(2 ** 31 - 1)
        .optional()
        .meta({ description: 'of this attempt alone; default: of the last ten with lines' }),
      ...pageQuery,
    }),
    answer: pageOf(logLine),
    errors: ['not_found', 'bad_option'],
    async run({ engine, params: { id }, query: { attempt, limit, after } }) {
      const page = { attempt, limit, ...(after === undefined ? {} : { after }) }
      const { items, next } = await engine.jobs.logs(id, page)
      return { items: items.map(logLineWire), next }
    },
  }),
  ...explainRoutes({
    path: '/api/v1/jobs/{id}/explain',
    name: 'explainJob',
    tag: 'jobs',
    summary: 'Explains why a job does not advance, and whether to wait or to run an action',
    params: idParams,
    unknown: 'not_found',
    target: ({ id }) => ({ job: id }),
  }),
]
