/** Answers of SerpApi: a table of meanings, and the same over real sockets. */
import { inspect } from 'node:util'
import { type Duration, milliseconds } from 'retoma'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { deferralOf } from '../../../src/jobs/model/deferral.ts'
import {
  type Behaviour,
  drips,
  errorBody,
  garbage,
  gzipBomb,
  half,
  huge,
  late,
  never,
  redirects,
  refuses,
} from '../test/servers/behaviours.ts'
import { type SerpApiServer, serpApiServer } from '../test/servers/serpapi.ts'
import { judgeSearch, serpApiProvider } from './serpapi.ts'

const key = '0123456789abcdef0123456789abcdef'
const received = (status: number, body: unknown) => ({
  status,
  header: () => null,
  body: typeof body === 'string' ? body : JSON.stringify(body),
})
const success = { search_metadata: { status: 'Success' } }

test.each([
  [200, { ...success, shopping_results: [] }, 'ok'],
  [200, { ...success, error: "Google hasn't returned any results for this query." }, 'ok'],
  [200, { ...success, error: 'Google Immersive Product did not return any results.' }, 'ok'],
  [200, { search_metadata: { status: 'Error' }, error: 'We could not process your request' }, 'retry'],
  [200, { search_metadata: { status: 'Error' } }, 'retry'],
  [200, { search_metadata: { status: 'Processing' } }, 'retry'],
  [200, { error: 'Your account has run out of searches.' }, 'stop'],
  [200, {}, 'retry'],
  [200, [], 'retry'],
  [200, '', 'retry'],
  [200, '<html>Bad gateway</html>', 'retry'],
  [400, { error: 'Missing query `q` parameter.' }, 'item'],
  [401, { error: 'Invalid API key. Your API key should be here' }, 'stop'],
  [402, { error: 'Payment required' }, 'stop'],
  [403, { error: 'Forbidden' }, 'stop'],
  [404, { error: 'Not found' }, 'item'],
  [410, { error: 'The page token expired' }, 'item'],
  [429, { error: 'Your account has run out of searches.' }, 'stop'],
  [429, { error: 'You have exceeded your hourly throughput limit' }, 'wait'],
  [429, { error: 'You are exceeding your plan throughput per hour. Please upgrade your plan.' }, 'wait'],
  [429, { error: 'Your searches for the month are exhausted. You can upgrade plans on SerpApi.com website.' }, 'stop'],
  [429, {}, 'wait'],
  [429, '', 'wait'],
  [500, { error: 'Internal error' }, 'retry'],
  [503, { error: 'Unavailable' }, 'wait'],
  [302, '', 'stop'],
] as [number, unknown, string][])('%i %o: %s', (status, body, is) => {
  expect(judgeSearch(received(status, body), key)).toMatchObject({ is })
})

test.each([
  [{ failure: 'unreachable', code: 'ECONNRESET' }, 'provider_unreachable'],
  [{ failure: 'timeout', seconds: 60 }, 'provider_timeout'],
  [{ failure: 'too_large', maxBytes: 1 }, 'provider_useless'],
] as const)('%o is tried again: %s', (answer, code) => {
  expect(judgeSearch(answer, key)).toMatchObject({ is: 'retry', why: { code } })
})

test('a refusal repeats no key, also not inside of an address', () => {
  const body = { error: `see https://serpapi.com/search?q=x&api_key=${key}&y=1 and api_key=otherkey123` }
  for (const status of [400, 401, 429, 500])
    expect(inspect(judgeSearch(received(status, body), key), { depth: 9 })).not.toMatch(/0123456789abcdef|otherkey/)
})

