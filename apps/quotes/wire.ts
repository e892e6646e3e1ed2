/** Turns quotes into JSON for HTTP: the names are the seed's, money is a text with the currency beside it. */
import { z } from 'zod'
import { checkpointNames } from './checkpoints.ts'
import { batchStatuses, statuses } from './status.ts'
import type { StuckQuote } from './store/processing.ts'
import { jsonColumns, type ListedQuote, type QuoteRow, type StoredReading } from './store/quotes.ts'

export const count = z.number().int()
export const instant = z.iso.datetime().meta({ description: 'ISO 8601, UTC' })
export const simulado = z.boolean().meta({ description: 'a provider without a key was simulated on this machine' })
export const status = z.enum(statuses)
export const batchStatus = z.enum(batchStatuses)
export const kind = z.enum(['vehicle', 'product'])
const money = z.string().meta({ description: 'with two decimals, as text' })
const anything = z.json()

const result = z
  .looseObject({
    price: money.nullable(),
    currency: z.string(),
    confidence: z.enum(['high', 'medium', 'low']),
    confidence_reason: z.string().nullable(),
  })
  .meta({
    id: 'QuoteResult',
    description: 'a product has mean, median, lowest, highest and coefficient_of_variation besides',
  })

const base = {
  id: z.string(),
  status,
  batch_id: z.string().nullable(),
  description: z.string(),
  kind: kind.nullable().meta({ description: 'null: the analysis has not decided yet' }),
  processing_checkpoint: z.enum(checkpointNames).nullable(),
  progress_percentage: count,
  last_heartbeat: instant.nullable(),
  worker_id: z.string().nullable().meta({ description: 'null while no worker has the quote' }),
  attempt_number: count.meta({ description: 'the current attempt; while the quote waits, the next one' }),
  started_at: instant.nullable(),
  completed_at: instant.nullable(),
  error_message: z.string().nullable(),
  result: result.nullable(),
  created_at: instant,
  simulado,
}

const price = z
  .object({
    n: count,
    product: z.string(),
    shop: z.string(),
    url: z.string(),
    title: z.string().nullable(),
    price: money,
    currency: z.string(),
    source: z.string().nullable(),
    snippet: z.string().nullable().meta({ description: 'the part of the page that the price was read from' }),
    seen_at: instant,
    used: z.boolean().nullable().meta({ description: 'null: not decided yet' }),
    reason: z.string().nullable().meta({ description: 'why the price does not count' }),
    evidence_url: z.string().nullable().meta({ description: 'the page as it was, compressed' }),
    screenshot_url: z.string().nullable().meta({ description: 'a picture of the page; null without CHROMIUM_PATH' }),
  })
  .meta({ id: 'QuotePrice' })

const values = {
  resume_data: z
    .looseObject({ tested_products: z.array(anything) })
    .nullable()
    .meta({ description: 'what a later attempt starts from' }),
  analysis: anything,
  claude_payload_json: anything,
  google_shopping_response_json: anything,
  prices: z.array(price),
}

const whole = z.object({
  bytes: count.meta({ description: 'bytes of the value in the table, where large values are compressed' }),
  href: z.string().meta({ description: 'the address of the quote with the whole value' }),
})

const listed = {
  ...base,
  ...values,
  omitted: z.partialRecord(z.enum(jsonColumns), whole).nullable().meta({
    description: 'JSON values of more than 2,000 bytes, which are null in a list; null: none',
  }),
}

export const listedQuote = z
  .object({ ...listed, prices: listed.prices.nullable().meta({ description: 'null with `values=short`' }) })
  .meta({ id: 'ListedQuote' })
export const stuckQuote = z.object({ ...listed, seconds_since_heartbeat: count }).meta({ id: 'StuckQuote' })

const unpriced = z
  .object({
    n: count,
    product: z.string(),
    shop: z.string(),
    url: z.string(),
    reason: z.string().nullable(),
    seen_at: instant,
    evidence_url: z.string().nullable(),
  })
  .meta({ id: 'PageWithoutPrice' })

export const quote = z
  .object({
    ...base,
    waiting_reason: z
      .string()
      .nullable()
      .meta({ description: 'PENDING: a sentence that says what the quote waits for; otherwise null' }),
    ...values,
    pages_without_price: z.array(unpriced),
  })
  .meta({ id: 'Quote' })

const iso = (at: Date | null) => at?.toISOString() ?? null

const baseWire = (row: QuoteRow) => ({
  id: row.id,
  status: row.status,
  batch_id: row.batch_id,
  description: row.description,
  kind: row.kind,
  processing_checkpoint: row.processing_checkpoint,
  progress_percentage: row.progress_percentage,
  last_heartbeat: iso(row.last_heartbeat),
  worker_id: row.worker_id,
  attempt_number: row.attempt_number,
  started_at: iso(row.started_at),
  completed_at: iso(row.completed_at),
  error_message: row.error_message,
  result: row.result,
  created_at: iso(row.created_at),
  simulado: row.simulated,
})

const evidence = (id: string, { n, file }: StoredReading) => (file === null ? null : `/api/quotes/${id}/pages/${n}`)

const valuesWire = (row: QuoteRow, readings: readonly StoredReading[]) => ({
  resume_data: row.resume_data,
  analysis: row.analysis,
  claude_payload_json: row.claude_payload_json,
  google_shopping_response_json: row.google_shopping_response_json,
  prices: readings
    .filter(each => each.price !== null)
    .map(each => ({
      n: each.n,
      product: each.product,
      shop: each.shop,
      url: each.url,
      title: each.title,
      price: each.price,
      currency: each.currency,
      source: each.source,
      snippet: each.snippet,
      seen_at: iso(each.seenAt),
      used: each.used,
      reason: each.reason,
      evidence_url: evidence(row.id, each),
      screenshot_url: each.screenshot === null ? null : `/api/quotes/${row.id}/pages/${each.n}/screenshot`,
    })),
})

export const listedWire = (row: ListedQuote, readings: readonly StoredReading[] = []) => ({
  ...baseWire(row),
  ...valuesWire(row, readings),
  omitted:
    row.omitted &&
    Object.fromEntries(
      Object.entries(row.omitted).map(([name, bytes]) => [name, { bytes, href: `/api/quotes/${row.id}` }]),
    ),
})

export const stuckWire = (row: StuckQuote, readings?: readonly StoredReading[]) => ({
  ...listedWire(row, readings),
  seconds_since_heartbeat: row.seconds_since_heartbeat,
})

export const quoteWire = (row: QuoteRow, readings: readonly StoredReading[], waitingReason: string | null) => ({
  ...baseWire(row),
  ...valuesWire(row, readings),
  waiting_reason: waitingReason,
  pages_without_price: readings
    .filter(each => each.price === null)
    .map(each => ({
      n: each.n,
      product: each.product,
      shop: each.shop,
      url: each.url,
      reason: each.reason,
      seen_at: iso(each.seenAt),
      evidence_url: evidence(row.id, each),
    })),
})
