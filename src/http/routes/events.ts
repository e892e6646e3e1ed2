/** Routes of the event streams: of the engine, of a batch, of a job (docs/events.md). */
import { z } from 'zod'
import { eventWire } from '../../json-views.ts'
import { type Route, route } from '../route.ts'
import { idParams } from '../shared-schemas.ts'
import { follow, eventsQuery as query } from '../streaming/follow-events.ts'

const shared = { method: 'get', tag: 'events', role: 'viewer', query, answers: 'text/event-stream' } as const

export const eventRoutes: readonly Route[] = [
  route({
    ...shared,
    path: '/api/v1/events',
    name: 'followAll',
    summary: 'Streams the failures and actions of all jobs and batches',
    run: call => follow(call, {}, eventWire),
  }),
  route({
    ...shared,
    path: '/api/v1/batches/{id}/events',
    name: 'followBatch',
    summary: 'Streams the events of a batch until the batch is final',
    params: idParams,
    errors: ['not_found'],
    run: call => follow(call, { batch: call.params.id }, eventWire),
  }),
  route({
    ...shared,
    path: '/api/v1/jobs/{id}/events',
    name: 'followJob',
    summary: 'Streams the events of a job until the job is final',
    params: idParams,
    query: query.extend({
      logs: z
        .enum(['true', 'false'])
        .default('false')
        .meta({ description: 'true: also `log` events with the lines of ctx.log, from the last attempt on' }),
    }),
    errors: ['not_found'],
    run: call => follow(call, { job: call.params.id, logs: call.query.logs === 'true' }, eventWire),
  }),
]
