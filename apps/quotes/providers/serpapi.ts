/**
 * Searches products at SerpApi: `google_shopping` for the products, `google_immersive_product` for the shops of a product. `judgeSearch` is
 * the pure function from an answer to a verdict.
 *
 * The key is a parameter of the address. Invariant: no address leaves this file. A saved response has no key, no link to SerpApi and no
 * image. "No results" is a result, not a failure. Status 429 is a wait for the hourly limit, and a stop if the account is out of searches.
 */
import {
  callProvider,
  type Duration,
  hideSecrets,
  judgeAnswer,
  type LocalizedText,
  localized,
  meaningOfStatus,
  type ProblemMeaning,
  type ProviderAnswer,
  type ProviderFacts,
  type ProviderVerdict,
  unwrapVerdict,
  uselessAnswer,
} from 'retoma'
import { readAmount, readCurrency } from '../price-pages/money-text.ts'
import { type Fields, fields, list, parsed, textOrNull, word } from './json-fields.ts'
import type { JsonValue, Shop, ShoppingProduct, ShoppingProvider } from './types.ts'

export interface SerpApiOptions {
  key: string
  baseUrl: string
  timeout?: Duration | undefined
}

const mostProducts = 60
const mostShops = 40
const longestLink = 4096

export function serpApiProvider({ key, baseUrl, timeout }: SerpApiOptions): ShoppingProvider {
  const ask = async (parameters: Record<string, string>, signal: AbortSignal): Promise<Fields> => {
    const query = new URLSearchParams({ ...parameters, gl: 'br', hl: 'pt-br', api_key: key })
    const headers = { accept: 'application/json' }
    const answer = await callProvider({ baseUrl, path: `/search.json?${query}`, headers, timeout }, signal)
    return unwrapVerdict(judgeSearch(answer, key), 'pt')
  }
  return {
    simulated: false,
    search: async (query, signal) => {
      const body = await ask({ engine: 'google_shopping', q: query, google_domain: 'google.com.br' }, signal)
      return { products: productsIn(body), response: savedResponse(body, key) }
    },
    shops: async (product, signal) => {
      const { pageToken } = product
      if (pageToken === null) return { shops: shopOf(product), response: null }
      const body = await ask({ engine: 'google_immersive_product', page_token: pageToken, more_stores: 'true' }, signal)
      return { shops: shopsIn(body), response: savedResponse(body, key) }
    },
  }
}

/** A product without a page token has at most one shop: the shop of the first search. */
const shopOf = ({ source, link, price, currency }: ShoppingProduct): Shop[] =>
  link === null ? [] : [{ name: source ?? hostOf(link), link, price, currency }]

