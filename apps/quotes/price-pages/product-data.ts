/**
 * Finds the price of the product of a page in nodes of schema.org: Product, ProductGroup, Offer, AggregateOffer, in arrays, in `@graph`,
 * behind `@id`, in variants. Microdata comes in the same form (read-price.ts). A pure function; the number of visited nodes is bounded.
 *
 * The price of a page: of the product with the address of the page, otherwise of the product named in the title, otherwise of the first
 * product. Of several offers the offer with the address of the page, otherwise the lowest price; offers out of stock do not count, and
 * used goods count only if nothing else is there.
 */
import { compareAmounts, readAmount, readCurrency } from './money-text.ts'

export type Node = Record<string, unknown>

export type ProductPrice =
  | { is: 'found'; price: string; currency: string; offer: Node; raw: string; title: string | null }
  | { is: 'other_currency'; price: string; currency: string | null; title: string | null }
  | { is: 'out_of_stock'; title: string | null }
  | { is: 'several_products' }
  | { is: 'none' }

export interface PageAddress {
  /** The final link and the canonical link. */
  urls: readonly string[]
  title: string | null
  /** The currency of a price without a currency; null: not known. */
  assumed: string | null
}

interface Candidate {
  price: string
  currency: string | null
  /** The text or number of the price, as in the page. */
  raw: string
  isOut: boolean
  isUsed: boolean
  isHere: boolean
  offer: Node
}

const mostNodes = 20_000
const expected = 'BRL'
const productTypes =
  /^(?:product|productgroup|productmodel|individualproduct|someproducts|vehicle|car|motorcycle|book)$/
const offerTypes = /^(?:offer|aggregateoffer|offerforpurchase|demand)$/
/** Products behind these properties are not the product of the page. */
const aside =
  /^(?:isrelatedto|issimilarto|isaccessoryorsparepartfor|isconsumablefor|review|isvariantof|addon|additem)$/i

export function findProductPrice(roots: readonly unknown[], page: PageAddress): ProductPrice {
  const { products, listed, offers, byId } = collect(roots)
  const mains = products.length > 0 ? products : listed
  const priced = mains
    .map(product => ({ product, candidates: candidatesOf(product, page, byId) }))
    .filter(({ candidates }) => candidates.length > 0)
  if (priced.length > 1 && products.length === 0) return { is: 'several_products' }
  const chosen = priced.length > 0 ? theProduct(priced, page) : undefined
  if (chosen !== undefined) return choose(chosen.candidates, page, nameOf(chosen.product))
  const loose = offers.flatMap(offer => offerCandidates(offer, page, byId, 0))
  return loose.length === 0 ? { is: 'none' } : choose(loose, page, null)
}

interface Collected {
  products: Node[]
  /** Products of a list, such as a category or a carousel. */
  listed: Node[]
  /** Offers outside of a product. */
  offers: Node[]
  byId: Map<string, Node>
}

function collect(roots: readonly unknown[]): Collected {
  const found: Collected = { products: [], listed: [], offers: [], byId: new Map() }
  const queue: { value: unknown; isListed: boolean }[] = roots.map(value => ({ value, isListed: false }))
  for (let at = 0; at < queue.length && at < mostNodes; at++) {
    const { value, isListed } = queue[at]!
    if (Array.isArray(value)) {
      for (const each of value) queue.push({ value: each, isListed })
      continue
    }
    const node = nodeOf(value)
    if (node === undefined) continue
    remember(found.byId, node)
    const isProduct = typesOf(node).some(type => productTypes.test(type))
    if (isProduct) (isListed ? found.listed : found.products).push(node)
    const isOffer = typesOf(node).some(type => offerTypes.test(type))
    if (isOffer) found.offers.push(node)
    for (const [name, each] of Object.entries(node)) {
      if (typeof each !== 'object' || each === null || aside.test(name)) continue
      // The offers and the variants of a product belong to the product.
      if (isProduct && /^(?:offers|hasvariant|model|pricespecification)$/i.test(name)) continue
      if (isOffer && /^(?:offers|pricespecification)$/i.test(name)) continue
      queue.push({ value: each, isListed: isListed || /^itemlistelement$/i.test(name) })
    }
  }
  return found
}

function remember(byId: Map<string, Node>, node: Node): void {
  const id = node['@id']
  if (typeof id !== 'string' || Object.keys(node).length < 2) return
  const known = byId.get(id)
  byId.set(id, known === undefined ? node : { ...known, ...node })
}

type Ids = ReadonlyMap<string, Node>

/** A node that has only an `@id` stands for the node with this `@id`. */
function resolved(node: Node, byId: Ids): Node {
  const id = node['@id']
  return typeof id === 'string' && Object.keys(node).length === 1 ? (byId.get(id) ?? node) : node
}

const deepest = 5

function candidatesOf(product: Node, page: PageAddress, byId: Ids, depth = 0): Candidate[] {
  if (depth > deepest) return []
  const own = nodesOf(product.offers).flatMap(offer => offerCandidates(offer, page, byId, depth))
  const direct = own.length === 0 ? offerCandidates({ ...product, offers: undefined }, page, byId, depth) : []
  const variants = [...nodesOf(product.hasVariant), ...nodesOf(product.model)].flatMap(variant =>
    candidatesOf(resolved(variant, byId), page, byId, depth + 1).map(candidate => ({
      ...candidate,
      isHere: candidate.isHere || isAddressOf(variant, page),
    })),
  )
  return [...own, ...direct, ...variants].slice(0, 1000)
}

