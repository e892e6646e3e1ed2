/**
 * Defines the job of a quote: the analysis, then FIPE for a vehicle, or the shopping search and the price pages for a product, then the
 * result. Each checkpoint is saved as it happens, and a later attempt continues after the last saved step.
 *
 * Invariant: each paid request is a step of its own, saved before anything else happens. So a request is repeated only if the process died
 * between the answer of the provider and the save. A page that was read is not fetched again.
 */

import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import {
  type Batch,
  defineBatch,
  defineJob,
  type Engine,
  type FileOptions,
  hours,
  isNonRetryable,
  type Job,
  type JobContext,
  megabytes,
  minutes,
  providerWait,
  retryWhileDatabaseAway,
  seconds,
  skip,
} from 'retoma'
import { clockOf } from 'retoma/http'
import { z } from 'zod'
import { type Checkpoint, checkpointNames, checkpoints, extractionProgress } from './checkpoints.ts'
import { centsOf, currency } from './money.ts'
import type {
  Analysis,
  AnalysisProvider,
  FetchedPage,
  PageReading,
  Shop,
  ShoppingProduct,
  ShoppingProvider,
  VehicleProvider,
} from './providers/types.ts'
import type { ProviderLimits } from './settings.ts'
import { summarise } from './statistics.ts'
import { type Reading, readQuoteInput, saveAnalysis, saveReadings, saveResult, saveSearch } from './store/quotes.ts'
import { withTurn } from './turns.ts'
import { findVehicle } from './vehicles/price.ts'

export const queue = 'quotes'

export interface QuoteProviders {
  analysis: AnalysisProvider
  shopping: ShoppingProvider
  vehicles: VehicleProvider
  /** Reads a price page. `name`: a name for a step of this page. */
  readPage(ctx: JobContext, name: string, link: string, signal: AbortSignal): Promise<PageReading>
  /** Takes a picture of a page, as PNG; null: there is no picture. undefined: no pictures. */
  screenshot?: ((page: FetchedPage, signal: AbortSignal) => Promise<Uint8Array | null>) | undefined
}

export interface QuoteJobOptions {
  providers: QuoteProviders
  limits: Readonly<Record<'anthropic' | 'serpapi' | 'fipe', ProviderLimits>>
  /** Waits at each checkpoint: simulated work would end a checkpoint before a person sees the checkpoint. undefined: no wait. */
  pause?: ((signal: AbortSignal) => Promise<void>) | undefined
  engine: () => Engine
}

export interface QuoteJobs {
  quote: Job<{ quote: string }>
  batch: Batch<{ quote: string }>
}

const noLimit = 1_000_000

export function createQuoteJobs(options: QuoteJobOptions): QuoteJobs {
  const quote = defineJob({
    kind: 'quote',
    internal: true,
    queue,
    input: z.object({ quote: z.string() }),
    // Only cleanup_old_processing ends the tries of a quote, 24 hours after the first start.
    maxAttempts: noLimit,
    maxCrashes: noLimit,
    backoff: { first: seconds(5), factor: 2, max: minutes(10), jitter: 0.1 },
    timeout: minutes(30),
    expect: minutes(2),
    // The watchdog takes the quote from an attempt without progress, and recover_stuck_quotes puts the quote back into the queue.
    stallAfter: minutes(10),
    onStall: 'stall',
    run: (ctx, input) => new QuoteRun(ctx, input.quote, options).run(),
  })
  // An outage of a provider fails a quote after the other, each with the same error fingerprint.
  const batch = defineBatch({ name: 'quotes', job: quote, stopAfter: { sameCause: 20 } })
  return { quote, batch }
}

/** Products of a search whose shops are searched, each for a paid search. */
const mostProducts = 3
/** Pages of a product. */
const mostShops = 5
/** With so many prices no further product is tested. */
const enoughPrices = 10
const pagesAtOnce = 3
/** Longer than the time limit of a request at any provider. */
const longestRequest = minutes(2)
const largestPage = megabytes(6)
const largestPicture = megabytes(20)

/** The data of the last checkpoint; `resume_data` of the seed. */
interface Position {
  checkpoint: Checkpoint
  progress: number
  started_at: string
  tested_products: TestedProduct[]
  checkpoints: { checkpoint: Checkpoint; at: string }[]
  [more: string]: unknown
}

