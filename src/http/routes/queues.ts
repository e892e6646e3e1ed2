/** Routes of queues: the counts of each queue, pause and resume, the limits, and the explanation. */
import { z } from 'zod'
import { RetomaError } from '../../errors/errors.ts'
import type { Duration } from '../../index.ts'
import { isEngineQueue } from '../../jobs/model/job.ts'
import { groupUsageWire, limitsWire, queueWire } from '../../json-views.ts'
import { omitUndefined } from '../request/omit-undefined.ts'
import { mostProperties } from '../request/parse-schema.ts'
import { paged } from '../response/page-of-list.ts'
import { type Principal, type Route, route } from '../route.ts'
import { hiddenKindsIn, queuesFor } from '../security/private-kinds.ts'
import { pageOf, pageQuery } from '../shared-schemas.ts'
import { explainRoutes } from './explain.ts'

const nameParams = z.object({ name: z.string() })
const count = z.number().int()

const upTo = (most: number) => z.int().min(1).max(most)
const most = upTo(1_000_000)
const rate = z.strictObject({ limit: most, per_ms: z.number().min(1000).max(86_400_000) })
const groupLimits = { concurrency: most.optional(), rate: rate.optional() }
/** More names than the engine accepts; the engine says how many. */
const mostNames = 2000
const limits = z.strictObject({
  ...groupLimits,
  per_group: z
    .object({ ...groupLimits, admit: rate.optional() })
    .catchall(z.strictObject(groupLimits))
    .register(mostProperties, { most: mostNames })
    .optional()
    .meta({ description: 'every other property is the name of a group with its own limits' }),
  fair: z.enum(['group', 'batch']).optional().meta({ description: 'the groups, or the batches, take turns' }),
  weights: z
    .record(z.string(), upTo(100))
    .register(mostProperties, { most: mostNames })
    .optional()
    .meta({ description: 'jobs in one turn, by group or by name of the batch; 1 if not given' }),
  max_depth: upTo(100_000_000).optional(),
})

type Rate = z.output<typeof rate> | undefined
const rateOf = (given: Rate) => given && { limit: given.limit, per: given.per_ms as Duration }

const groupLimitsOf = ({ concurrency, rate }: { concurrency?: number | undefined; rate?: Rate }) =>
  omitUndefined({ concurrency, rate: rateOf(rate) })

const perGroupOf = ({ concurrency, rate, admit, ...named }: NonNullable<z.output<typeof limits>['per_group']>) =>
  omitUndefined({
    ...Object.fromEntries(Object.entries(named).map(([group, given]) => [group, groupLimitsOf(given)])),
    ...groupLimitsOf({ concurrency, rate }),
    admit: rateOf(admit),
  })

const limitsOf = ({ per_group: group, max_depth: maxDepth, fair, weights, ...whole }: z.output<typeof limits>) =>
  omitUndefined({ ...groupLimitsOf(whole), perGroup: group && perGroupOf(group), fair, weights, maxDepth })

const queue = z
  .object({
    queue: z.string(),
    paused: z.boolean(),
    ready: count.nullable(),
    scheduled: count.nullable().meta({ description: 'waiting for their run_at' }),
    running: count.nullable(),
    stalled: count.nullable(),
    limits,
  })
  .meta({ id: 'Queue', description: 'counts are null for a queue with private kinds, except for an admin' })

const queueActionResult = z.object({ queue: z.string(), paused: z.boolean(), changed: z.boolean() })

/** Notices of incidents wait in a queue of the engine: only an admin may hold the notices back. Throws 403. */
function refuseEngineQueue({ user, role }: Principal, queue: string): void {
  if (role !== 'admin' && isEngineQueue(queue)) throw new RetomaError('forbidden', { needed: 'admin', user, role })
}

