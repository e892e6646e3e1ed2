/**
 * Streams the events of a quote and of a batch, in the seed's words. The content and the order are those of the engine's own streams
 * (docs/events.md).
 */
import type { EngineEvent } from 'retoma'
import { eventsQuery, follow, type Route, route, type SseMessage } from 'retoma/http'
import type { Quotes } from '../quotes.ts'
import { batchStatusOf, statusOf } from '../status.ts'
import { batchOf, idParams, quoteOf, tag, wrongBatchState } from './shared.ts'

const wordOf = (words: Readonly<Record<string, string>>, state: unknown): unknown => words[state as string] ?? state

/** undefined: in these words nothing has changed. */
function tell(event: EngineEvent, words: Readonly<Record<string, string>>, simulado: boolean): SseMessage | undefined {
  const { type, position: id, at } = event
  const told = (data: object): SseMessage => ({ event: type, id, data: { at: at.toISOString(), ...data, simulado } })
  switch (event.type) {
    case 'state': {
      const { from, to, reason } = event.data
      const [before, after] = [from === null ? null : wordOf(words, from), wordOf(words, to)]
      // The last checkpoint has no event of progress: the quote is over with its result.
      const isDone = words === statusOf && after === 'DONE'
      const end = isDone ? { processing_checkpoint: 'COMPLETED', progress_percentage: 100 } : {}
      return before === after ? undefined : told({ from: before, to: after, reason, ...end })
    }
    case 'item': {
      const { ref, state, attempt, failures = null, reason } = event.data
      return told({ ref, quote_id: ref, state: wordOf(statusOf, state), attempt, failures, reason })
    }
    case 'action': {
      const { who, what, from = null, to = null } = event.data
      return told({ who, what, from: wordOf(words, from), to: wordOf(words, to) })
    }
    case 'progress':
      return told(words === statusOf ? progressOf(event.data) : countsOf(event.data))
    case 'warning':
      return told({ what: event.data.what })
    default:
      return told({})
  }
}

/** Of a quote. */
function progressOf({ progress }: Readonly<Record<string, unknown>>) {
  const { done = 0, note = null } = (progress ?? {}) as { done?: number; note?: string }
  return { processing_checkpoint: note, progress_percentage: done }
}

/** Of a batch. */
function countsOf({ rate, etaSeconds, ...counts }: Readonly<Record<string, unknown>>) {
  const of = (name: string) => Number(counts[name] ?? 0)
  const total = of('total')
  const over = of('succeeded') + of('failed') + of('skipped') + of('cancelled')
  return {
    total,
    pending: of('waiting'),
    processing: of('running') + of('stalled'),
    done: of('succeeded'),
    error: of('failed'),
    cancelled: of('skipped') + of('cancelled'),
    percent: total === 0 ? 0 : Math.floor((over * 1000) / total) / 10,
    rate,
    eta_seconds: etaSeconds,
  }
}

export const eventRoutes = (quotes: Quotes): readonly Route[] => [
  route({
    method: 'get',
    path: '/api/quotes/{id}/events',
    name: 'followQuote',
    tag,
    summary: 'Streams the events of a quote until its end',
    role: 'viewer',
    params: idParams,
    query: eventsQuery,
    answers: 'text/event-stream',
    errors: ['not_found', 'queue_full'],
    async run(call) {
      const { job_id: job, simulated, batch_id: batch } = await quoteOf(call.engine, call.params.id)
      if (job === null) {
        // The submit of the batch is under way.
        await batchOf(call, quotes, batch ?? '')
        throw wrongBatchState(batch ?? '', 'submitting', 'events')
      }
      return follow(call, { job }, event => tell(event, statusOf, simulated))
    },
  }),
  route({
    method: 'get',
    path: '/api/quotes/batch/{id}/events',
    name: 'followQuoteBatch',
    tag,
    summary: 'Streams the events of a batch of quotes until its end',
    role: 'viewer',
    params: idParams,
    query: eventsQuery,
    answers: 'text/event-stream',
    errors: ['not_found', 'queue_full', 'batch_state'],
    async run(call) {
      const { batch, simulated, id } = await batchOf(call, quotes, call.params.id)
      if (batch === null) throw wrongBatchState(id, 'submitting', 'events')
      return follow(call, { batch }, event => tell(event, batchStatusOf, simulated))
    },
  }),
]
