/** Reports and repairs the processing of quotes, in the seed's words: /api/system. */
import { isRetomaError } from 'retoma'
import { type Route, route } from 'retoma/http'
import { z } from 'zod'
import { cleanUpOld, type Quotes, recoverStuck, resumeQuote } from '../quotes.ts'
import { batchStatusOf } from '../status.ts'
import { readBatchCounts } from '../store/batches.ts'
import { listStuck, readStats } from '../store/processing.ts'
import { readReadingsOf } from '../store/quotes.ts'
import { batchStatus, count, instant, simulado, status, stuckQuote, stuckWire } from '../wire.ts'
import { batchOf, idParams, pageFrom, pageOf, pageQuery, placeOf, quoteOf, submittedBatchOf } from './shared.ts'

const tag = 'cotações: sistema'

const byCheckpoint = z.record(z.string(), count).meta({ description: 'quotes that are PROCESSING, by checkpoint' })

export const systemRoutes = (quotes: Quotes): readonly Route[] => [
  route({
    method: 'get',
    path: '/api/system/health',
    name: 'quotesHealth',
    tag,
    summary: 'That the server answers',
    role: 'open',
    answer: z.object({ status: z.literal('ok') }),
    run: () => ({ status: 'ok' }),
  }),
  route({
    method: 'get',
    path: '/api/system/processing-stats',
    name: 'quotesProcessingStats',
    tag,
    summary: 'Quotes that are PROCESSING, how many of them are stuck, where they stand, and how long a quote takes',
    role: 'viewer',
    answer: z.object({
      total_processing: count,
      stuck_count: count,
      by_checkpoint: byCheckpoint,
      avg_processing_time_seconds: z
        .number()
        .nullable()
        .meta({ description: 'of the quotes that were DONE in the last hour; null: none' }),
    }),
    heavy: true,
    run: ({ engine }) => readStats(engine),
  }),
  route({
    method: 'get',
    path: '/api/system/stuck-quotes',
    name: 'listStuckQuotes',
    tag,
    summary: 'Quotes that are PROCESSING without a sign of life for more than ten minutes',
    role: 'viewer',
    query: z.strictObject(pageQuery),
    answer: pageOf(stuckQuote),
    heavy: true,
    async run({ engine, query: { after, limit } }) {
      const { items, next } = pageFrom(await listStuck(engine, { after: placeOf(after, '0'), limit: limit + 1 }), limit)
      const readings = await readReadingsOf(
        engine,
        items.map(each => each.id),
      )
      return { items: items.map(each => stuckWire(each, readings.get(each.id))), next }
    },
  }),
  route({
    method: 'post',
    path: '/api/system/recover-stuck',
    name: 'recoverStuckQuotes',
    tag,
    summary: 'Stuck quotes go back to the queue now, as recover_stuck_quotes does every five minutes',
    role: 'operator',
    answer: z.object({ recovered: count, ids: z.array(z.string()) }),
    async run({ engine, who }) {
      const ids = await recoverStuck(engine, who.user)
      return { recovered: ids.length, ids }
    },
  }),
  route({
    method: 'post',
    path: '/api/system/recover-quote/{id}',
    name: 'recoverQuote',
    tag,
    summary: 'A stuck quote goes back to the queue; one that is not stuck stays as it is',
    role: 'operator',
    params: idParams,
    answer: z.object({ id: z.string(), status, recovered: z.boolean() }),
    errors: ['not_found'],
    async run({ engine, params: { id }, who }) {
      const { job_id: job } = await quoteOf(engine, id)
      const recovered = job !== null && (await resumeQuote(engine, job, who.user))
      return { id, status: (await quoteOf(engine, id)).status, recovered }
    },
  }),
  route({
    method: 'post',
    path: '/api/system/resume-batch/{id}',
    name: 'resumeQuoteBatch',
    tag,
    summary: 'A batch that was paused goes on, and its stuck quotes go back to the queue',
    role: 'operator',
    params: idParams,
    answer: z.object({
      id: z.string(),
      resumed: count.meta({ description: 'quotes that go on because of this request' }),
    }),
    errors: ['not_found', 'batch_state'],
    async run(call) {
      const { engine, who, params } = call
      const batch = await submittedBatchOf(call, quotes, params.id, 'resume-batch')
      const stuck = await recoverStuck(engine, who.user, batch)
      const { changed, resumed } = await engine.batches.resume(batch, { by: who.user }).catch(unlessOver)
      return { id: params.id, resumed: changed ? resumed : stuck.length }
    },
  }),
  route({
    method: 'get',
    path: '/api/system/batch-status/{id}',
    name: 'quoteBatchStatus',
    tag,
    summary: 'A batch: its counts, where its quotes stand, and how long it will take',
    role: 'viewer',
    params: idParams,
    answer: z.object({
      id: z.string(),
      status: batchStatus,
      total: count,
      pending: count,
      processing: count,
      done: count,
      error: count,
      cancelled: count,
      by_checkpoint: byCheckpoint,
      percent: z.number().meta({ description: 'of a hundred, how many are over' }),
      last_heartbeat: instant.nullable(),
      eta_seconds: z.number().nullable(),
      reason: z
        .looseObject({ code: z.string() })
        .nullable()
        .meta({ description: 'why a batch is PAUSED: the words of a provider, or a person' }),
      simulado,
    }),
    errors: ['not_found'],
    heavy: true,
    async run(call) {
      const { id, total, batch, simulated } = await batchOf(call, quotes, call.params.id)
      const view = batch === null ? null : await call.engine.batch(batch)
      const counts = batch === null ? none : await readBatchCounts(call.engine, batch)
      const { processing, done, error, cancelled, by_checkpoint, last_heartbeat } = counts
      const over = done + error + cancelled
      return {
        id,
        status: batchStatusOf[view?.state ?? 'waiting'],
        total,
        pending: total - over - processing,
        processing,
        done,
        error,
        cancelled,
        by_checkpoint,
        percent: Math.floor((over * 1000) / total) / 10,
        last_heartbeat: last_heartbeat?.toISOString() ?? null,
        eta_seconds: view?.etaSeconds ?? null,
        reason: view?.reason ?? null,
        simulado: simulated,
      }
    },
  }),
  route({
    method: 'post',
    path: '/api/system/cleanup-old',
    name: 'cleanUpOldQuotes',
    tag,
    summary:
      'Quotes whose processing began more than 24 hours ago are ERROR now, as cleanup_old_processing does every night',
    role: 'operator',
    answer: z.object({ marked: count }),
    run: async ({ engine, who }) => ({ marked: await cleanUpOld(engine, who.user) }),
  }),
]

const none = { processing: 0, done: 0, error: 0, cancelled: 0, by_checkpoint: {}, last_heartbeat: null }

/** A batch that is over has nothing to resume. */
function unlessOver(error: unknown): { changed: false; resumed: 0 } {
  if (isRetomaError(error, 'batch_state') || isRetomaError(error, 'batch_cancelled'))
    return { changed: false, resumed: 0 }
  throw error
}
