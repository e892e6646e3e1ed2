/** Pages of a shop that misbehaves, over real sockets. */
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import {
  type Behaviour,
  drips,
  garbage,
  gzipBomb,
  gzipped,
  half,
  huge,
  late,
  never,
  raw,
  redirectLoop,
  redirects,
  refuses,
} from '../test/servers/behaviours.ts'
import { type ShopServer, shopServer } from '../test/servers/shop.ts'
import { localTurns } from './local-turns.ts'
import { createPriceReader, type PriceReaderOptions } from './price-reader.ts'

let shop: ShopServer
const seenAt = new Date('2026-11-16T12:00:00Z')

beforeAll(async () => {
  shop = await shopServer()
})
beforeEach(() => {
  shop.setRobots(null)
  shop.behave()
})
afterAll(() => shop.close())

const signal = () => new AbortController().signal
const reader = (options: Partial<PriceReaderOptions> = {}) =>
  createPriceReader({ now: () => seenAt, allow: [shop.allow], ...options })
const read = (path: string, options: Partial<PriceReaderOptions> = {}) =>
  reader(options).read(`${shop.origin}${path}`, signal())
/** The behaviour of pages; robots.txt is answered well. */
const behave = (behaviour: Behaviour) => shop.behave(({ about }) => (about === '/robots.txt' ? null : behaviour))

const gzipHeaders = { 'content-type': 'text/html', 'content-encoding': 'gzip' }
/** 6 MB of empty blocks. */
const emptyGzip = Buffer.concat([
  Buffer.from('1f8b0800000000000003', 'hex'),
  Buffer.alloc(6 * 1024 * 1024, Buffer.from('000000ffff', 'hex')),
])

