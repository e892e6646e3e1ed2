/** Shared parts of the routes of the quotes: ids, pages, and the lookup of a quote or a batch. */
import { type BatchState, type Engine, isRetomaError, localized, RetomaError } from 'retoma'
import type { Call } from 'retoma/http'
import { z } from 'zod'
import { type Quotes, submitBatch } from '../quotes.ts'
import { batchStatusOf } from '../status.ts'
import { type BatchRow, readBatch } from '../store/batches.ts'
import { type QuoteRow, readQuote } from '../store/quotes.ts'

export const tag = 'cotações'

export const idParams = z.object({ id: z.string() })

export const pageQuery = {
  limit: z.coerce.number().int().min(1).max(500).default(50),
  after: z.string().max(200).optional().meta({ description: 'the `next` of the page before' }),
}

export const pageOf = <T extends z.ZodType>(item: T) => z.object({ items: z.array(item), next: z.string().nullable() })

/** Any other text is no id. */
export const isId = (id: string): boolean => /^[1-9]\d{0,17}$/.test(id)

const last = '9223372036854775807'

/** The start of a page; `first`: the start of the first page. */
export function placeOf(after: string | undefined, first = last): string {
  if (after === undefined) return first
  if (isId(after)) return after
  throw new RetomaError('bad_request', {
    field: 'after',
    problem: localized('it is the next of an earlier list', 'é o next de uma lista anterior'),
  })
}

/** Splits `limit` + 1 rows into the page and the start of the next page. */
export function pageFrom<T extends { id: string }>(found: readonly T[], limit: number) {
  const items = found.slice(0, limit)
  return { items, next: found.length > limit ? items.at(-1)!.id : null }
}

export async function quoteOf(engine: Engine, id: string): Promise<QuoteRow> {
  const found = isId(id) ? await readQuote(engine, id) : undefined
  if (found === undefined) throw noQuote(id)
  return found
}

export const noQuote = (id: string) => new RetomaError('not_found', { what: localized('quote', 'cotação'), id })
export const noBatch = (id: string) =>
  new RetomaError('not_found', { what: localized('quote batch', 'lote de cotações'), id })

/** 409, in the words of the quotes. */
export const wrongBatchState = (id: string, state: BatchState, action: string) =>
  new RetomaError('batch_state', { id, state: batchStatusOf[state], action })

/** 404 for an unknown id. A batch that is not submitted yet is submitted first. */
export async function batchOf(
  { engine, log }: Pick<Call, 'engine' | 'log'>,
  quotes: Quotes,
  id: string,
): Promise<BatchRow> {
  const found = isId(id) ? await readBatch(engine, id) : undefined
  if (found === undefined) throw noBatch(id)
  if (found.batch !== null) return found
  await submitBatch(engine, quotes.batch, id).catch(error => {
    // A job submits the batch later; the problem may pass.
    if (isRetomaError(error) && error.status >= 500) throw error
    log.warn({ err: error, batch: id }, 'a batch of quotes could not be submitted yet')
  })
  return (await readBatch(engine, id)) ?? found
}

/** For requests that need the batch of the engine. */
export async function submittedBatchOf(
  call: Pick<Call, 'engine' | 'log'>,
  quotes: Quotes,
  id: string,
  action: string,
): Promise<string> {
  const { batch } = await batchOf(call, quotes, id)
  if (batch === null) throw wrongBatchState(id, 'submitting', action)
  return batch
}