interface TestedProduct {
  product: string
  pages: number
  prices: number
  /** The words of the provider that refused the search for shops; null: the provider did not refuse. */
  reason: string | null
}

interface ReadShop extends Omit<Reading, 'n'> {}

class QuoteRun {
  readonly #ctx: JobContext
  readonly #id: string
  readonly #options: QuoteJobOptions
  #position: Position | undefined

  constructor(ctx: JobContext, id: string, options: QuoteJobOptions) {
    this.#ctx = ctx
    this.#id = id
    this.#options = options
    this.#position = ctx.resumeData as Position | undefined
  }

  async run() {
    const input = await readQuoteInput(this.#ctx, this.#id, this.#ctx.id)
    if (input === undefined) return skip('a cotação foi apagada')
    this.#position ??= {
      checkpoint: 'INIT',
      progress: 0,
      started_at: input.startedAt.toISOString(),
      tested_products: [],
      checkpoints: [],
    }
    await this.#reach('INIT')
    const analysis = await this.#analyse(input)
    return analysis.kind === 'vehicle' ? this.#vehicle(analysis) : this.#product(analysis)
  }

  get #engine(): Engine {
    return this.#options.engine()
  }

  /** Saves a checkpoint; an attempt that continues behind the checkpoint does not go back. */
  async #reach(checkpoint: Checkpoint, more: Partial<Position> = {}): Promise<void> {
    const position = this.#position!
    const isFirst = position.checkpoints.length === 0
    const isLater = checkpointNames.indexOf(checkpoint) > checkpointNames.indexOf(position.checkpoint)
    if (!isFirst && !isLater && more.tested_products === undefined) return
    const progress = more.progress ?? checkpoints[checkpoint]
    const seen = { checkpoint, at: clockOf(this.#engine).now().toISOString() }
    const known = position.checkpoints.at(-1)?.checkpoint === checkpoint
    const history = known ? position.checkpoints : [...position.checkpoints, seen]
    this.#position = { ...position, ...more, checkpoint, progress, checkpoints: history }
    await this.#ctx.checkpoint(checkpoint, this.#position, {
      progress: { done: progress, total: 100, note: checkpoint },
    })
    await this.#options.pause?.(this.#ctx.signal)
  }

  async #analyse({
    description,
    kind,
  }: {
    description: string
    kind: 'vehicle' | 'product' | null
  }): Promise<Analysis> {
    const { analysis: provider, shopping, vehicles } = this.#options.providers
    await this.#reach('AI_ANALYSIS_START')
    const request = { description, kind: kind ?? undefined }
    const { analysis, payload } = await this.#ctx.step('analysis', signal =>
      this.#ask('anthropic', provider.simulated, signal, own => provider.analyse(request, own)),
    )
    const simulated = provider.simulated || (analysis.kind === 'vehicle' ? vehicles : shopping).simulated
    await this.#ctx.transaction('save analysis', tx =>
      saveAnalysis(tx, this.#id, { analysis, payload, simulated, job: this.#ctx.id }),
    )
    await this.#reach('AI_ANALYSIS_DONE')
    return analysis
  }

  async #vehicle(analysis: Extract<Analysis, { kind: 'vehicle' }>) {
    const { vehicles: provider } = this.#options.providers
    await this.#reach('FIPE_SEARCH')
    const found = await this.#ctx.step('fipe', signal =>
      findVehicle(
        {
          engine: this.#engine,
          owner: this.#ctx,
          provider,
          signal,
          ask: request => this.#ask('fipe', provider.simulated, signal, request),
        },
        analysis,
      ),
    )
    const { price, reason, score, brand, model } = found
    const base = { kind: 'vehicle', brand, model, match_score: score, currency }
    await this.#reach('FINALIZATION')
    if (price === null)
      return this.#finish({ ...base, price: null, confidence: 'low', confidence_reason: reason }, [], [])
    const confidence = score >= 0.85 ? 'high' : score >= 0.6 ? 'medium' : 'low'
    const result = {
      ...base,
      price: price.price,
      model_year: price.modelYear,
      fuel: price.fuel,
      fipe_code: price.codeFipe,
      reference_month: price.referenceMonth.trim(),
      confidence,
      confidence_reason: confidence === 'high' ? null : `o modelo "${model}" é o mais parecido (semelhança ${score})`,
    }
    const reading: ReadShop = {
      product: `${price.brand} ${price.model}`,
      shop: 'FIPE',
      url: 'https://veiculos.fipe.org.br/',
      title: null,
      price: price.price,
      currency,
      source: 'fipe',
      snippet: `${price.codeFipe} · ${price.referenceMonth.trim()} · ${price.price}`,
      reason: null,
      seenAt: clockOf(this.#engine).now(),
      file: null,
      screenshot: null,
    }
    return this.#finish(result, [{ n: 1, ...reading }], [{ n: 1, used: true, reason: null }])
  }

  async #product(analysis: Extract<Analysis, { kind: 'product' }>) {
    const { shopping: provider } = this.#options.providers
    await this.#reach('SHOPPING_SEARCH_START')
    const { products, response } = await this.#ctx.step(
      'search',
      signal => this.#ask('serpapi', provider.simulated, signal, own => provider.search(analysis.query, own)),
      { maxBytes: megabytes(8) },
    )
    await this.#ctx.transaction('save search', tx => saveSearch(tx, this.#id, response))
    await this.#reach('SHOPPING_SEARCH_DONE')
    await this.#reach('PRICE_EXTRACTION_START')
    const readings = await this.#readProducts(products.slice(0, mostProducts))
    await this.#reach('PRICE_EXTRACTION_DONE')
    await this.#reach('FINALIZATION')
    const priced = readings.flatMap(each => (each.price === null ? [] : [{ ...each, cents: centsOf(each.price) }]))
    const { judged, statistics, confidence, confidenceReason } = summarise(priced.map(each => each.cents))
    const used = judged.filter(each => each.used).length
    const result = {
      kind: 'product',
      title: analysis.title,
      currency,
      price: statistics?.median ?? null,
      mean: statistics?.mean ?? null,
      median: statistics?.median ?? null,
      lowest: statistics?.lowest ?? null,
      highest: statistics?.highest ?? null,
      coefficient_of_variation: statistics?.coefficientOfVariation ?? null,
      pages_tested: readings.length,
      prices_found: priced.length,
      prices_used: used,
      confidence,
      confidence_reason: confidenceReason,
    }
    return this.#finish(
      result,
      [],
      priced.map(({ n }, index) => ({ n, ...judged[index]! })),
    )
  }

  /** Tests a product after the other: its shops, then their pages. */
  async #readProducts(products: readonly ShoppingProduct[]): Promise<Reading[]> {
    const all: Reading[] = []
    const tested: TestedProduct[] = []
    const links = new Set<string>()
    for (const [index, product] of products.entries()) {
      if (all.filter(each => each.price !== null).length >= enoughPrices) break
      const found = await this.#shopsOf(product, index + 1)
      const shops = found.shops.filter(({ link }) => !links.has(link)).slice(0, mostShops)
      for (const { link } of shops) links.add(link)
      const first = all.length + 1
      const read = await this.#ctx.each(
        `pages ${index + 1}`,
        shops,
        (shop, at, signal) => this.#readShop(product, shop, first + at, signal),
        { concurrency: pagesAtOnce },
      )
      const readings = read.map((each, at) => ({ n: first + at, ...each }))
      await this.#ctx.transaction(`save product ${index + 1}`, tx => saveReadings(tx, this.#id, readings))
      all.push(...readings)
      const prices = readings.filter(each => each.price !== null).length
      tested.push({ product: product.title, pages: readings.length, prices, reason: found.reason })
      if (tested.length <= this.#position!.tested_products.length) continue
      const progress = extractionProgress(tested.length, products.length)
      await this.#reach('PRICE_EXTRACTION_PROGRESS', { progress, tested_products: [...tested] })
    }
    return all
  }

  /** A paid search. A search that the provider refuses for good leaves this product without shops; the other products go on. */
  #shopsOf(product: ShoppingProduct, n: number): Promise<{ shops: Shop[]; reason: string | null }> {
    const { shopping: provider } = this.#options.providers
    return this.#ctx.step(`shops ${n}`, async signal => {
      try {
        const found = await this.#ask('serpapi', provider.simulated, signal, own => provider.shops(product, own))
        return { shops: found.shops, reason: null }
      } catch (error) {
        if (!isNonRetryable(error)) throw error
        return { shops: [], reason: (error as Error).message }
      }
    })
  }

  async #readShop(product: ShoppingProduct, shop: Shop, n: number, signal: AbortSignal): Promise<ReadShop> {
    const { readPage, screenshot: takePicture } = this.#options.providers
    const read = await readPage(this.#ctx, `page ${n}`, shop.link, signal)
    const file = read.page === null ? null : await this.#keepPage(read.page, n, signal)
    const { seenAt } = read
    const picture = read.found && takePicture !== undefined ? await takePicture(read, signal) : null
    const screenshot = picture === null ? null : await this.#keepPicture(picture, n, signal)
    const seen = { product: product.title, shop: shop.name, seenAt, file, screenshot }
    return read.found
      ? {
          ...seen,
          url: read.finalUrl,
          title: read.title,
          price: read.price,
          currency: read.currency,
          source: read.source,
          snippet: read.snippet,
          reason: null,
        }
      : {
          ...seen,
          url: read.finalUrl ?? shop.link,
          title: null,
          price: null,
          currency,
          source: null,
          snippet: null,
          reason: read.sentence,
        }
  }

  /** Stores the page as evidence. */
  async #keepPage(page: Uint8Array, n: number, signal: AbortSignal): Promise<string> {
    const bytes = await promisify(gzip)(page)
    const about = { name: `quote-${this.#id}-page-${n}.html.gz`, type: 'application/gzip', most: largestPage }
    return this.#keep(bytes, about, signal)
  }

  #keepPicture(picture: Uint8Array, n: number, signal: AbortSignal): Promise<string> {
    const about = { name: `quote-${this.#id}-page-${n}.png`, type: 'image/png', most: largestPicture }
    return this.#keep(picture, about, signal)
  }

  /** The job owns the file at once, so that erasing a quote in the middle of its pages leaves no page behind. */
  async #keep(bytes: Uint8Array, about: FileOptions, signal: AbortSignal): Promise<string> {
    const put = () => this.#engine.files.put([bytes], { ...about, job: this.#ctx.id })
    return (await retryWhileDatabaseAway(this.#engine, put, signal)).id
  }

  async #finish(
    result: { price: string | null; confidence: string; [more: string]: unknown },
    readings: readonly Reading[],
    judged: readonly { n: number; used: boolean; reason: string | null }[],
  ) {
    const startedAt = new Date(this.#position!.started_at)
    await this.#ctx.transaction('result', async tx => {
      if (readings.length > 0) await saveReadings(tx, this.#id, readings)
      await saveResult(tx, this.#id, { result, judged, startedAt, now: clockOf(this.#engine).instant() })
    })
    return { price: result.price, confidence: result.confidence }
  }

  /**
   * Sends one request to a provider, within the limits of the provider over all workers. A simulated provider has no limits. The turn comes
   * first: a provider that asked for a wait meanwhile gets no request of the quotes that waited for a turn.
   */
  #ask<T>(
    name: 'anthropic' | 'serpapi' | 'fipe',
    isSimulated: boolean,
    signal: AbortSignal,
    request: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    if (isSimulated) return request(signal)
    const { concurrency, requestsPerMinute } = this.#options.limits[name]
    const turn = { limit: concurrency, owner: this.#ctx, longest: longestRequest, signal }
    return withTurn(this.#engine, `provider:${name}`, turn, () =>
      this.#ctx.provider(name, async () => {
        if (requestsPerMinute !== undefined) await takeHit(this.#engine, name, requestsPerMinute, signal)
        return request(signal)
      }),
    )
  }
}

/** A quote that comes too early is deferred until its turn, without any cost. */
async function takeHit(engine: Engine, name: string, limit: number, signal: AbortSignal): Promise<void> {
  const ask = () => engine.limit({ bucket: name, who: 'requests', limit, per: minutes(1) })
  const { allowed, retryAfterSeconds } = await retryWhileDatabaseAway(engine, ask, signal)
  if (!allowed) throw providerWait({ retryAfter: seconds(retryAfterSeconds), message: 'requests per minute' })
}

/** The oldest quote that is still tried. */
export const longestTries = hours(24)
