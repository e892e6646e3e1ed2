/** Streams the events of the engine, of one batch or of one job; from now on, or after an earlier event. */

import { z } from 'zod'
import { internalsOf } from '../../engine/internals.ts'
import { localized, RetomaError } from '../../errors/errors.ts'
import type { EngineEvent } from '../../events/model/event.ts'
import { readCursor } from '../../events/model/event-cursor.ts'
import type { Call } from '../route.ts'
import { eventsFor } from '../security/private-kinds.ts'
import { type SseOptions, sse, sseHeaders } from './sse.ts'

/** While the database is away, the response waits only this long; then the stream opens and waits inside. */
const openMs = 3000

/** The query of an event stream. */
export const eventsQuery = z.strictObject({
  after: z.string().max(200).optional().meta({ description: 'the `id` of the last received event' }),
  last_event_id: z.string().max(200).optional().meta({ description: 'the same; the header Last-Event-ID goes first' }),
})

type EventsCall = Call<unknown, z.output<typeof eventsQuery>>

/**
 * `toMessage`: turns an event into its JSON view. Every client passes the same function, so that an event is serialised once for all clients.
 */
export async function follow(
  call: Call<unknown, z.output<typeof eventsQuery>>,
  of: { job?: string; batch?: string; logs?: boolean },
  toMessage: SseOptions<EngineEvent>['toMessage'],
  options: Pick<SseOptions<EngineEvent>, 'heartbeat'> = {},
): Promise<Response> {
  const after = cursorIn(call)
  call.streams.refuseMore()
  const events = call.engine.events({ ...of, after })
  const late = new AbortController()
  try {
    const opened = await Promise.race([
      events.opened(),
      internalsOf(call.engine)
        .clock.sleep(openMs, late.signal)
        .then(() => true as const),
    ])
    if (call.request.method === 'HEAD' || !opened) await events.return?.()
    // The followed job or batch is final and the client has all events: 204 makes an EventSource stop reconnecting.
    if (!opened) return new Response(null, { status: 204, headers: call.headers })
    if (call.request.method === 'HEAD') return new Response(null, { headers: sseHeaders() })
    return sse(call, eventsFor(call.engine, events, call.who), {
      ...options,
      toMessage,
      idleSeconds: () => events.idleSeconds(),
    })
  } finally {
    late.abort()
  }
}

/** The header is newer than the query: a reconnecting EventSource sends the header to the address with which it started. */
function cursorIn({ request, query }: EventsCall): string | undefined {
  const given: [string, string | undefined | null][] = [
    ['Last-Event-ID', request.headers.get('last-event-id')],
    ['last_event_id', query.last_event_id],
    ['after', query.after],
  ]
  const [field, cursor] = given.find(([, value]) => value) ?? []
  if (cursor && readCursor(cursor) === undefined)
    throw new RetomaError('bad_request', {
      field: field!,
      problem: localized('it is the id of an earlier event', 'é o id de um evento anterior'),
    })
  return cursor ?? undefined
}
