/**
 * Defines the interfaces between the pipeline of a quote and the outside services: the analysis, the shopping search, the vehicle prices
 * and the price pages. The clients of this folder and the simulated providers implement the first three.
 *
 * A method of a provider runs inside `ctx.provider(name, …)`. A method throws `providerWait` and `providerStop` of the engine, an error
 * with `doNotRetry` if another request would end the same way (only this quote or this product is concerned), and an ordinary error for
 * a failed attempt.
 *
 * Invariant: no value, error or cause of a provider contains a key.
 */

export type JsonValue = null | boolean | number | string | JsonValue[] | { [name: string]: JsonValue }

export type VehicleType = 'cars' | 'motorcycles' | 'trucks'

export type Analysis =
  | {
      kind: 'vehicle'
      vehicleType: VehicleType
      brand: string
      model: string
      /** null: a new vehicle. */
      year: number | null
      fuel: string | null
    }
  | { kind: 'product'; title: string; query: string; brand: string | null; model: string | null }

export interface AnalysisRequest {
  description: string
  /** undefined: the analysis decides. */
  kind?: 'vehicle' | 'product' | undefined
}

export interface AnalysisProvider {
  readonly simulated: boolean
  analyse(
    request: AnalysisRequest,
    signal: AbortSignal,
  ): Promise<{
    analysis: Analysis
    /** The answer as saved in `claude_payload_json`, without secrets. */
    payload: JsonValue
    inputTokens: number
    outputTokens: number
  }>
}

export interface ShoppingProduct {
  position: number
  title: string
  productId: string | null
  /** The name of the shop. */
  source: string | null
  /** A decimal with two places: "3499.00". */
  price: string | null
  currency: string
  /** The argument of the second search; null: only `link` leads to a shop. */
  pageToken: string | null
  /** The page of the shop, if the search names the page. */
  link: string | null
}

export interface Shop {
  name: string
  link: string
  /** A decimal with two places. */
  price: string | null
  currency: string
}

/** Each call of `search`, and each call of `shops` for a product with a page token, is a paid search. */
export interface ShoppingProvider {
  readonly simulated: boolean
  search(query: string, signal: AbortSignal): Promise<{ products: ShoppingProduct[]; response: JsonValue }>
  shops(product: ShoppingProduct, signal: AbortSignal): Promise<{ shops: Shop[]; response: JsonValue }>
}

/** A brand, a model, a year or a reference month of FIPE. */
export interface VehicleEntry {
  code: string
  name: string
}

export interface VehiclePrice {
  brand: string
  model: string
  /** 32000: a new vehicle. */
  modelYear: number
  fuel: string
  codeFipe: string
  /** A decimal with two places, in BRL. */
  price: string
  referenceMonth: string
}

/** `reference`: the code of a reference month. */
export interface VehicleProvider {
  readonly simulated: boolean
  /** Names the origin of the answers: kept answers of one source are never answers of another source. */
  readonly source: string
  /** The reference months, the newest first. */
  references(signal: AbortSignal): Promise<VehicleEntry[]>
  brands(type: VehicleType, reference: string, signal: AbortSignal): Promise<VehicleEntry[]>
  models(type: VehicleType, brandCode: string, reference: string, signal: AbortSignal): Promise<VehicleEntry[]>
  years(
    type: VehicleType,
    brandCode: string,
    modelCode: string,
    reference: string,
    signal: AbortSignal,
  ): Promise<VehicleEntry[]>
  price(
    type: VehicleType,
    brandCode: string,
    modelCode: string,
    yearCode: string,
    reference: string,
    signal: AbortSignal,
  ): Promise<VehiclePrice>
}

/** Why a page has no usable price. price-pages/reasons.ts has a sentence for each reason. */
export type NoPriceReason =
  | 'bad_link'
  | 'forbidden_address'
  | 'robots'
  | 'unreachable'
  | 'timeout'
  | 'too_large'
  | 'too_many_redirects'
  | 'http_status'
  | 'not_html'
  | 'bad_encoding'
  | 'unreadable'
  | 'no_price'
  | 'other_currency'
  | 'out_of_stock'
  | 'several_products'

/** A fetched page: the body without its content encoding, in its own charset. */
export interface FetchedPage {
  /** The link after all redirects. */
  finalUrl: string
  contentType: string | null
  page: Uint8Array
  seenAt: Date
}

export interface NoPrice {
  found: false
  reason: NoPriceReason
  /** In Portuguese, for people. */
  sentence: string
  /** True: the same link may have a price later (time-out, 5xx, 429). */
  temporary: boolean
  finalUrl: string | null
  seenAt: Date
  /** The page without a price, as evidence; null: no page arrived. */
  page: Uint8Array | null
  contentType: string | null
}

export interface PriceFound extends FetchedPage {
  found: true
  /** A decimal with two places. */
  price: string
  /** Always BRL; a price in another currency is `other_currency`. */
  currency: string
  source: 'json-ld' | 'microdata' | 'meta'
  /** The part of the page with the price, at most 300 characters. */
  snippet: string
  title: string | null
}

export type PageReading = PriceFound | NoPrice

/** `read` never rejects, except with the reason of `signal` and with an error of the host turns. */
export interface PriceReader {
  read(link: string, signal: AbortSignal): Promise<PageReading>
}

/**
 * The limit of two requests at once to each host, over all workers. `enter` resolves with a function that gives the turn back, and must be
 * safe against a crash (a turn ends by itself after `longestTurn` of price-pages/fetch-page.ts). If no turn is free, `enter` may wait, or
 * throw `providerWait({ retryAfter })`: the error passes through `read` unchanged, and the engine defers the job.
 */
export interface HostTurns {
  enter(host: string, signal: AbortSignal): Promise<() => Promise<void> | void>
}