describe('over a socket', () => {
  let server: SerpApiServer
  beforeAll(async () => {
    server = await serpApiServer()
  })
  afterAll(() => server.close())
  const provider = (timeout?: Duration) => serpApiProvider({ key: server.key, baseUrl: server.baseUrl, timeout })
  const signal = () => new AbortController().signal

  test('a search finds products, a second search finds the shops, and each is sold once', async () => {
    server.behave()
    const { products, response } = await provider().search('tv 50', signal())
    expect(products).toHaveLength(4)
    expect(products[0]).toMatchObject({
      position: 1,
      title: 'tv 50 modelo 1',
      productId: '1000',
      source: 'Loja 1',
      price: '1000.90',
      currency: 'BRL',
      link: null,
    })
    const found = await provider().shops(products[1]!, signal())
    expect(found.shops[0]).toEqual({
      name: 'Loja 1',
      link: 'https://loja.example.com.br/p/tv-50-2-1',
      price: '999.90',
      currency: 'BRL',
    })
    expect(Object.fromEntries(server.calls[0]!.asked.url.searchParams)).toMatchObject({
      engine: 'google_shopping',
      gl: 'br',
      hl: 'pt-br',
      google_domain: 'google.com.br',
    })
    expect(server.calls.some(({ asked }) => asked.url.searchParams.has('no_cache'))).toBe(false)
    expect(server.sold().map(({ about }) => about)).toEqual(['shopping tv 50', 'immersive tv 50 2'])
    for (const saved of [response, found.response]) {
      expect(JSON.stringify(saved)).not.toContain(server.key)
      expect(JSON.stringify(saved)).not.toMatch(/api_key|serpapi\.com|gstatic/)
      expect(saved).toMatchObject({ search_metadata: { id: 'id1', status: 'Success' } })
    }
    await provider().search('tv 50', signal())
    expect([server.sold().length, server.boughtTwice()]).toEqual([2, ['shopping tv 50']])
  })

  test('no results is a result, and is not sold', async () => {
    server.behave()
    const sold = server.sold().length
    expect(await provider().search('nada disso', signal())).toMatchObject({ products: [] })
    expect(server.sold().length).toBe(sold)
  })

  test('a product without a page token needs no second search', async () => {
    const product = {
      position: 1,
      title: 'x',
      productId: null,
      source: 'Loja',
      price: '10.00',
      currency: 'BRL',
      pageToken: null,
    }
    const calls = server.calls.length
    const link = 'https://loja.example.com.br/x'
    expect(await provider().shops({ ...product, link }, signal())).toEqual({
      shops: [{ name: 'Loja', link, price: '10.00', currency: 'BRL' }],
      response: null,
    })
    expect(await provider().shops({ ...product, link: null }, signal())).toEqual({ shops: [], response: null })
    expect(server.calls.length).toBe(calls)
  })

  test('out of searches is a stop with the words of SerpApi; a saved search still comes from the cache', async () => {
    server.behave()
    server.setSearchesLeft(0)
    const error = await provider()
      .search('outra', signal())
      .catch(each => each)
    expect(deferralOf(error)).toMatchObject({ why: 'stop', code: 'provider_refused' })
    expect(deferralOf(error)?.message).toContain('Your account has run out of searches.')
    expect(await provider().search('tv 50', signal())).toMatchObject({ products: { length: 4 } })
    server.setSearchesLeft(1)
    expect(await provider().search('outra', signal())).toMatchObject({ products: { length: 4 } })
    server.setSearchesLeft(1000)
  })

  test.each([
    ['half', half(), { code: 'provider_unreachable' }],
    ['never', never(), { code: 'provider_timeout' }],
    ['drips', drips(1), { code: 'provider_timeout' }],
    ['garbage', garbage(), { code: 'provider_useless' }],
    ['50 MB', huge(), { code: 'provider_useless' }],
    ['a gzip bomb', gzipBomb(), { code: 'provider_useless' }],
    ['late', late(60_000), { code: 'provider_timeout' }],
    ['500', refuses(500), { code: 'provider_error' }],
    ['529', refuses(529), { code: 'provider_error' }],
    ['200 with an error', errorBody(500, 'We could not process your request'), { code: 'provider_error' }],
    ['400', refuses(400), { code: 'provider_rejected' }],
  ] as [string, Behaviour, { code: string }][])('%s is an error without the key', async (_, behaviour, about) => {
    server.behave(behaviour)
    const error = await provider(about.code === 'provider_timeout' ? milliseconds(50) : undefined)
      .search('x', signal())
      .catch(each => each)
    expect(error).toMatchObject(about)
    expect(inspect(error, { depth: 9 })).not.toContain(server.key)
  })

  test.each([
    ['429', refuses(429, { message: 'hourly limit', retryAfter: '60' }), { why: 'wait', retryAfterMs: 60_000 }],
    ['429 without Retry-After', refuses(429, { message: 'hourly limit' }), { why: 'wait', retryAfterMs: null }],
    ['402', refuses(402), { why: 'stop' }],
    ['403', refuses(403), { why: 'stop' }],
    ['401', refuses(401), { why: 'stop' }],
    ['a redirect', redirects('http://127.0.0.1:1/'), { why: 'stop' }],
  ] as [string, Behaviour, object][])('%s is a deferral of the engine', async (_, behaviour, deferral) => {
    server.behave(behaviour)
    const error = await provider()
      .search('x', signal())
      .catch(each => each)
    expect(deferralOf(error)).toMatchObject(deferral)
    expect(inspect(error, { depth: 9 })).not.toContain(server.key)
  })

  test('nobody there: the error has neither the key nor the address', async () => {
    await server.down()
    const error = await provider()
      .search('segredo', signal())
      .catch(each => each)
    expect(error).toMatchObject({ code: 'provider_unreachable' })
    expect(inspect(error, { depth: 9 })).not.toMatch(new RegExp(`${server.key}|segredo|api_key`))
    await server.up()
  })
})