test('the price comes with its link, instant, snippet, title and the bytes of the page, and the request names us', async () => {
  const found = await read('/p/tv')
  expect(found).toMatchObject({
    found: true,
    price: shop.priceOf('/p/tv'),
    currency: 'BRL',
    source: 'json-ld',
    title: 'Produto /p/tv',
    finalUrl: `${shop.origin}/p/tv`,
    contentType: 'text/html; charset=utf-8',
    seenAt,
  })
  if (!found.found) return
  expect(found.snippet).toContain(shop.priceOf('/p/tv'))
  expect(Buffer.from(found.page).toString()).toContain(found.snippet)
  const { headers } = shop.pages().at(-1)!.asked
  expect(headers['user-agent']).toMatch(/^RetomaQuotes\//)
  expect([headers.cookie, headers.authorization, headers.referer]).toEqual([undefined, undefined, undefined])
})

test.each([
  ['50 MB', huge(), {}, 'too_large', false],
  [
    '50 MB that are announced',
    raw('x', 200, { 'content-type': 'text/html', 'content-length': '52428800' }, ''),
    {},
    'too_large',
    false,
  ],
  ['a gzip bomb of 1 GB', gzipBomb(), {}, 'too_large', false],
  ['gzip that decompresses to nothing', raw('x', 200, gzipHeaders, emptyGzip), {}, 'too_large', false],
  ['endless drips', drips(1), { timeoutMs: 100 }, 'timeout', true],
  ['never', never(), { timeoutMs: 50 }, 'timeout', true],
  ['half', half(), {}, 'unreachable', true],
  ['a redirect loop', redirectLoop(), {}, 'too_many_redirects', false],
  ['a redirect to itself', redirects(path => path), {}, 'too_many_redirects', false],
  ['a redirect to a private address', redirects('http://10.0.0.1/'), {}, 'forbidden_address', false],
  ['a redirect without a location', raw('x', 302, {}, ''), {}, 'http_status', false],
  ['402', refuses(402), {}, 'http_status', false],
  ['403', refuses(403), {}, 'http_status', false],
  ['404', refuses(404), {}, 'http_status', false],
  ['429', refuses(429, { retryAfter: '7' }), {}, 'http_status', true],
  ['429 without Retry-After', refuses(429), {}, 'http_status', true],
  ['500', refuses(500), {}, 'http_status', true],
  ['529', refuses(529), {}, 'http_status', true],
  ['200 with an error in the page', garbage('<h1>500 Internal server error</h1>'), {}, 'no_price', false],
  ['503', refuses(503), {}, 'http_status', true],
  ['JSON', garbage('{"price": 1}', 'application/json'), {}, 'not_html', false],
  [
    'an unknown encoding',
    raw('x', 200, { 'content-type': 'text/html', 'content-encoding': 'zip' }, 'x'),
    {},
    'bad_encoding',
    false,
  ],
  [
    'a false gzip',
    raw('x', 200, { 'content-type': 'text/html', 'content-encoding': 'gzip' }, 'no gzip'),
    {},
    'bad_encoding',
    false,
  ],
  ['an endless header', raw('x', 200, { 'x-long': 'a'.repeat(60_000) }, ''), {}, 'unreachable', true],
  ['garbage', garbage(Buffer.from([0, 255, 254, 60, 0])), {}, 'no_price', false],
  ['an empty page', garbage(''), {}, 'no_price', false],
] as [string, Behaviour, Partial<PriceReaderOptions>, string, boolean][])(
  '%s',
  async (_, behaviour, options, reason, temporary) => {
    behave(behaviour)
    const none = await read('/p/1', options)
    expect(none).toMatchObject({ found: false, reason, temporary })
    expect((none as { sentence: string }).sentence).not.toMatch(/[{}]/)
    while (shop.inFlight() > 0) await new Promise(resolve => setImmediate(resolve))
  },
)

test('a shop without a listener is unreachable', async () => {
  const other = await shopServer()
  await other.close()
  const none = await reader({ allow: [other.allow] }).read(`${other.origin}/p/1`, signal())
  expect(none).toMatchObject({ found: false, reason: 'unreachable', temporary: true })
  expect((none as { sentence: string }).sentence).toContain('ECONNREFUSED')
})

test('a compressed page, a page in another charset and a page behind five redirects are read', async () => {
  behave(gzipped())
  expect(await read('/p/1')).toMatchObject({ found: true, price: shop.priceOf('/p/1') })
  const page =
    '<title>Máquina</title><meta property="og:price:amount" content="1.234,50"><meta property="og:price:currency" content="BRL">'
  behave(raw('x', 200, { 'content-type': 'text/html; charset=utf-8' }, Buffer.from(page, 'latin1')))
  expect(await read('/p/1')).toMatchObject({ found: true, price: '1234.50', title: 'Máquina' })
  shop.behave(({ about, asked }) => {
    const hop = Number(asked.url.searchParams.get('hop') ?? 0)
    return about === '/robots.txt' || hop === 5 ? null : redirects(`/p/1?hop=${hop + 1}`)
  })
  expect(await read('/p/1')).toMatchObject({ found: true, finalUrl: `${shop.origin}/p/1?hop=5` })
})

test('robots.txt is obeyed, is fetched once an hour, and allows nothing while the shop cannot send the file', async () => {
  let now = seenAt.getTime()
  const polite = reader({ now: () => new Date(now) })
  const ask = (path: string) => polite.read(`${shop.origin}${path}`, signal())
  shop.setRobots('User-agent: RetomaQuotes\nDisallow: /p/secret\n')
  const before = shop.of('/robots.txt').length
  expect(await ask('/p/secret/1')).toMatchObject({ found: false, reason: 'robots', temporary: false })
  expect(shop.of('/p/secret/1')).toEqual([])
  expect(await ask('/p/other')).toMatchObject({ found: true })
  expect(shop.of('/robots.txt').length - before).toBe(1)
  now += 3_600_001
  shop.behave(({ about }) => (about === '/robots.txt' ? refuses(500) : null))
  expect(await ask('/p/other')).toMatchObject({ found: false, reason: 'robots', temporary: true })
  shop.behave(({ about }) => (about === '/robots.txt' ? huge(2_000_000, 'text/plain') : null))
  expect(await ask('/p/other')).toMatchObject({ found: true })
})

test('a compressed robots.txt with more bytes than are read is cut, and its first rules count', async () => {
  const rules = 'User-agent: *\nDisallow: /p/secret\n'
  // Stored without compression: the bytes on the wire are more than the text.
  const text = gzipSync(`${rules}${'#'.repeat(512 * 1024 - rules.length - 5)}`, { level: 0 })
  const headers = { 'content-type': 'text/plain', 'content-encoding': 'gzip' }
  shop.behave(({ about }) => (about === '/robots.txt' ? raw('long robots', 200, headers, text) : null))
  const polite = reader()
  expect(await polite.read(`${shop.origin}/p/other`, signal())).toMatchObject({ found: true })
  expect(await polite.read(`${shop.origin}/p/secret/2`, signal())).toMatchObject({ found: false, reason: 'robots' })
  shop.behave()
})

test('pages of a shop that come at once share one robots.txt; without an answer each page asks', async () => {
  const own = await shopServer()
  const links = Array.from({ length: 6 }, (_, n) => `${own.origin}/p/${n}`)
  const shared = () => createPriceReader({ now: () => seenAt, allow: [own.allow] })
  const readAll = async (by = shared()) => Promise.all(links.map(link => by.read(link, signal())))
  expect((await readAll()).every(each => each.found)).toBe(true)
  expect(own.of('/robots.txt')).toHaveLength(1)
  own.behave(({ about, nth }) => (about === '/robots.txt' && nth === 2 ? refuses(503) : null))
  expect((await readAll()).filter(each => each.found)).toHaveLength(5)
  await own.close()
})

test('a page whose request for robots.txt is aborted leaves the request to the others', async () => {
  const by = reader()
  const [first, second] = [new AbortController(), new AbortController()]
  const started = shop.calls.length
  shop.behave(({ n }) => (n === started + 1 ? never() : null))
  const one = by.read(`${shop.origin}/p/1`, first.signal)
  await shop.called(started + 1)
  const two = by.read(`${shop.origin}/p/2`, second.signal)
  first.abort(new Error('enough'))
  await expect(one).rejects.toThrow('enough')
  expect(await two).toMatchObject({ found: true })
})

test('a host has at most two requests at once, and every page is read', async () => {
  const own = await shopServer()
  const turns = localTurns(2)
  const one = createPriceReader({ now: () => seenAt, allow: [own.allow], turns })
  const other = createPriceReader({ now: () => seenAt, allow: [own.allow], turns })
  own.behave(() => late(5))
  const links = Array.from({ length: 12 }, (_, n) => `${own.origin}/p/${n}`)
  const read = await Promise.all(links.map((link, n) => (n % 2 ? one : other).read(link, signal())))
  expect(read.every(each => each.found)).toBe(true)
  expect(own.mostAtOnce()).toBe(2)
  await own.close()
})

test('each request takes one turn of its own host, also a robots.txt behind a redirect, and nobody has two turns at once', async () => {
  const other = await shopServer()
  const entered: string[] = []
  let inside = 0
  const turns = {
    enter: async (host: string) => {
      expect(++inside).toBe(1)
      entered.push(host)
      return () => void inside--
    },
  }
  const elsewhere = `http://localhost:${other.port}`
  shop.behave(({ about }) => (about === '/robots.txt' ? redirects(`${elsewhere}/robots.txt`) : null))
  other.setRobots('User-agent: *\nDisallow: /p/secret\n')
  const allow = [shop.allow, `localhost:${other.port}`]
  const resolve = async () => [{ address: '127.0.0.1', family: 4 as const }]
  const polite = reader({ turns, allow, resolve })
  expect(await polite.read(`${shop.origin}/p/1`, signal())).toMatchObject({ found: true })
  expect(entered).toEqual(['127.0.0.1', 'localhost', '127.0.0.1'])
  expect(await polite.read(`${shop.origin}/p/secret`, signal())).toMatchObject({ found: false, reason: 'robots' })
  expect(inside).toBe(0)
  await other.close()
})

test('at most two names are looked up at once, also if their pages have given up', async () => {
  const lookups: { host: string; answered: () => void }[] = []
  const resolve = (host: string) =>
    new Promise<{ address: string; family: 4 }[]>(resolve =>
      lookups.push({ host, answered: () => resolve([{ address: '127.0.0.1', family: 4 }]) }),
    )
  const names = ['silent-1.test', 'silent-2.test', 'answers.test']
  const links = names.map(name => `http://${name}:${shop.port}/p/1`)
  const slow = reader({ resolve, allow: names.map(name => `${name}:${shop.port}`) })
  const gaveUp = new AbortController()
  const [first, second] = links.slice(0, 2).map(link => slow.read(link, gaveUp.signal))
  const third = slow.read(links[2]!, signal())
  const reason = new Error('enough')
  gaveUp.abort(reason)
  await expect(first).rejects.toBe(reason)
  await expect(second).rejects.toBe(reason)
  expect(lookups.map(({ host }) => host)).toEqual(names.slice(0, 2))
  lookups[0]!.answered()
  await vi.waitUntil(() => lookups.length === 3, { timeout: 250_000, interval: 1 })
  lookups[2]!.answered()
  expect(await third).toMatchObject({ found: true })
})

test('an abort ends the request with its reason, also while the page waits for its turn', async () => {
  behave(never())
  const turns = localTurns(1)
  const slow = reader({ turns })
  const [first, second] = [new AbortController(), new AbortController()]
  const calls = shop.pages().length
  const started = shop.calls.length
  const one = slow.read(`${shop.origin}/p/1`, first.signal)
  await shop.called(started + 2)
  const two = slow.read(`${shop.origin}/p/2`, second.signal)
  const reason = new Error('enough')
  second.abort(reason)
  await expect(two).rejects.toBe(reason)
  first.abort(reason)
  await expect(one).rejects.toBe(reason)
  expect(shop.pages().length - calls).toBe(1)
  shop.behave()
  expect(await slow.read(`${shop.origin}/p/3`, signal())).toMatchObject({ found: true })
})

test('an error of the turns reaches the caller unchanged, and no request is sent', async () => {
  const busy = new Error('no turn')
  const calls = shop.calls.length
  const turns = { enter: () => Promise.reject(busy) }
  await expect(read('/p/1', { turns })).rejects.toBe(busy)
  expect(shop.calls.length).toBe(calls)
})
