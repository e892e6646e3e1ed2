/** Routes of queues: the counts of each queue, pause and resume, and the explanation. */
import { z } from 'zod'
import { queueWire } from '../../json-views.ts'
import { paged } from '../response/page-of-list.ts'
import { type Route, route } from '../route.ts'
import { pageOf, pageQuery } from '../shared-schemas.ts'
import { explainRoutes } from './explain.ts'

const nameParams = z.object({ name: z.string() })
const count = z.number().int()

const rate = z.object({ limit: count, per_ms: z.number() })
const gate = { concurrency: count.optional(), rate: rate.optional() }

const queue = z
  .object({
    queue: z.string(),
    paused: z.boolean(),
    ready: count,
    scheduled: count.meta({ description: 'waiting for their run_at' }),
    running: count,
    stalled: count,
    limits: z.object({
      ...gate,
      per_group: z.object({ ...gate, admit: rate.optional() }).optional(),
      max_depth: count.optional(),
    }),
  })
  .meta({ id: 'Queue' })

const queueActionResult = z.object({ queue: z.string(), paused: z.boolean(), changed: z.boolean() })

export const queueRoutes: readonly Route[] = [
  route({
    method: 'get',
    path: '/api/v1/queues',
    name: 'listQueues',
    tag: 'queues',
    summary: 'Every queue with what waits, runs and is stalled in it',
    role: 'viewer',
    heavy: true,
    query: z.strictObject(pageQuery),
    answer: pageOf(queue),
    async run({ engine, query }) {
      const { items, next } = paged(await engine.queues.list(), each => each.queue, query)
      return { items: items.map(queueWire), next }
    },
  }),
  route({
    method: 'post',
    path: '/api/v1/queues/{name}/pause',
    name: 'pauseQueue',
    tag: 'queues',
    summary: 'Nothing more of it is started, by any worker; what runs goes on to its end',
    role: 'operator',
    params: nameParams,
    answer: queueActionResult,
    errors: ['not_found'],
    run: ({ engine, params, who }) => engine.queues.pause(params.name, { by: who.user }),
  }),
  route({
    method: 'post',
    path: '/api/v1/queues/{name}/resume',
    name: 'resumeQueue',
    tag: 'queues',
    summary: 'A paused queue goes on',
    role: 'operator',
    params: nameParams,
    answer: queueActionResult,
    errors: ['not_found'],
    run: ({ engine, params, who }) => engine.queues.resume(params.name, { by: who.user }),
  }),
  ...explainRoutes({
    path: '/api/v1/queues/{name}/explain',
    name: 'explainQueue',
    tag: 'queues',
    summary: 'Why nothing of it is taken, and whether to wait or press something',
    params: nameParams,
    unknown: 'unknown_queue',
    target: ({ name }) => ({ queue: name }),
  }),
]
