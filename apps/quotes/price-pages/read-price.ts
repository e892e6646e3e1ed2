/**
 * Reads the price of a page from its bytes: from JSON-LD, then from microdata, then from meta tags. A pure function of hostile bytes; the
 * caller runs the function in a separate process with limits (read-isolated.ts).
 *
 * A page that says "out of stock" or names another currency in one form is not read in a later form: the later form often has an old price.
 */
import type { PriceFound } from '../providers/types.ts'
import { decodePage } from './charset.ts'
import { parseLenient } from './lenient-json.ts'
import { readAmount, readCurrency } from './money-text.ts'
import { collectFacts, type Item, type PageFacts } from './page-facts.ts'
import { findProductPrice, type Node, type PageAddress, type ProductPrice } from './product-data.ts'

export interface PageBytes {
  page: Uint8Array
  contentType: string | null
  finalUrl: string
}

export type ReadPrice =
  | ({ found: true } & Pick<PriceFound, 'price' | 'currency' | 'source' | 'snippet' | 'title'>)
  | {
      found: false
      reason: 'no_price' | 'other_currency' | 'out_of_stock' | 'several_products'
      /** Of `other_currency`; null: the page names no currency. */
      currency: string | null
      title: string | null
    }

const longestSnippet = 300
const longestTitle = 300

export function readPrice({ page, contentType, finalUrl }: PageBytes): ReadPrice {
  const html = decodePage(page, contentType)
  const facts = collectFacts(html)
  const address = addressOf(facts, finalUrl)
  const values = facts.jsonLd.map(text => ({ text, roots: parseLenient(text) }))
  const ways: [PriceFound['source'], () => Read][] = [
    ['json-ld', () => fromJsonLd(values, address)],
    ['microdata', () => fromMicrodata(facts, html, address)],
    ['meta', () => fromMetas(facts, html, address)],
  ]
  let ambiguous = false
  for (const [source, way] of ways) {
    const read = way()
    const title = cut(titleOf(read) ?? address.title, longestTitle)
    if (read.is === 'found') {
      const { price, currency, snippet } = read
      return { found: true, price, currency, source, snippet: cut(snippet, longestSnippet) ?? '', title }
    }
    if (read.is === 'other_currency') return { found: false, reason: read.is, currency: read.currency, title }
    if (read.is === 'out_of_stock') return { found: false, reason: read.is, currency: null, title }
    ambiguous ||= read.is === 'several_products'
  }
  const reason = ambiguous ? 'several_products' : 'no_price'
  return { found: false, reason, currency: null, title: cut(address.title, longestTitle) }
}

type Read =
  | { is: 'found'; price: string; currency: string; snippet: string; title: string | null }
  | Exclude<ProductPrice, { is: 'found' }>

const titleOf = (read: Read): string | null => ('title' in read ? read.title : null)

function addressOf(facts: PageFacts, finalUrl: string): PageAddress {
  const meta = (name: string) => facts.metas.find(each => each.name === name)?.content
  const links = [finalUrl, facts.canonical, meta('og:url')]
  const urls = links.flatMap(link => (link && URL.canParse(link, finalUrl) ? [new URL(link, finalUrl).href] : []))
  const isBrazilian =
    /\.br$/.test(new URL(finalUrl).hostname) ||
    /^pt[-_]br$/i.test(facts.lang) ||
    /^pt_br$/i.test(meta('og:locale') ?? '')
  return { urls, title: meta('og:title') || facts.title, assumed: isBrazilian ? 'BRL' : null }
}

function fromJsonLd(values: { text: string; roots: unknown[] }[], address: PageAddress): Read {
  const price = findProductPrice(
    values.map(({ roots }) => roots),
    address,
  )
  if (price.is !== 'found') return price
  return { ...price, snippet: scriptPart(values, price.raw) ?? JSON.stringify(price.offer) }
}