const noResults = /(?:hasn't|has not|haven't|did not|didn't) return(?:ed)? any results|no results|fully empty/i
/** "Your account has run out of searches.", "Your searches for the month are exhausted." */
const outOfSearches =
  /run out of searches|out of searches|searches[^.]{0,40}(?:exhausted|exceeded|used up)|no searches left|upgrade your plan/i
const hourly = /hour|throughput|too many|rate.?limit/i

export function judgeSearch(answer: ProviderAnswer, key: string): ProviderVerdict<Fields> {
  const service: ProviderFacts = { name: 'SerpApi', setting: 'SERPAPI_BASE_URL', secrets: [key] }
  if ('failure' in answer) return judgeAnswer(answer, service)
  const { status } = answer
  const body = fields(parsed(answer.body))
  const useless = (problem: LocalizedText) => uselessAnswer(service, problem)
  const words = word(body?.error) || word(fields(body?.error)?.message)
  const isSuccess = status >= 200 && status < 300
  if (!isSuccess || words !== '') {
    if (isSuccess && body !== undefined && noResults.test(words)) return { is: 'ok', value: body }
    const said = words || (body === undefined ? answer.body : '')
    return judgeAnswer(answer, service, { meaning: meaningOf(isSuccess ? 500 : status, said), words: said })
  }
  const state = word(fields(body?.search_metadata)?.status)
  if (body === undefined) return useless(localized('it is no JSON', 'não é JSON'))
  if (/^(?:queued|processing)$/i.test(state))
    return useless(localized('the search is unfinished', 'a busca não terminou'))
  if (/^error$/i.test(state)) return useless(localized('the search failed', 'a busca falhou'))
  if (!knownKeys.some(name => Object.hasOwn(body, name)))
    return useless(localized('it is no search', 'não é uma busca'))
  return { is: 'ok', value: body }
}

const knownKeys = [
  'search_metadata',
  'shopping_results',
  'product_results',
  'inline_shopping_results',
  'search_information',
]

function meaningOf(status: number, words: string): ProblemMeaning {
  if (outOfSearches.test(words) && !(status === 429 && hourly.test(words) && !/out of searches/i.test(words)))
    return 'stop'
  if (/invalid api key|api[_ ]key/i.test(words) && status < 500) return 'stop'
  if (status === 500 && hourly.test(words)) return 'wait'
  return meaningOfStatus(status)
}

function productsIn(body: Fields): ShoppingProduct[] {
  const found = [...list(body.shopping_results), ...list(body.inline_shopping_results)]
    .map(fields)
    .filter(each => each !== undefined)
    .slice(0, mostProducts)
  const fresh = found.filter(each => each.second_hand_condition === undefined)
  const tokens = new Set<string>()
  return (fresh.length > 0 ? fresh : found).flatMap((each, index) => {
    const product = productOf(each, index)
    if (product === null || (product.pageToken !== null && tokens.has(product.pageToken))) return []
    if (product.pageToken !== null) tokens.add(product.pageToken)
    return [product]
  })
}

function productOf(each: Fields, index: number): ShoppingProduct | null {
  const title = textOrNull(each.title)
  if (title === null) return null
  const position = Number(word(each.position))
  return {
    position: Number.isInteger(position) && position > 0 ? position : index + 1,
    title,
    productId: textOrNull(each.product_id, 200),
    source: textOrNull(each.source, 200),
    ...priceOf(each),
    pageToken: textOrNull(each.immersive_product_page_token, 8000),
    link: shopLink(each.link) ?? shopLink(each.product_link),
  }
}

function shopsIn(body: Fields): Shop[] {
  const result = fields(body.product_results)
  const links = new Set<string>()
  return [...list(result?.stores), ...list(body.stores)].slice(0, mostShops * 2).flatMap(given => {
    const each = fields(given)
    const link = shopLink(each?.link)
    if (each === undefined || link === null || links.has(link) || links.size >= mostShops) return []
    links.add(link)
    return [{ name: textOrNull(each.name, 200) ?? hostOf(link), link, ...priceOf(each) }]
  })
}

function priceOf({ price, extracted_price }: Fields): { price: string | null; currency: string } {
  const amount = readAmount(word(price)) ?? readAmount(typeof extracted_price === 'number' ? extracted_price : null)
  return { price: amount, currency: readCurrency(word(price)) ?? 'BRL' }
}

/** Google's own pages are no shop; a link through Google names the shop in a parameter. */
function shopLink(value: unknown): string | null {
  if (typeof value !== 'string' || value.length > longestLink || !URL.canParse(value)) return null
  const url = new URL(value)
  if (!/^https?:$/.test(url.protocol) || url.username !== '') return null
  if (!/(?:^|\.)(?:google\.[a-z.]{2,6}|serpapi\.com)$/.test(url.hostname)) return url.href
  const inner = url.pathname === '/url' ? (url.searchParams.get('url') ?? url.searchParams.get('q')) : null
  return inner === null ? null : shopLink(inner)
}

const hostOf = (link: string): string => new URL(link).hostname.replace(/^www\./, '')

const longestResponse = 700_000
const kept = ['search_metadata', 'search_parameters', 'search_information', 'shopping_results', 'inline_shopping_results', 'product_results', 'error'] // biome-ignore format: read as one list
const dropped =
  /^(?:api_key|thumbnails?|serpapi_.*|images?|favicon|source_icon|json_endpoint|.*_url|raw_.*_file|filters|reviews?_results|user_reviews|more_options|related_.*)$/

/** The response to save: without the key, links to SerpApi, images and parts that nobody reads. */
function savedResponse(body: Fields, key: string): JsonValue {
  const parts = Object.fromEntries(kept.flatMap(name => (Object.hasOwn(body, name) ? [[name, body[name]]] : [])))
  const saved = clean(parts, key) as Record<string, JsonValue>
  for (const name of ['inline_shopping_results', 'shopping_results', 'product_results'])
    if (JSON.stringify(saved).length > longestResponse) saved[name] = []
  return saved
}

const deepest = 12

function clean(value: unknown, key: string, depth = 0): JsonValue {
  if (typeof value === 'string') return hideSecrets(value, [key]).toWellFormed().replaceAll('\u0000', '')
  if (typeof value === 'number') return Number.isFinite(value) ? value : null
  if (typeof value === 'boolean' || value === null) return value
  if (typeof value !== 'object' || depth >= deepest) return null
  if (Array.isArray(value)) return value.slice(0, 200).map(each => clean(each, key, depth + 1))
  return Object.fromEntries(
    Object.entries(value as Fields)
      .filter(([name]) => !dropped.test(name))
      .map(([name, each]) => [hideSecrets(name, [key]).replaceAll('\u0000', ''), clean(each, key, depth + 1)]),
  )
}