export const queueRoutes: readonly Route[] = [
  route({
    method: 'get',
    path: '/api/v1/queues',
    name: 'listQueues',
    tag: 'queues',
    summary: 'Lists the queues with their waiting, running and stalled jobs',
    role: 'viewer',
    heavy: true,
    query: z.strictObject(pageQuery),
    answer: pageOf(queue),
    async run({ engine, query, who }) {
      const { items, next } = paged(await queuesFor(engine, who), each => each.queue, query)
      return { items: items.map(queueWire), next }
    },
  }),
  route({
    method: 'get',
    path: '/api/v1/queues/{name}/groups',
    name: 'listQueueGroups',
    tag: 'queues',
    summary:
      'Lists the groups of a queue that have limits: full groups first, then by running jobs. Of a queue with private jobs only an admin sees groups',
    role: 'viewer',
    params: nameParams,
    query: z.strictObject({ limit: pageQuery.limit }),
    answer: pageOf(
      z
        .object({
          group: z.string(),
          running: count,
          concurrency: count.nullable(),
          starts: count.nullable().meta({ description: 'in the current period; null: no rate' }),
          rate: rate.nullable(),
          full: z.boolean().meta({ description: 'no further job of the group starts now' }),
        })
        .meta({ id: 'GroupUsage' }),
    ),
    errors: ['not_found'],
    async run({ engine, params, query, who }) {
      const groups = await engine.queues.groups(params.name, query)
      // A group of a private kind may stand for a single user.
      const isHidden = (await hiddenKindsIn(engine, who, params.name)).length > 0
      return { items: isHidden ? [] : groups.map(groupUsageWire), next: null }
    },
  }),
  route({
    method: 'post',
    path: '/api/v1/queues/{name}/pause',
    name: 'pauseQueue',
    tag: 'queues',
    summary: 'Pauses a queue: no worker starts its jobs; running jobs continue',
    role: 'operator',
    params: nameParams,
    answer: queueActionResult,
    errors: ['not_found'],
    run({ engine, params, who }) {
      refuseEngineQueue(who, params.name)
      return engine.queues.pause(params.name, { by: who.user })
    },
  }),
  route({
    method: 'post',
    path: '/api/v1/queues/{name}/resume',
    name: 'resumeQueue',
    tag: 'queues',
    summary: 'Resumes a paused queue',
    role: 'operator',
    params: nameParams,
    answer: queueActionResult,
    errors: ['not_found'],
    run({ engine, params, who }) {
      refuseEngineQueue(who, params.name)
      return engine.queues.resume(params.name, { by: who.user })
    },
  }),
  route({
    method: 'post',
    path: '/api/v1/queues/{name}/clear',
    name: 'clearQueue',
    tag: 'queues',
    summary: 'Cancels the waiting jobs of a queue. A request works for some seconds; repeat the request until `done`',
    role: 'operator',
    params: nameParams,
    body: z
      .strictObject({ dry_run: z.boolean().optional().meta({ description: 'true: counts, and cancels nothing' }) })
      .optional(),
    answer: z.object({
      queue: z.string(),
      cancelled: count.meta({ description: 'how many this request cancelled' }),
      done: z.boolean().meta({ description: 'false: more jobs may remain; repeat the request' }),
    }),
    errors: ['not_found'],
    async run({ engine, params: { name }, body, who }) {
      refuseEngineQueue(who, name)
      const except = await hiddenKindsIn(engine, who, name)
      return engine.queues.clear(name, { by: who.user, dryRun: body?.dry_run ?? false, except })
    },
  }),
  route({
    method: 'put',
    path: '/api/v1/queues/{name}/limits',
    name: 'setQueueLimits',
    tag: 'queues',
    summary: 'Replaces the limits of a queue for all workers, also for waiting jobs; {} removes the limits',
    role: 'admin',
    params: nameParams,
    body: limits,
    answer: z.object({ queue: z.string(), limits, changed: z.boolean() }),
    errors: ['not_found', 'bad_option'],
    async run({ engine, params, body, who }) {
      refuseEngineQueue(who, params.name)
      const set = await engine.queues.setLimits(params.name, limitsOf(body), { by: who.user })
      return { ...set, limits: limitsWire(set.limits) }
    },
  }),
  ...explainRoutes({
    path: '/api/v1/queues/{name}/explain',
    name: 'explainQueue',
    tag: 'queues',
    summary: 'Explains why no job of a queue starts, and whether to wait or to run an action',
    params: nameParams,
    unknown: 'unknown_queue',
    target: ({ name }) => ({ queue: name }),
  }),
]
