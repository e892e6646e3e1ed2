/**
 * A stand-in for SerpApi: google_shopping, google_immersive_product and account.json. A call is about `shopping QUERY` or `immersive TOKEN`.
 * A search with results is sold once; the same search again comes from the cache and is free, as at SerpApi.
 */
import { type Asked, json, type Reply, type StandIn, standIn } from './stand-in.ts'

export interface SerpApiServer extends StandIn {
  readonly baseUrl: string
  /** The only accepted key. */
  readonly key: string
  /** Searches that the account may still buy. Default: no limit. */
  setSearchesLeft(left: number): void
}

export interface SerpApiServerOptions {
  /** The origin of the shops, such as `http://127.0.0.1:8080`. */
  shops?: string
  /** Products of a search. Default 4. */
  products?: number
  /** Shops of a product. Default 3. */
  stores?: number
}

const noResults = "Google hasn't returned any results for this query."

export async function serpApiServer(options: SerpApiServerOptions = {}): Promise<SerpApiServer> {
  const { shops = 'https://loja.example.com.br', products = 4, stores = 3 } = options
  const key = '0123456789abcdef0123456789abcdefkey'
  const bought = new Set<string>()
  let left = Number.POSITIVE_INFINITY

  const server = await standIn({
    about: aboutOf,
    error: (_, error) => JSON.stringify({ error }),
    reply: asked => {
      const { pathname, searchParams } = asked.url
      if (searchParams.get('api_key') !== key)
        return json(
          { error: 'Invalid API key. Your API key should be here: https://serpapi.com/manage-api-key' },
          false,
          401,
        )
      if (pathname === '/account.json') return json({ total_searches_left: left, account_rate_limit_per_hour: 100 })
      if (pathname !== '/search.json' && pathname !== '/search') return json({ error: 'Not found' }, false, 404)
      const about = aboutOf(asked)
      const isCached = bought.has(about)
      if (!isCached && left <= 0) return json({ error: 'Your account has run out of searches.' }, false, 429)
      const body = searchParams.get('engine') === 'google_shopping' ? shopping(asked) : immersive(asked)
      if (body.status === 200 && !isCached && !String(body.body).includes('any results')) {
        bought.add(about)
        left--
        return { ...body, isSold: true }
      }
      return body
    },
  })

  /** The addresses of the metadata contain the key, as at SerpApi. */
  const metadata = ({ url }: Asked) => ({
    search_metadata: {
      id: 'id1',
      status: 'Success',
      json_endpoint: `https://serpapi.com/searches/x/id1.json?api_key=${key}`,
      created_at: '2026-11-16 12:00:00 UTC',
      google_shopping_url: `https://www.google.com.br/search?q=x&api_key=${key}`,
      raw_html_file: `https://serpapi.com/searches/x/id1.html`,
    },
    search_parameters: { engine: url.searchParams.get('engine'), q: url.searchParams.get('q'), api_key: key },
  })

  function shopping(asked: Asked): Reply {
    const q = asked.url.searchParams.get('q') ?? ''
    if (q === '') return json({ error: 'Missing query `q` parameter.' }, false, 400)
    if (q.includes('nada')) return json({ ...metadata(asked), error: noResults })
    return json({
      ...metadata(asked),
      search_information: { shopping_results_state: 'Results for exact spelling' },
      shopping_results: Array.from({ length: products }, (_, index) => ({
        position: index + 1,
        title: `${q} modelo ${index + 1}`,
        product_id: `${1000 + index}`,
        product_link: `https://www.google.com.br/shopping/product/${1000 + index}?gl=br`,
        immersive_product_page_token: tokenOf(q, index + 1),
        serpapi_immersive_product_api: `https://serpapi.com/search.json?engine=google_immersive_product&api_key=${key}`,
        source: 'Loja 1',
        price: `R$ ${(1000 + index).toLocaleString('pt-BR')},90`,
        extracted_price: 1000.9 + index,
        thumbnail: 'https://encrypted-tbn0.gstatic.com/x',
      })),
    })
  }

  function immersive(asked: Asked): Reply {
    const token = asked.url.searchParams.get('page_token') ?? ''
    const [q, n] = wordsOf(token)
    if (q === undefined) return json({ error: 'Invalid `page_token` parameter.' }, false, 400)
    return json({
      ...metadata(asked),
      product_results: {
        title: `${q} modelo ${n}`,
        stores: Array.from({ length: stores }, (_, index) => ({
          name: `Loja ${index + 1}`,
          link: `${shops}/p/${slugOf(q)}-${n}-${index + 1}`,
          price: 'R$ 999,90',
          extracted_price: 999.9,
        })),
      },
    })
  }

  return {
    ...server,
    baseUrl: server.origin,
    key,
    setSearchesLeft: count => {
      left = count
    },
  }
}

function aboutOf({ url }: Asked): string {
  const engine = url.searchParams.get('engine')
  if (engine === 'google_shopping') return `shopping ${url.searchParams.get('q')}`
  const [q, n] = wordsOf(url.searchParams.get('page_token') ?? '')
  return engine === 'google_immersive_product' ? `immersive ${q} ${n}` : url.pathname
}

const tokenOf = (q: string, n: number) => Buffer.from(JSON.stringify([q, n])).toString('base64url')

function wordsOf(token: string): [string, number] | [undefined, undefined] {
  try {
    return JSON.parse(Buffer.from(token, 'base64url').toString()) as [string, number]
  } catch {
    return [undefined, undefined]
  }
}

const slugOf = (text: string) =>
  text
    .normalize('NFD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
