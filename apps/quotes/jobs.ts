/**
 * Defines the job of a quote: the analysis, then FIPE for a vehicle, or the shopping search and the price pages for a product, then the
 * result. Each checkpoint is saved as it happens, and a later attempt continues after the last saved step.
 *
 * Invariant: each paid request is a step of its own, saved before anything else happens. So a request is repeated only if the process died
 * between the answer of the provider and the save, or if the answer is of no use, and then at most `mostUseless` times. All pages of a product
 * are fetched and stored before the first page is read: a quote that goes back to the queue because no process is free to read a page asks no
 * shop again. The stored page is the page of the price. The rows of a quote are those of its current run: a run from scratch
 * removes the rows of the run before.
 */

import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import {
  type Batch,
  defineBatch,
  defineJob,
  doNotRetry,
  type Engine,
  type FileOptions,
  hours,
  isNonRetryable,
  isRetomaError,
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
import type { Fetched } from './price-pages/fetch-page.ts'
import { sentenceOf } from './price-pages/reasons.ts'
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
import {
  clearQuote,
  type Reading,
  readQuoteInput,
  saveAnalysis,
  saveReadings,
  saveResult,
  saveSearch,
} from './store/quotes.ts'
import { withTurn } from './turns.ts'
import { findVehicle } from './vehicles/price.ts'

export const queue = 'quotes'

/** The job that reads a price page. */
interface PageJob {
  ctx: JobContext
  /** A name for a step of this page. */
  name: string
  /** Reports progress: a page that waits for its turns is not stuck. */
  progress(): void
}

/**
 * With `fetch` the job stores each page before `read`, and a later attempt reads the stored page. `readLink` needs no request, as for a
 * simulated shop.
 */
type PageProvider =
  | {
      fetch(job: PageJob, link: string, signal: AbortSignal): Promise<Fetched>
      read(job: PageJob, fetched: Fetched, signal: AbortSignal): Promise<PageReading>
    }
  | { readLink(job: PageJob, link: string, signal: AbortSignal): Promise<PageReading> }

export interface QuoteProviders {
  analysis: AnalysisProvider
  shopping: ShoppingProvider
  vehicles: VehicleProvider
  pages: PageProvider
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
/** Paid answers of one step that are of no use: cut, no JSON. After this number the provider has refused the request. */
const mostUseless = 5
/** Readings of one page whose process the system ended, such as the kernel without memory. After this number the page is unreadable. */
const mostKilledReadings = 3
const largestPage = megabytes(6)
const largestPicture = megabytes(20)

/** The data of the last checkpoint; `resume_data` of the seed. */
interface Position {
  checkpoint: Checkpoint
  progress: number
  started_at: string
  tested_products: TestedProduct[]
  checkpoints: { checkpoint: Checkpoint; at: string }[]
  /** Failures of a step that may happen a few times only. Absent: none. */
  failed_steps?: Record<string, number>
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

/** A fetched page, with the stored file in the place of the bytes. */
type StoredPage = (Omit<FetchedPage, 'page'> & { ok: true; file: string }) | Extract<Fetched, { ok: false }>

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
    if (this.#position === undefined && input.hasTraces)
      await this.#ctx.transaction('from scratch', tx => clearQuote(tx, this.#id))
    this.#position ??= {
      checkpoint: 'INIT',
      progress: 0,
      started_at: input.startedAt.toISOString(),
      tested_products: [],
      checkpoints: [],
    }
    await this.#reach('INIT')
    // A person retried the quote: the 24 hours, and the failures that may happen a few times only, count from now.
    if (input.retriedAt !== null && input.retriedAt > new Date(this.#position.started_at))
      await this.#save({ started_at: input.startedAt.toISOString(), failed_steps: {} })
    const analysis = await this.#analyse(input)
    return analysis.kind === 'vehicle' ? this.#vehicle(analysis, input.description) : this.#product(analysis)
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
    await this.#save({ ...more, checkpoint, progress, checkpoints: history })
    await this.#options.pause?.(this.#ctx.signal)
  }

  async #save(more: Partial<Position>): Promise<void> {
    const position = { ...this.#position!, ...more }
    this.#position = position
    await this.#ctx.checkpoint(position.checkpoint, position, { progress: progressOf(position) })
  }

  /** Counts a failure of a step, over all attempts. Returns true once the step has failed `most` times. */
  async #isLastFailure(step: string, most: number): Promise<boolean> {
    const before = this.#position!.failed_steps ?? {}
    const count = (before[step] ?? 0) + 1
    await this.#save({ failed_steps: { ...before, [step]: count } })
    return count >= most
  }

  /** Not stuck: the wait for a turn is over. */
  #noteProgress(): void {
    void this.#ctx.progress(progressOf(this.#position!))
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
      this.#ask('anthropic', 'analysis', provider.simulated, signal, own => provider.analyse(request, own)),
    )
    const simulated = provider.simulated || (analysis.kind === 'vehicle' ? vehicles : shopping).simulated
    await this.#ctx.transaction('save analysis', tx =>
      saveAnalysis(tx, this.#id, { analysis, payload, simulated, job: this.#ctx.id }),
    )
    await this.#reach('AI_ANALYSIS_DONE')
    return analysis
  }

  async #vehicle(analysis: Extract<Analysis, { kind: 'vehicle' }>, description: string) {
    const { vehicles: provider } = this.#options.providers
    await this.#reach('FIPE_SEARCH')
    const found = await this.#ctx.step('fipe', signal =>
      findVehicle(
        {
          engine: this.#engine,
          owner: this.#ctx,
          provider,
          signal,
          progress: () => this.#noteProgress(),
          ask: request => this.#ask('fipe', 'fipe', provider.simulated, signal, request),
        },
        analysis,
      ),
    )
    const { price, reason, score, brand, model, isYearUnknown } = found
    const base = { kind: 'vehicle', brand, model, match_score: score, currency }
    await this.#reach('FINALIZATION')
    if (price === null)
      return this.#finish({ ...base, price: null, confidence: 'low', confidence_reason: reason }, [], [])
    const doubt = isYearUnknown ? doubtOfYear(description, price.modelYear) : null
    const confidence = doubt !== null ? 'low' : score >= 0.85 ? 'high' : score >= 0.6 ? 'medium' : 'low'
    const reasons = [
      ...(doubt !== null ? [doubt] : []),
      ...(score >= 0.85 ? [] : [`o modelo "${model}" é o mais parecido (semelhança ${score})`]),
    ]
    const result = {
      ...base,
      price: price.price,
      model_year: price.modelYear,
      fuel: price.fuel,
      fipe_code: price.codeFipe,
      reference_month: price.referenceMonth.trim(),
      confidence,
      confidence_reason: reasons.length === 0 ? null : reasons.join('; '),
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
      signal => this.#ask('serpapi', 'search', provider.simulated, signal, own => provider.search(analysis.query, own)),
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
      const stored = await this.#fetchPages(shops, index + 1, first)
      const read = await this.#ctx.each(
        `pages ${index + 1}`,
        shops,
        (shop, at, signal) => this.#readShop(product, shop, { n: first + at, stored: stored[at] }, signal),
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
    const step = `shops ${n}`
    // Without a page token the search has named the shop already, and nothing is asked.
    const isFree = provider.simulated || product.pageToken === null
    return this.#ctx.step(step, async signal => {
      try {
        const found = await this.#ask('serpapi', step, isFree, signal, own => provider.shops(product, own))
        return { shops: found.shops, reason: null }
      } catch (error) {
        if (!isNonRetryable(error)) throw error
        return { shops: [], reason: (error as Error).message }
      }
    })
  }

  /** Empty: the provider of the pages sends no requests. */
  async #fetchPages(shops: readonly Shop[], product: number, first: number): Promise<StoredPage[]> {
    const { pages } = this.#options.providers
    if (!('fetch' in pages)) return []
    const fetch = async ({ link }: Shop, at: number, signal: AbortSignal): Promise<StoredPage> => {
      const n = first + at
      const fetched = await pages.fetch(this.#pageJob(n), link, signal)
      if (!fetched.ok) return fetched
      const { page, ...rest } = fetched
      return { ...rest, file: await this.#keepPage(page, n, signal) }
    }
    return this.#ctx.each(`fetched ${product}`, shops, fetch, { concurrency: pagesAtOnce })
  }

  #pageJob(n: number): PageJob {
    return { ctx: this.#ctx, name: `page ${n}`, progress: () => this.#noteProgress() }
  }

  async #readShop(
    product: ShoppingProduct,
    shop: Shop,
    { n, stored }: { n: number; stored: StoredPage | undefined },
    signal: AbortSignal,
  ): Promise<ReadShop> {
    const { screenshot: takePicture } = this.#options.providers
    const read = await this.#readPage(shop.link, n, stored, signal)
    const ownFile = stored?.ok === true ? stored.file : null
    const file = ownFile ?? (read.page === null ? null : await this.#keepPage(read.page, n, signal))
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

  /** A page whose reading the system ends again and again must not fail the quote for a day: the page has no readable price. */
  async #readPage(link: string, n: number, stored: StoredPage | undefined, signal: AbortSignal): Promise<PageReading> {
    const { pages } = this.#options.providers
    const job = this.#pageJob(n)
    try {
      if (!('fetch' in pages)) return await pages.readLink(job, link, signal)
      return await pages.read(job, await this.#bytesOf(stored!), signal)
    } catch (error) {
      const isKilled = isRetomaError(error, 'isolated_crash')
      if (!isKilled || !(await this.#isLastFailure(job.name, mostKilledReadings))) throw error
      return {
        found: false,
        reason: 'unreadable',
        sentence: sentenceOf('unreadable'),
        temporary: false,
        finalUrl: null,
        seenAt: clockOf(this.#engine).now(),
        page: null,
        contentType: null,
      }
    }
  }

  async #bytesOf(stored: StoredPage): Promise<Fetched> {
    if (!stored.ok) return stored
    const { file, ...rest } = stored
    const opened = await this.#ctx.files.open(file)
    // The file belongs to the job: only an erasure of the quote removes the file.
    if (opened === null) throw new Error(`the stored page ${file} is gone`)
    const pieces: Uint8Array[] = []
    for await (const piece of opened.bytes) pieces.push(piece)
    return { ...rest, page: await promisify(gunzip)(Buffer.concat(pieces)) }
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
   * Sends one request to a provider, within the limits of the provider over all workers. A free request, such as one to a simulated provider,
   * has no limits. The turn comes
   * first: a provider that asked for a wait meanwhile gets no request of the quotes that waited for a turn. `step`: the step of the request,
   * which gets at most `mostUseless` useless answers.
   */
  async #ask<T>(
    name: 'anthropic' | 'serpapi' | 'fipe',
    step: string,
    isFree: boolean,
    signal: AbortSignal,
    request: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    if (isFree) return request(signal)
    const { concurrency, requestsPerMinute } = this.#options.limits[name]
    const turn = { limit: concurrency, owner: this.#ctx, longest: longestRequest, signal }
    try {
      return await withTurn(this.#engine, `provider:${name}`, turn, () => {
        this.#noteProgress()
        return this.#ctx.provider(name, async () => {
          if (requestsPerMinute !== undefined) await takeHit(this.#engine, name, requestsPerMinute, signal)
          return request(signal)
        })
      })
    } catch (error) {
      const isUseless = error instanceof Error && 'code' in error && error.code === 'provider_useless'
      throw isUseless && (await this.#isLastFailure(step, mostUseless)) ? doNotRetry(error) : error
    }
  }
}

const progressOf = ({ checkpoint, progress }: Position) => ({ done: progress, total: 100, note: checkpoint })

/**
 * A description of a new vehicle: without a year the price of a new one is the right one. A bare "novo" or "new" says nothing: both are part
 * of names of models, such as "Novo Uno" and "New Civic".
 */
const saysNew =
  /\b(?:0|zero)[\s-]*km\b|\bzero[\s-]quil|\b(?:carro|ve[ií]culo|autom[oó]vel|moto|caminh[aã]o)\s+(?:nov[oa]|zero|0)\b|\bnew car\b/i

/** Why the year of the price may be the wrong one, for a description without a year. null: the description names a new vehicle, as the price. */
function doubtOfYear(description: string, year: number): string | null {
  // FIPE writes 32000 for a new vehicle.
  const isNew = year >= 32_000
  const asksNew = saysNew.test(description.normalize('NFC'))
  if (isNew) return asksNew ? null : 'o ano não foi informado: o preço é de um veículo zero km'
  const why = asksNew ? 'a FIPE não tem o zero km deste modelo' : 'o ano não foi informado'
  return `${why}: o preço é de um veículo de ${year}, o ano mais novo`
}

/** A quote that comes too early is deferred until its turn, without any cost. */
async function takeHit(engine: Engine, name: string, limit: number, signal: AbortSignal): Promise<void> {
  const ask = () => engine.limit({ bucket: name, who: 'requests', limit, per: minutes(1) })
  const { allowed, retryAfterSeconds } = await retryWhileDatabaseAway(engine, ask, signal)
  if (!allowed) throw providerWait({ retryAfter: seconds(retryAfterSeconds), message: 'requests per minute' })
}

/** The oldest quote that is still tried. */
export const longestTries = hours(24)
