/**
 * Simulates the shopping search and the price pages: 3 to 12 shops for each text, with prices around one price, some shops without stock,
 * and some prices far off.
 */
import { textOf } from '../../money.ts'
import type { PageReading, Shop, ShoppingProduct, ShoppingProvider } from '../types.ts'
import { type Chance, chanceOf, type Pause } from './chance.ts'

const shopNames = ['Magazine Aurora', 'Casas Ipê', 'Loja Tamoio', 'Mercado Sabiá', 'Ponto Claro', 'Eletro Jequitibá', 'Compra Certa', 'Shop Guará', 'Lojas Mantiqueira', 'Via Araucária', 'Bazar Pampa', 'Outlet Serra'] // biome-ignore format: read as one list

/** A link of this host is read by `simulatedPage` alone; `.example` leads nowhere. */
const host = 'lojas-simuladas.example'
const mostShops = 4

interface Offer {
  shop: string
  cents: bigint
  inStock: boolean
}

/** Every offer for a text, the same for the same text. */
function offersOf(query: string): Offer[] {
  const chance = chanceOf('offers', query.toLowerCase())
  const base = basePrice(chance)
  const count = chance.whole(3, shopNames.length)
  const first = chance.whole(0, shopNames.length - 1)
  return Array.from({ length: count }, (_, index) => ({
    shop: shopNames[(first + index) % shopNames.length]!,
    cents: priceAround(base, chance),
    inStock: chance.next() >= 0.12,
  }))
}

/** Between 49.90 and some 9,000.00, in the form of shops: 3.499,00 or 1.199,90. */
function basePrice(chance: Chance): number {
  const size = chance.pick([60, 250, 900, 2500, 6000])
  return chance.whole(Math.floor(size * 0.8), Math.floor(size * 1.5)) * 100 - chance.pick([10, 0, 1])
}

function priceAround(base: number, chance: Chance): bigint {
  // One price in eight belongs to another product, or to a part of the product.
  const factor = chance.next() < 0.125 ? chance.pick([22, 31, 260, 340]) : chance.whole(93, 109)
  return BigInt(Math.round((base * factor) / 100))
}

const productId = (query: string, n: number) => `${encodeURIComponent(query.toLowerCase())}/${n}`

export function simulatedShopping(pause: Pause): ShoppingProvider {
  return {
    simulated: true,
    async search(query, signal) {
      await pause(chanceOf('search', query).whole(50, 150), signal)
      const offers = offersOf(query)
      const groups = Math.ceil(offers.length / mostShops)
      const products = Array.from({ length: groups }, (_, index): ShoppingProduct => {
        const { shop, cents } = offers[index * mostShops]!
        return {
          position: index + 1,
          title: index === 0 ? query : `${query} (modelo ${index + 1})`,
          productId: productId(query, index + 1),
          source: shop,
          price: textOf(cents),
          currency: 'BRL',
          pageToken: productId(query, index + 1),
          link: null,
        }
      })
      const results = products.map(({ position, title, source, price }) => ({ position, title, source, price }))
      const response = { search_metadata: { status: 'Success' }, simulado: true, shopping_results: results }
      return { products, response }
    },
    async shops({ pageToken }, signal) {
      await pause(chanceOf('shops', pageToken ?? '').whole(50, 150), signal)
      const [query, n] = parse(pageToken ?? '')
      const from = (n - 1) * mostShops
      const shops = offersOf(query)
        .slice(from, from + mostShops)
        .map(
          (offer, index): Shop => ({
            name: offer.shop,
            link: `https://${host}/${productId(query, n)}/${from + index}`,
            price: textOf(offer.cents),
            currency: 'BRL',
          }),
        )
      return {
        shops,
        response: { simulado: true, stores: shops.map(({ name, link, price }) => ({ name, link, price })) },
      }
    },
  }
}

function parse(path: string): [query: string, n: number] {
  const [query = '', n = '1'] = path.split('/')
  return [decodeURIComponent(query), Number(n)]
}

/** Reads a page of a simulated shop. */
export function simulatedPages(pause: Pause, now: () => Date) {
  return async (link: string, signal: AbortSignal): Promise<PageReading> => {
    await pause(chanceOf('page', link).whole(40, 160), signal)
    const [, path, , index] = /^https:\/\/[^/]+\/(([^/]+)\/\d+)\/(\d+)$/.exec(link) ?? []
    const [query] = parse(path ?? '')
    const offer = offersOf(query)[Number(index)]
    const seen = { finalUrl: link, contentType: 'text/html; charset=utf-8', seenAt: now() }
    if (offer === undefined)
      return {
        found: false,
        ...seen,
        reason: 'http_status',
        sentence: 'a página não existe',
        temporary: false,
        page: null,
      }
    const { html, snippet } = pageOf(query, offer)
    const page = new TextEncoder().encode(html)
    if (!offer.inStock)
      return {
        found: false,
        ...seen,
        reason: 'out_of_stock',
        sentence: 'o produto está sem estoque',
        temporary: false,
        page,
      }
    return {
      found: true,
      ...seen,
      page,
      price: textOf(offer.cents),
      currency: 'BRL',
      source: 'json-ld',
      snippet,
      title: query,
    }
  }
}

const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')

function pageOf(query: string, { shop, cents, inStock }: Offer): { html: string; snippet: string } {
  const availability = `https://schema.org/${inStock ? 'InStock' : 'OutOfStock'}`
  const offer = { '@type': 'Offer', price: textOf(cents), priceCurrency: 'BRL', availability }
  const data = { '@context': 'https://schema.org', '@type': 'Product', name: query, offers: offer }
  // A script ends at the first "</script", also inside a text.
  const json = JSON.stringify(data).replaceAll('<', '\\u003c')
  const html = `<!doctype html><html lang="pt-BR"><head><meta charset="utf-8"><title>${escaped(query)} | ${escaped(shop)}</title>
<script type="application/ld+json">${json}</script></head><body><p>Página simulada pelo Retoma.</p><h1>${escaped(query)}</h1></body></html>
`
  return { html, snippet: JSON.stringify(offer) }
}
