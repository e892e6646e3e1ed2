/** Creates, lists, shows, cancels and erases quotes. */
import { type Engine, isRetomaError, type JobTransaction, type Language, RetomaError } from 'retoma'
import { download, once, type Route, route } from 'retoma/http'
import { z } from 'zod'
import { errors } from '../errors.ts'
import { eraseQuote, makeQuote, type Quotes } from '../quotes.ts'
import { statusOf } from '../status.ts'
import { listQuotes, type QuoteRow, readEvidence, readReadings, readReadingsOf } from '../store/quotes.ts'
import { oneLine } from '../text.ts'
import { kind, listedQuote, listedWire, quote, quoteWire, simulado, status } from '../wire.ts'
import { idParams, isId, noQuote, pageFrom, pageOf, pageQuery, placeOf, quoteOf, tag } from './shared.ts'

const longestDescription = 2000

export const newQuote = z.strictObject({
  description: z
    .string()
    .max(longestDescription)
    .transform(oneLine)
    .pipe(z.string().min(1))
    .meta({ description: 'the product or the vehicle, in a sentence', examples: ['notebook Dell Inspiron 15, 16 GB'] }),
  kind: kind.optional().meta({ description: 'omitted: the analysis decides' }),
})

const pageParams = z.object({ id: z.string(), n: z.string() })

async function evidenceOf(engine: Engine, { id, n }: z.output<typeof pageParams>, what: 'page' | 'screenshot') {
  const isPlace = isId(id) && /^[1-9]\d{0,5}$/.test(n)
  const files = isPlace ? await readEvidence(engine, id, Number(n)) : undefined
  const file = files?.[what] ?? null
  const opened = file === null ? null : await engine.files.open(file)
  if (opened === null) throw noQuote(`${id}/pages/${n}`)
  return download(opened)
}

/** In the words of the engine, such as the words of a provider that stopped. null: the quote does not wait. */
async function waitingReason(engine: Engine, { status, job_id: job }: QuoteRow, language: Language) {
  if (status !== 'PENDING' || job === null) return null
  try {
    return (await engine.explain({ job }, { language })).sentence
  } catch (error) {
    // The quote was erased in the meantime.
    if (isRetomaError(error, 'not_found')) return null
    throw error
  }
}

export const quoteRoutes = (quotes: Quotes): readonly Route[] => [
  route({
    method: 'post',
    path: '/api/quotes',
    name: 'createQuote',
    tag,
    summary: 'Creates a quote for a product or a vehicle',
    role: 'operator',
    body: newQuote,
    answer: z.object({ id: z.string(), status, simulado }),
    status: 201,
    makes: 'exactly',
    errors: ['not_found'],
    run: call =>
      once(call, async (tx: JobTransaction) => {
        const { description, kind = null } = call.body
        const id = await makeQuote(call.engine, tx, quotes, { description, kind }, call.who.user)
        return { status: 201, value: { id, status: 'PENDING', simulado: quotes.isSimulated } }
      }),
  }),
  route({
    method: 'get',
    path: '/api/quotes',
    name: 'listQuotes',
    tag,
    summary:
      'Quotes, the newest first. With a status a page may have fewer quotes than its limit, or none, although `next` is set',
    role: 'viewer',
    query: z.strictObject({
      status: status.optional(),
      batch_id: z.string().max(100).optional(),
      values: z.enum(['short']).optional().meta({ description: 'short: without the prices' }),
      ...pageQuery,
    }),
    answer: pageOf(listedQuote),
    heavy: true,
    async run({ engine, query: { status = null, batch_id: batch = null, values, after, limit } }) {
      if (batch !== null && !isId(batch)) return { items: [], next: null }
      const { rows, readTo } = await listQuotes(engine, { after: placeOf(after), status, batch, limit: limit + 1 })
      const { items, next } = pageFrom(rows, limit)
      const page = { next: next ?? readTo }
      if (values === 'short') return { items: items.map(each => ({ ...listedWire(each), prices: null })), ...page }
      const readings = await readReadingsOf(
        engine,
        items.map(each => each.id),
      )
      return { items: items.map(each => listedWire(each, readings.get(each.id))), ...page }
    },
  }),
  route({
    method: 'get',
    path: '/api/quotes/{id}',
    name: 'getQuote',
    tag,
    summary: 'Gets a quote with checkpoint, prices and result',
    role: 'viewer',
    params: idParams,
    answer: quote,
    errors: ['not_found'],
    async run({ engine, params: { id }, language }) {
      // The quote first: a quote that ends in between is shown as before its end, never as DONE without its prices.
      const found = await quoteOf(engine, id)
      return quoteWire(found, await readReadings(engine, id), await waitingReason(engine, found, language))
    },
  }),
  route({
    method: 'get',
    path: '/api/quotes/{id}/pages/{n}',
    name: 'downloadQuotePage',
    tag,
    summary: 'Downloads a price page as it was when the price was read, compressed with gzip',
    role: 'viewer',
    params: pageParams,
    answers: 'application/octet-stream',
    errors: ['not_found'],
    run: ({ engine, params }) => evidenceOf(engine, params, 'page'),
  }),
  route({
    method: 'get',
    path: '/api/quotes/{id}/pages/{n}/screenshot',
    name: 'downloadQuoteScreenshot',
    tag,
    summary: 'A picture of a price page, if CHROMIUM_PATH is set',
    role: 'viewer',
    params: pageParams,
    answers: 'application/octet-stream',
    errors: ['not_found'],
    run: ({ engine, params }) => evidenceOf(engine, params, 'screenshot'),
  }),
  route({
    method: 'post',
    path: '/api/quotes/{id}/cancel',
    name: 'cancelQuote',
    tag,
    summary: 'Cancels an unfinished quote; prices that were found stay',
    role: 'operator',
    params: idParams,
    answer: z.object({ id: z.string(), status }),
    errors: ['not_found', errors.quote_state],
    async run({ engine, params: { id }, who }) {
      const { job_id: job, status } = await quoteOf(engine, id)
      if (status === 'DONE' || status === 'ERROR' || job === null)
        throw new RetomaError(errors.quote_state, { id, status, action: 'cancel' })
      const { state } = await engine.jobs.cancel(job, { by: who.user })
      return { id, status: statusOf[state] }
    },
  }),
  route({
    method: 'post',
    path: '/api/quotes/{id}/retry',
    name: 'retryQuote',
    tag,
    summary: 'Puts a quote in ERROR or CANCELLED back into the queue; the quote continues from its checkpoint',
    role: 'operator',
    params: idParams,
    answer: z.object({ id: z.string(), status }),
    errors: ['not_found', 'wrong_state', errors.quote_state],
    async run({ engine, params: { id }, who }) {
      const { job_id: job, status } = await quoteOf(engine, id)
      if ((status !== 'ERROR' && status !== 'CANCELLED') || job === null)
        throw new RetomaError(errors.quote_state, { id, status, action: 'retry' })
      const { state } = await engine.jobs.retry(job, { by: who.user })
      return { id, status: statusOf[state] }
    },
  }),
  route({
    method: 'delete',
    path: '/api/quotes/{id}',
    name: 'eraseQuote',
    tag,
    summary:
      'Erases a quote: description, answers, prices, pages, steps, failures and events; one that is not over is cancelled first',
    role: 'operator',
    params: idParams,
    status: 204,
    errors: ['not_found'],
    async run({ engine, params: { id } }) {
      if (!isId(id) || !(await eraseQuote(engine, id))) throw noQuote(id)
    },
  }),
]
