/** Lists the workers and their health. */
import { z } from 'zod'
import { workerWire } from '../../json-views.ts'
import { paged } from '../response/page-of-list.ts'
import { type Route, route } from '../route.ts'
import { workersFor } from '../security/private-kinds.ts'
import { redactForRole } from '../security/redact-for-role.ts'
import { instant, pageOf, pageQuery } from '../shared-schemas.ts'

const hidden = z.number().int().nullable().meta({
  description: 'null: the worker serves a queue with private kinds, and only an admin sees the number',
})

const worker = z.object({
  id: z.string(),
  host: z.string(),
  pid: z.number().int(),
  version: z.string(),
  queues: z.record(z.string(), z.number().int()),
  free_slots: z
    .record(z.string(), z.number().int())
    .meta({ description: 'free slots by queue, at the last heartbeat; only an admin sees queues with private kinds' }),
  kinds: z.array(z.string()),
  started_at: instant,
  heartbeat_age_seconds: z.number(),
  suspected: z.boolean(),
  dead: z.boolean(),
  running: hidden,
  memory_bytes: z.number().nullable(),
  loop_lag_ms: z.number().nullable(),
  abandoned: hidden,
  write_lag_ms: z.number(),
  supervised: z.boolean(),
  blocked: z
    .object({
      seconds: z.number(),
      job: z.string().nullable(),
      attempt: z.number().int().nullable(),
      stack: z.string().nullable(),
    })
    .nullable(),
})

export const workerRoutes: readonly Route[] = [
  route({
    method: 'get',
    path: '/api/v1/workers',
    name: 'listWorkers',
    tag: 'workers',
    summary: 'Lists the live workers, and the workers that died within the last day',
    role: 'viewer',
    query: z.strictObject(pageQuery),
    answer: pageOf(worker),
    async run({ engine, query, who }) {
      const { items, next } = paged(await workersFor(engine, who), each => each.id, query)
      return { items: redactForRole(who, items.map(workerWire)), next }
    },
  }),
]
