/**
 * Reads the price of a link: fetches the page (fetch-page.ts), and reads the price from the bytes (read-price.ts). Implements
 * `PriceReader`.
 *
 * A handler passes `parse: page => ctx.isolated(name, priceModule, page, priceLimits)`, so that a hostile page meets its limits in another
 * process. An error of `parse` about a limit is the reason `unreadable`.
 */
import { isRetomaError, megabytes, seconds } from 'retoma'
import type { NoPrice, PageReading, PriceReader } from '../providers/types.ts'
import { createPageFetcher, type Fetched, type FetchOptions } from './fetch-page.ts'
import { type PageBytes, type ReadPrice, readPrice } from './read-price.ts'
import { sentenceOf } from './reasons.ts'

/** The module for `ctx.isolated`. Tests run the TypeScript source, which Node 20 cannot load in a child: the child then runs the build. */
export const priceModule = new URL(
  import.meta.url.endsWith('.ts') ? '../dist/price-pages/read-isolated.js' : './read-isolated.js',
  import.meta.url,
)

/** An ordinary page takes some milliseconds. */
export const priceLimits = { timeout: seconds(10), memory: megabytes(256), maxBytes: 64 * 1024 }

export type Parse = (page: PageBytes) => ReadPrice | Promise<ReadPrice>

export interface PriceReaderOptions extends FetchOptions {
  /** Default: in this process, without limits. */
  parse?: Parse | undefined
}

export function createPriceReader({ parse = readPrice, ...options }: PriceReaderOptions): PriceReader {
  const fetcher = createPageFetcher(options)
  return { read: async (link, signal) => readFetched(await fetcher.fetch(link, signal), parse) }
}

/** For a handler that stores the page between the request and the reading. */
export async function readFetched(fetched: Fetched, parse: Parse): Promise<PageReading> {
  if (!fetched.ok) return notFetched(fetched)
  const { page, contentType, finalUrl, seenAt } = fetched
  const read = await within(async () => parse({ page, contentType, finalUrl }))
  if (read.found) return { ...read, finalUrl, contentType, page, seenAt }
  const { reason, currency } = read
  const sentence = sentenceOf(reason, currency ?? 'moeda não informada')
  return { found: false, reason, sentence, temporary: false, finalUrl, seenAt, page, contentType }
}

/** A page that is too much for its process has no readable price. A process that the system ended says nothing about the page. */
async function within(
  parse: () => Promise<ReadPrice>,
): Promise<ReadPrice | { found: false; reason: 'unreadable'; currency: null }> {
  try {
    return await parse()
  } catch (error) {
    const isOfPage =
      isRetomaError(error, 'isolated_timeout') ||
      isRetomaError(error, 'isolated_memory') ||
      (isRetomaError(error, 'isolated_crash') && error.facts.signal !== 'SIGKILL')
    if (!isOfPage) throw error
    return { found: false, reason: 'unreadable', currency: null }
  }
}

function notFetched({ reason, fact, temporary, finalUrl, seenAt }: Extract<Fetched, { ok: false }>): NoPrice {
  const sentence = sentenceOf(reason, fact ?? '-')
  return { found: false, reason, sentence, temporary, finalUrl, seenAt, page: null, contentType: null }
}
