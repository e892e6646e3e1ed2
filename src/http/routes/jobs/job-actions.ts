/** Routes of the job actions, on a job or on all jobs of a filter. An action is safe to repeat; the actor is recorded. */
import { z } from 'zod'
import type { Engine } from '../../../engine/create-engine.ts'
import type { ErrorCode } from '../../../errors/errors.ts'
import { notifyKind } from '../../../incidents/model/notice.ts'
import type { ActedBy, JobActionResult, JobState } from '../../../index.ts'
import { finalStates } from '../../../jobs/model/state.ts'
import { longestDuration, seconds } from '../../../lib/values/duration.ts'
import { refuseWideInput } from '../../request/input-width.ts'
import { refuseInternalKind } from '../../request/internal-kinds.ts'
import { omitUndefined } from '../../request/omit-undefined.ts'
import { type Principal, type Route, route } from '../../route.ts'
import { hiddenKinds, refuseHiddenBatch } from '../../security/private-kinds.ts'
import { anyInstant, idParams } from '../../shared-schemas.ts'
import { jobActionResult, noReason, skipBody } from './job-schemas.ts'
import { jobOf } from './jobs.ts'

const actionRoute = (
  action: string,
  name: string,
  summary: string,
  apply: (engine: Engine, id: string, by: ActedBy) => Promise<unknown>,
  errors: readonly ErrorCode[] = [],
): Route =>
  route({
    method: 'post',
    path: `/api/v1/jobs/{id}/${action}`,
    name,
    tag: 'jobs',
    summary,
    role: 'operator',
    params: idParams,
    answer: jobActionResult,
    errors: ['not_found', 'wrong_state', ...errors],
    run: ({ engine, params, who }) => apply(engine, params.id, { by: who.user }),
  })

/** The errors that keep a job in a final state from running again. */
const runsAgain: readonly ErrorCode[] = ['key_reserved', 'batch_cancelled']

const text = z.string().min(1).max(500)

const filter = {
  kind: text.optional(),
  queue: text.optional(),
  group_key: text.optional(),
  batch_id: text.optional(),
  created_before: anyInstant.optional(),
  created_after: anyInstant.optional().meta({ description: 'without batch_id' }),
  error: text
    .optional()
    .meta({ description: 'a text in the message of the last error, or its code; without batch_id' }),
  ids: z.array(z.string().max(100)).min(1).max(1000).optional().meta({ description: 'these jobs; with state alone' }),
}

const dryRun = z.boolean().optional().meta({ description: 'true: counts the matching jobs, and changes nothing' })

const bulkActionResult = z
  .object({
    changed: z.number().int().meta({ description: 'how many this request moved; on a dry run, how many match' }),
    conflicts: z
      .number()
      .int()
      .meta({ description: 'of a retry: jobs left unchanged, because another job has their key' }),
    done: z.boolean().meta({
      description: 'false: more jobs may match; repeat the request, for a retry or a resume with `next` as `after`',
    }),
    next: z.string().nullable(),
  })
  .meta({ id: 'BulkActionResult' })

const asFilter = (body: z.output<z.ZodObject<typeof filter>> & { state?: JobState | undefined }) =>
  omitUndefined({
    state: body.state,
    kind: body.kind,
    queue: body.queue,
    groupKey: body.group_key,
    batchId: body.batch_id,
    createdBefore: body.created_before === undefined ? undefined : new Date(body.created_before),
    createdAfter: body.created_after === undefined ? undefined : new Date(body.created_after),
    error: body.error,
    ids: body.ids,
  })

/** The kinds that the action leaves out. Throws 404 for a batch that the principal does not see. */
async function kindsLeftOut(engine: Engine, who: Principal, batch: string | undefined): Promise<readonly string[]> {
  if (batch !== undefined) await refuseHiddenBatch(engine, who, batch)
  return hiddenKinds(engine, who)
}