/** The part of a script around the price. */
function scriptPart(values: { text: string }[], raw: string): string | undefined {
  const zeros = /^\d+\.\d+$/.test(raw) ? '0*' : /^\d+$/.test(raw) ? '(?:\\.0+)?' : ''
  const escaped = `${raw.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}${zeros}`
  const pattern = new RegExp(`"(?:price|lowPrice|minPrice|@value)"\\s*:\\s*"?${escaped}"?(?![\\d.,])`)
  for (const { text } of values) {
    const at = pattern.exec(text)
    if (at !== null) return text.slice(Math.max(at.index - 100, 0), at.index + at[0].length + 100).trim()
  }
  return undefined
}

/** Microdata as nodes of schema.org. */
function fromMicrodata(facts: PageFacts, html: string, address: PageAddress): Read {
  const places = new Map<Node, { start: number; end: number }>()
  const roots = facts.items.map(item => nodeOf(item, places))
  const price = findProductPrice(roots, address)
  if (price.is === 'none') return fromLoose(facts, html, address)
  if (price.is !== 'found') return price
  const place = places.get(price.offer)
  return { ...price, snippet: place === undefined ? price.raw : html.slice(place.start, place.end) }
}

const deepest = 20

function nodeOf({ types, properties }: Item, places: Map<Node, { start: number; end: number }>, depth = 0): Node {
  const node: Node = Object.assign(Object.create(null), { '@type': types })
  for (const { name, value, start, end } of properties) {
    if (typeof value !== 'string' && depth >= deepest) continue
    const each = typeof value === 'string' ? value : nodeOf(value, places, depth + 1)
    node[name] = Object.hasOwn(node, name) ? [node[name], each].flat() : each
    if (/^(?:low)?price$/i.test(name) && !places.has(node)) places.set(node, { start, end })
  }
  return node
}

/** A price outside of any item counts if the page has a single such price. */
function fromLoose({ loose }: PageFacts, html: string, { assumed }: PageAddress): Read {
  const prices = loose.flatMap(({ name, value, start, end }) => {
    const price = name === 'price' && typeof value === 'string' ? readAmount(value) : null
    return price === null ? [] : [{ price, start, end, text: value as string }]
  })
  const [one] = prices
  if (one === undefined || prices.some(({ price }) => price !== one.price)) return { is: 'none' }
  const named = loose.find(({ name }) => name === 'priceCurrency')?.value
  return inCurrency(one.price, readCurrency(named) ?? readCurrency(one.text) ?? assumed, html.slice(one.start, one.end))
}

const amountMetas = [
  'product:sale_price:amount',
  'product:price:amount',
  'og:price:amount',
  'product:price',
  'twitter:data1',
]

function fromMetas({ metas }: PageFacts, html: string, { assumed }: PageAddress): Read {
  const find = (name: string) => metas.find(each => each.name === name)
  for (const name of amountMetas) {
    // A card of Twitter has any two facts.
    if (name === 'twitter:data1' && !/pre[cç]o|price|valor/i.test(find('twitter:label1')?.content ?? '')) continue
    const meta = find(name)
    const price = readAmount(meta?.content)
    if (meta === undefined || price === null) continue
    const stock = find('product:availability') ?? find('og:availability')
    if (/out\s?of\s?stock|oos|sold\s?out|esgotado|indispon/i.test(stock?.content ?? ''))
      return { is: 'out_of_stock', title: null }
    const currency =
      find(name.replace(/:amount$/, ':currency')) ?? find('product:price:currency') ?? find('og:price:currency')
    return inCurrency(
      price,
      readCurrency(currency?.content) ?? readCurrency(meta.content) ?? assumed,
      html.slice(meta.start, meta.end),
    )
  }
  return { is: 'none' }
}

const inCurrency = (price: string, currency: string | null, snippet: string): Read =>
  currency === 'BRL'
    ? { is: 'found', price, currency, snippet, title: null }
    : { is: 'other_currency', price, currency, title: null }

const cut = (text: string | null, most: number): string | null =>
  text === null || text.length <= most ? text : text.slice(0, most).toWellFormed()