function offerCandidates(given: Node, page: PageAddress, byId: Ids, depth: number): Candidate[] {
  if (depth > deepest) return []
  const offer = resolved(given, byId)
  const inner = nodesOf(offer.offers).flatMap(each => offerCandidates(each, page, byId, depth + 1))
  if (inner.length > 0) return inner
  const specifications = nodesOf(offer.priceSpecification).map(each => resolved(each, byId))
  const usable = specifications.filter(isPayable)
  const given1 = [offer.lowPrice, offer.price].flatMap(listOf).map(value => ({ value, from: offer }))
  const given2 = usable.flatMap(each => listOf(each.price ?? each.minPrice).map(value => ({ value, from: each })))
  for (const { value, from } of [...given1, ...given2]) {
    const scalar = scalarOf(value)
    const price = readAmount(scalar)
    if (price === null) continue
    const currencies = [from, offer, ...specifications].map(each => scalarOf(first(each.priceCurrency)))
    const currency = [...currencies, scalar].map(readCurrency).find(code => code !== null) ?? page.assumed
    return [
      {
        price,
        currency,
        raw: String(scalar),
        isOut: isOutOfStock(first(offer.availability)),
        isUsed: /used|refurbished|damaged|usado|recondicionado/i.test(textOf(first(offer.itemCondition))),
        isHere: isAddressOf(offer, page),
        offer,
      },
    ]
  }
  return []
}

/** A price that a buyer pays: not the price before a discount, of a unit, of an instalment or of a member. */
function isPayable(specification: Node): boolean {
  const { priceType, billingDuration, billingIncrement, validForMemberTier, referenceQuantity } = specification
  if (/list|msrp|srp|strikethrough|regular/i.test(textOf(first(priceType)))) return false
  if (billingDuration !== undefined || billingIncrement !== undefined || validForMemberTier !== undefined) return false
  const quantity = nodeOf(first(referenceQuantity))
  return quantity === undefined || textOf(scalarOf(quantity.value)) === '1'
}

const isOutOfStock = (availability: unknown): boolean =>
  /out_?\s?of_?\s?stock|sold_?\s?out|discontinued|esgotado|indispon[ií]vel|^oos$/i.test(textOf(availability))

interface Priced {
  product: Node
  candidates: Candidate[]
}

function theProduct(priced: Priced[], page: PageAddress): Priced {
  const here = priced.find(({ product }) => isAddressOf(product, page))
  if (here !== undefined || priced.length === 1) return here ?? priced[0]!
  const title = fold(page.title ?? '')
  const named = priced.find(({ product }) => {
    const name = fold(nameOf(product) ?? '')
    return name.length > 2 && title.length > 2 && (title.includes(name) || name.includes(title))
  })
  return named ?? priced[0]!
}

function choose(all: Candidate[], { assumed }: PageAddress, title: string | null): ProductPrice {
  const inStock = all.filter(({ isOut }) => !isOut)
  if (inStock.length === 0) return { is: 'out_of_stock', title }
  const usual = inStock.filter(({ currency }) => currency === expected)
  if (usual.length === 0) {
    const { price, currency } = inStock[0]!
    return { is: 'other_currency', price, currency: currency ?? assumed, title }
  }
  const fresh = usual.some(({ isUsed }) => !isUsed) ? usual.filter(({ isUsed }) => !isUsed) : usual
  const here = fresh.filter(({ isHere }) => isHere)
  const { price, offer, raw } = (here.length > 0 ? here : fresh).reduce((least, each) =>
    compareAmounts(each.price, least.price) < 0 ? each : least,
  )
  return { is: 'found', price, currency: expected, offer, raw, title }
}

function isAddressOf(node: Node, { urls }: PageAddress): boolean {
  const links = [node.url, node['@id'], node.mainEntityOfPage].flatMap(listOf).map(each => {
    const id = nodeOf(each)?.['@id']
    return typeof each === 'string' ? each : typeof id === 'string' ? id : ''
  })
  return links.some(link => link !== '' && urls.some(url => samePage(link, url)))
}

function samePage(link: string, url: string): boolean {
  if (!URL.canParse(link, url)) return false
  const [one, other] = [new URL(link, url), new URL(url)]
  return (
    one.host.replace(/^www\./, '') === other.host.replace(/^www\./, '') &&
    one.pathname.replace(/\/$/, '') === other.pathname.replace(/\/$/, '') &&
    one.pathname !== '/' &&
    (one.search === other.search || one.search === '')
  )
}

const nameOf = (node: Node): string | null => {
  const name = textOf(scalarOf(first(node.name)))
    .replace(/\s+/g, ' ')
    .trim()
  return name === '' ? null : name.slice(0, 300)
}

const fold = (text: string): string =>
  text
    .normalize('NFD')
    .replace(/[^\p{L}\p{N}]+/gu, '')
    .toLowerCase()

const typesOf = (node: Node): string[] =>
  listOf(node['@type']).map(type =>
    textOf(type)
      .replace(/^https?:\/\/(?:www\.)?schema\.org\//i, '')
      .replace(/^schema:/i, '')
      .toLowerCase(),
  )

const nodeOf = (value: unknown): Node | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Node) : undefined
const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value.slice(0, 1000) : [value])
const nodesOf = (value: unknown): Node[] =>
  listOf(value).flatMap(each => {
    const node = nodeOf(each)
    return node === undefined ? [] : [node]
  })
const first = (value: unknown): unknown => (Array.isArray(value) ? value[0] : value)
const textOf = (value: unknown): string => (typeof value === 'string' || typeof value === 'number' ? String(value) : '')
/** `{ "@value": "10.00" }` is a written form of a scalar. */
const scalarOf = (value: unknown): unknown => {
  const node = nodeOf(value)
  return node === undefined ? value : node['@value']
}