export const jobActionRoutes: readonly Route[] = [
  route({
    method: 'post',
    path: '/api/v1/jobs/cancel',
    name: 'cancelJobs',
    tag: 'jobs',
    summary:
      'Cancels the jobs of a filter that are not final. A request works for some seconds; repeat the request until `done`',
    role: 'operator',
    body: z.strictObject({
      state: z.enum(['waiting', 'running', 'stalled']).optional(),
      ...filter,
      dry_run: dryRun,
    }),
    answer: bulkActionResult,
    errors: ['not_found', 'bad_option'],
    run: async ({ engine, body, who }) =>
      engine.jobs.cancelMany(
        {
          ...asFilter(body),
          except: [...(await kindsLeftOut(engine, who, body.batch_id)), ...(who.role === 'admin' ? [] : [notifyKind])],
        },
        { by: who.user, dryRun: body.dry_run },
      ),
  }),
  route({
    method: 'post',
    path: '/api/v1/jobs/retry',
    name: 'retryJobs',
    tag: 'jobs',
    summary: 'Retries the failed, skipped or cancelled jobs of a filter',
    role: 'operator',
    body: z.strictObject({
      state: z.enum(['failed', 'skipped', 'cancelled']).optional(),
      ...filter,
      after: z.string().max(200).optional().meta({ description: 'the `next` of the request before' }),
      dry_run: dryRun,
    }),
    answer: bulkActionResult,
    errors: ['not_found', 'bad_option'],
    run: async ({ engine, body, who }) =>
      engine.jobs.retryMany(
        { ...asFilter(body), except: await kindsLeftOut(engine, who, body.batch_id) },
        { by: who.user, after: body.after, dryRun: body.dry_run },
      ),
  }),
  route({
    method: 'post',
    path: '/api/v1/jobs/resume',
    name: 'resumeJobs',
    tag: 'jobs',
    summary: 'Resumes the stalled jobs of a filter; items of a stalled batch stay `stalled` until the batch is resumed',
    role: 'operator',
    body: z.strictObject({
      state: z.enum(['stalled']).optional(),
      ...filter,
      after: z.string().max(200).optional().meta({ description: 'the `next` of the request before' }),
      dry_run: dryRun,
    }),
    answer: bulkActionResult,
    errors: ['not_found', 'bad_option'],
    run: async ({ engine, body, who }) =>
      engine.jobs.resumeMany(
        { ...asFilter(body), except: await kindsLeftOut(engine, who, body.batch_id) },
        { by: who.user, after: body.after, dryRun: body.dry_run },
      ),
  }),
  route({
    method: 'post',
    path: '/api/v1/jobs/erase',
    name: 'eraseJobs',
    tag: 'jobs',
    summary:
      'Erases the final jobs of a filter with all their data. A request works for some seconds; repeat the request until `done`',
    role: 'admin',
    body: z.strictObject({
      state: z.enum(finalStates).optional(),
      ...filter,
      after: z.string().max(200).optional().meta({ description: 'the `next` of the request before' }),
      dry_run: dryRun,
    }),
    answer: bulkActionResult,
    errors: ['not_found', 'bad_option'],
    run: ({ engine, body, who }) =>
      engine.jobs.eraseMany(asFilter(body), { by: who.user, after: body.after, dryRun: body.dry_run }),
  }),
  route({
    method: 'patch',
    path: '/api/v1/jobs/{id}',
    name: 'updateJob',
    tag: 'jobs',
    summary: 'Changes the earliest start, the priority or the input of a waiting job; 409 if the job has started',
    role: 'operator',
    params: idParams,
    body: z.strictObject({
      run_at: anyInstant.optional(),
      delay_seconds: z.number().min(0).max(longestDuration / 1000).optional(), // biome-ignore format: one line
      priority: z.int().min(0).max(9).optional(),
      input: z.unknown().optional(),
    }),
    largest: 16 * 1024 * 1024,
    answer: jobActionResult,
    errors: [
      'not_found',
      'wrong_state',
      'steps_saved',
      'unknown_kind',
      'internal_kind',
      'bad_input',
      'input_too_large',
      'bad_option',
    ],
    async run({ engine, params, body, who }) {
      const { run_at: runAt, delay_seconds: delay, priority, input } = body
      if (input !== undefined) {
        await refuseInternalKind(engine, (await jobOf(engine, params.id)).kind)
        refuseWideInput(input)
      }
      const changes = omitUndefined({
        runAt: runAt === undefined ? undefined : new Date(runAt),
        delay: delay === undefined ? undefined : seconds(delay),
        priority,
        input,
      })
      return engine.jobs.update(params.id, changes, { by: who.user })
    },
  }),
  actionRoute('cancel', 'cancelJob', 'Cancels a job; a running attempt loses its lease at once', (engine, id, by) =>
    engine.jobs.cancel(id, by),
  ),
  actionRoute('resume', 'resumeJob', 'Resumes a stalled job', (engine, id, by) => engine.jobs.resume(id, by)),
  actionRoute(
    'retry',
    'retryJob',
    'Retries a failed, skipped or cancelled job after its last saved step',
    (engine, id, by) => engine.jobs.retry(id, by),
    runsAgain,
  ),
  actionRoute(
    'rerun',
    'rerunJob',
    'Runs a final job again from the start, without its saved steps',
    async (engine, id, by) => {
      await refuseInternalKind(engine, (await jobOf(engine, id)).kind)
      return engine.jobs.rerun(id, by)
    },
    [...runsAgain, 'internal_kind'],
  ),
  route({
    method: 'post',
    path: '/api/v1/jobs/{id}/skip',
    name: 'skipJob',
    tag: 'jobs',
    summary: 'Skips a job: the job ends as `skipped`, with the reason',
    role: 'operator',
    params: idParams,
    body: skipBody,
    answer: jobActionResult,
    errors: ['not_found', 'wrong_state'],
    run: ({ engine, params, body, who, language }): Promise<JobActionResult> =>
      engine.jobs.skip(params.id, body?.reason ?? noReason[language], { by: who.user }),
  }),
]
