/**
 * A shop: each path below /p/ is a product with a price in JSON-LD, always the same for the same path. A call is about its path. A page
 * that was fetched is in the ledger as sold, so that a page fetched twice is seen.
 */
import { createHash } from 'node:crypto'
import { type StandIn, standIn } from './stand-in.ts'

export interface ShopServer extends StandIn {
  /** The entry for RETOMA_FETCH_ALLOW. */
  readonly allow: string
  /** The price of a path. */
  priceOf(path: string): string
  /** The calls without robots.txt. */
  pages(): ReturnType<StandIn['of']>
  setRobots(text: string | null): void
}

export async function shopServer(): Promise<ShopServer> {
  let robots: string | null = 'User-agent: *\nDisallow: /admin\n'
  const server = await standIn({
    about: ({ url }) => url.pathname,
    error: (status, message) => `<html><body><h1>${status} ${message}</h1></body></html>`,
    reply: ({ url }) => {
      const html = { 'content-type': 'text/html; charset=utf-8' }
      if (url.pathname === '/robots.txt')
        return robots === null
          ? { status: 404, headers: html, body: 'not found' }
          : { status: 200, headers: { 'content-type': 'text/plain' }, body: robots }
      if (!url.pathname.startsWith('/p/')) return { status: 404, headers: html, body: '<h1>Não encontrado</h1>' }
      return { status: 200, headers: html, body: productPage(url.pathname), isSold: true }
    },
  })
  return {
    ...server,
    allow: `127.0.0.1:${server.port}`,
    priceOf,
    pages: () => server.calls.filter(({ about }) => about !== '/robots.txt'),
    setRobots: text => {
      robots = text
    },
  }
}

/** From 900.00 to 1099.99. */
function priceOf(path: string): string {
  const cents = 90_000 + (createHash('sha256').update(path).digest().readUInt32BE() % 20_000)
  return `${Math.floor(cents / 100)}.${String(cents % 100).padStart(2, '0')}`
}

export const productPage = (path: string): string => `<!DOCTYPE html>
<html lang="pt-BR"><head><meta charset="utf-8"><title>Produto ${path}</title>
<script type="application/ld+json">{"@context":"https://schema.org","@type":"Product","name":"Produto ${path}","offers":{"@type":"Offer","price":"${priceOf(path)}","priceCurrency":"BRL","availability":"https://schema.org/InStock"}}</script>
</head><body><h1>Produto ${path}</h1></body></html>
`
