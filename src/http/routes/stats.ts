/**
 * Reports the state of the whole system: the numbers of unfinished jobs, from the last sample of a tick. The request itself counts
 * nothing.
 */
import { z } from 'zod'
import { statsWire } from '../../json-views.ts'
import { type Route, route } from '../route.ts'
import { instant } from '../shared-schemas.ts'

const live = {
  ready: z.number().int(),
  scheduled: z.number().int(),
  running: z.number().int(),
  stalled: z.number().int(),
}

export const statsRoutes: readonly Route[] = [
  route({
    method: 'get',
    path: '/api/v1/stats',
    name: 'getStats',
    tag: 'stats',
    summary: 'Waiting, running and stalled jobs by queue and kind, and the workers',
    role: 'viewer',
    heavy: true,
    answer: z.looseObject({
      queues: z.array(z.looseObject({ queue: z.string(), ...live })),
      kinds: z.array(z.looseObject({ kind: z.string(), ...live })),
      oldest_ready_seconds: z.number().nullable(),
      workers: z.number().int(),
      watchdog_lag_seconds: z.number().nullable(),
      schema_version: z
        .number()
        .int()
        .meta({ description: 'of the schema retoma: the number of its newest migration' }),
      sampled_at: instant.nullable(),
    }),
    run: async ({ engine }) => statsWire(await engine.metrics.stats()),
  }),
]
