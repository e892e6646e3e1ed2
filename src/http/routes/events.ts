/** What goes on, live: of everything, of one batch, of one job (docs/events.md). */
import { z } from 'zod'
import { readCursor } from '../../core/cursor.ts'
import { RetomaError, say } from '../../errors.ts'
import { eventWire } from '../../wire.ts'
import { idParams } from '../contract.ts'
import { type Call, type Route, route } from '../route.ts'
import { sse, sseHeaders } from '../sse.ts'

/** A database that is away is waited for inside the stream, not in front of it. */
const openMs = 3000

const query = z.strictObject({
  after: z.string().max(200).optional().meta({ description: 'the `id` of the last event that was seen' }),
  last_event_id: z.string().max(200).optional().meta({ description: 'the same; the header Last-Event-ID goes first' }),
})

type Asked = Call<unknown, z.output<typeof query>>

async function stream(call: Asked, of: { job?: string; batch?: string }): Promise<Response> {
  const after = cursorIn(call)
  const events = call.engine.events({ ...of, after })
  const late = new AbortController()
  try {
    const opened = await Promise.race([
      events.opened(),
      call.engine.clock.sleep(openMs, late.signal).then(() => true as const),
    ])
    if (call.request.method === 'HEAD' || !opened) await events.return?.()
    // It is over and all of it was told: 204 is how an EventSource is told not to come again.
    if (!opened) return new Response(null, { status: 204, headers: call.headers })
    if (call.request.method === 'HEAD') return new Response(null, { headers: sseHeaders() })
    return sse(call, events, { tell: eventWire, idleSeconds: () => events.idleSeconds() })
  } finally {
    late.abort()
  }
}

/** The header is the newer: an EventSource that comes back sends it to the address it began with. */
function cursorIn({ request, query }: Asked): string | undefined {
  const given: [string, string | undefined | null][] = [
    ['Last-Event-ID', request.headers.get('last-event-id')],
    ['last_event_id', query.last_event_id],
    ['after', query.after],
  ]
  const [field, cursor] = given.find(([, value]) => value) ?? []
  if (cursor && readCursor(cursor) === undefined)
    throw new RetomaError('bad_request', {
      field: field!,
      problem: say('it is the id of an earlier event', 'é o id de um evento anterior'),
    })
  return cursor ?? undefined
}

const shared = { method: 'get', tag: 'events', role: 'viewer', query, answers: 'text/event-stream' } as const

export const eventRoutes: readonly Route[] = [
  route({
    ...shared,
    path: '/api/v1/events',
    name: 'followAll',
    summary: 'Exceptions and actions of everything, as they happen',
    run: call => stream(call, {}),
  }),
  route({
    ...shared,
    path: '/api/v1/batches/{id}/events',
    name: 'followBatch',
    summary: 'A batch, as it goes on, until it is over',
    params: idParams,
    errors: ['not_found'],
    run: call => stream(call, { batch: call.params.id }),
  }),
  route({
    ...shared,
    path: '/api/v1/jobs/{id}/events',
    name: 'followJob',
    summary: 'A job, as it goes on, until it is over',
    params: idParams,
    errors: ['not_found'],
    run: call => stream(call, { job: call.params.id }),
  }),
]
