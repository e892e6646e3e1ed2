/** Creates, shows, cancels and erases batches of quotes. */
import { isRetomaError } from 'retoma'
import { type Call, once, type Route, route, tooLong } from 'retoma/http'
import { z } from 'zod'
import { csvHead, csvRow } from '../csv.ts'
import { errors } from '../errors.ts'
import { eraseBatch, makeBatch, type Quotes } from '../quotes.ts'
import { batchStatusOf } from '../status.ts'
import { type BatchResult, readBatch, readBatchResults } from '../store/batches.ts'
import { batchStatus, count, simulado } from '../wire.ts'
import { newQuote } from './quotes.ts'
import { batchOf, idParams, isId, noBatch, submittedBatchOf, tag, wrongBatchState } from './shared.ts'

const mostQuotes = 10_000
/** 10,000 descriptions of 2,000 ASCII characters fit. All bodies of a process together hold 64 MB, so no limit fits every text in UTF-8. */
const largestBatch = 32 * 1024 * 1024

const newBatch = z.strictObject({
  quotes: z.array(newQuote).min(1).max(mostQuotes).register(tooLong, { error: errors.too_many_quotes }),
})

const rowsAtOnce = 500

/** Reads all results a page at a time, so the whole list is never in memory. */
async function* everyResult({ engine, params }: Call<{ id: string }>): AsyncGenerator<BatchResult[]> {
  for (let after = 0; ; ) {
    const rows = await readBatchResults(engine, params.id, after, rowsAtOnce)
    if (rows.length > 0) yield rows
    if (rows.length < rowsAtOnce) return
    after = rows.at(-1)!.n
  }
}

/** Reads as fast as the client takes the rows. */
function csvOf(call: Call<{ id: string }>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  const rows = everyResult(call)
  return new ReadableStream({
    start: flow => flow.enqueue(encoder.encode(csvHead())),
    async pull(flow) {
      const { done, value } = await rows.next()
      if (done) flow.close()
      else flow.enqueue(encoder.encode(value.map(csvRow).join('')))
    },
    async cancel() {
      await rows.return(undefined)
    },
  })
}

export const batchRoutes = (quotes: Quotes): readonly Route[] => [
  route({
    method: 'post',
    path: '/api/quotes/batch',
    name: 'createQuoteBatch',
    tag,
    summary: `Up to ${mostQuotes} quotes with one progress`,
    role: 'operator',
    body: newBatch,
    largest: largestBatch,
    mostValues: 10 * mostQuotes,
    answer: z.object({ id: z.string(), total: count, simulado }),
    status: 201,
    makes: 'exactly',
    errors: ['not_found', errors.too_many_quotes],
    async run(call) {
      const given = call.body.quotes.map(({ description, kind = null }) => ({ description, kind }))
      let made: string | undefined
      const answer = await once(call, async tx => {
        made = await makeBatch(call.engine, tx, quotes, given, call.who.user)
        return { status: 201, value: { id: made, total: given.length, simulado: quotes.isSimulated } }
      })
      // The batch exists now, whatever happens next: a job submits the batch.
      if (made !== undefined) await batchOf(call, quotes, made).catch(() => {})
      return answer
    },
  }),
  route({
    method: 'get',
    path: '/api/quotes/batch/{id}/results.csv',
    name: 'downloadQuoteBatch',
    tag,
    summary: 'Exports the quotes of a batch as CSV for a spreadsheet: UTF-8, semicolons, decimal commas, no formulas',
    role: 'viewer',
    params: idParams,
    answers: 'text/csv',
    errors: ['not_found'],
    heavy: true,
    async run(call) {
      const found = await batchOf(call, quotes, call.params.id)
      call.headers.set('content-type', 'text/csv; charset=utf-8')
      call.headers.set('content-disposition', `attachment; filename="cotacoes-${found.id}.csv"`)
      return new Response(csvOf(call), { headers: call.headers })
    },
  }),
  route({
    method: 'post',
    path: '/api/quotes/batch/{id}/cancel',
    name: 'cancelQuoteBatch',
    tag,
    summary: 'Cancels the unfinished quotes of a batch; finished quotes keep their results',
    role: 'operator',
    params: idParams,
    answer: z.object({ id: z.string(), status: batchStatus }),
    errors: ['not_found', 'batch_state'],
    async run(call) {
      const { engine, who, params } = call
      const batch = await submittedBatchOf(call, quotes, params.id, 'cancel')
      try {
        const { state } = await engine.batches.cancel(batch, { by: who.user })
        return { id: params.id, status: batchStatusOf[state] }
      } catch (error) {
        const state = isRetomaError(error, 'batch_state') ? (await engine.batch(batch))?.state : undefined
        throw state === undefined ? error : wrongBatchState(params.id, state, 'cancel')
      }
    },
  }),
  route({
    method: 'delete',
    path: '/api/quotes/batch/{id}',
    name: 'eraseQuoteBatch',
    tag,
    summary: 'Erases a finished batch with all its quotes',
    role: 'operator',
    params: idParams,
    status: 204,
    errors: ['not_found', 'batch_state'],
    async run({ engine, params: { id } }) {
      if (isId(id) && (await eraseBatch(engine, id))) return
      const found = isId(id) ? await readBatch(engine, id) : undefined
      if (found === undefined) throw noBatch(id)
      const view = found.batch === null ? null : await engine.batch(found.batch)
      throw wrongBatchState(id, view?.state ?? 'submitting', 'DELETE')
    },
  }),
]
