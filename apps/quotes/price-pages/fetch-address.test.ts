/**
 * Addresses that a price page must not reach. A listener takes the place of every address: a connection that the fetcher opens, to any
 * address, arrives at the listener and is counted.
 */
import { type AddressInfo, connect, createServer } from 'node:net'
import { createServer as createSecureServer } from 'node:tls'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { redirects } from '../test/servers/behaviours.ts'
import { type DnsServer, dnsServer } from '../test/servers/dns.ts'
import { type ShopServer, shopServer } from '../test/servers/shop.ts'
import { createPageFetcher, type FetchOptions } from './fetch-page.ts'
import type { Target } from './http-get.ts'
import { isPublicAddress } from './public-address.ts'

let dns: DnsServer
let shop: ShopServer
let connections = 0
let dialed: Target[] = []

const page =
  '<meta property="product:price:amount" content="10.00"><meta property="product:price:currency" content="BRL">'
const listener = createServer(socket => {
  connections++
  socket.on('error', () => {})
  socket.once('data', () =>
    socket.end(`HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close\r\n\r\n${page}`),
  )
})

beforeAll(async () => {
  await new Promise<void>(resolve => listener.listen(0, '127.0.0.1', resolve))
  dns = await dnsServer()
  shop = await shopServer()
})
afterAll(async () => {
  listener.close()
  await dns.close()
  await shop.close()
})

/** Every dialed connection goes to the listener, except for connections to the shop. */
function world(options: Partial<FetchOptions> = {}) {
  connections = 0
  dialed = []
  const dial = (target: Target) => {
    if (target.port === shop.port) return connect(shop.port, '127.0.0.1')
    dialed.push(target)
    return connect((listener.address() as AddressInfo).port, '127.0.0.1')
  }
  const fetcher = createPageFetcher({ now: () => new Date(), dial, resolve: dns.resolve, ...options })
  return (link: string) => fetcher.fetch(link, AbortSignal.timeout(60_000))
}

/** Resolves a literal as the system does, and a name by the name server of the test. */
const resolve: FetchOptions['resolve'] = async host =>
  host.includes(':')
    ? [{ address: host, family: 6 }]
    : /^[\d.]+$/.test(host)
      ? [{ address: host, family: 4 }]
      : dns.resolve(host)

const literals = [
  'http://127.0.0.1/', 'http://127.1/', 'http://127.0.1/', 'http://2130706433/', 'http://0x7f000001/', 'http://0x7f.0.0.1/',
  'http://0177.0.0.1/', 'http://017700000001/', 'http://0x7F.1/', 'http://127.0.0.1./', 'http://127.255.255.254/',
  'http://0/', 'http://0.0.0.0/', 'http://0.1.2.3/', 'http://10.0.0.1/', 'http://10.255.255.255/', 'http://167772161/',
  'http://172.16.0.1/', 'http://172.31.255.255/', 'http://192.168.0.1/', 'http://3232235521/', 'http://0300.0250.0.1/',
  'http://169.254.169.254/latest/meta-data/', 'http://2852039166/', 'http://0xa9fea9fe/', 'http://169.254.1.1/',
  'http://100.64.0.1/', 'http://100.100.100.200/', 'http://192.0.0.192/', 'http://168.63.129.16/', 'http://198.18.0.1/',
  'http://224.0.0.1/', 'http://239.255.255.250/', 'http://255.255.255.255/', 'http://240.0.0.1/',
  'http://[::1]/', 'http://[::]/', 'http://[0:0:0:0:0:0:0:1]/', 'http://[::ffff:127.0.0.1]/', 'http://[::ffff:7f00:1]/',
  'http://[::ffff:169.254.169.254]/', 'http://[::127.0.0.1]/', 'http://[64:ff9b::7f00:1]/', 'http://[64:ff9b:1::a00:1]/',
  'http://[2002:7f00:1::]/', 'http://[2002:a9fe:a9fe::1]/', 'http://[2001:0:1::1]/', 'http://[fe80::1]/', 'http://[fec0::1]/',
  'http://[fc00::1]/', 'http://[fd00:ec2::254]/', 'http://[ff02::1]/', 'http://[2001:db8::1]/', 'http://[::ffff:0:10.0.0.1]/',
  'http://①②⑦.⓪.⓪.①/', 'http://127。0。0。1/', 'http://１２７.0.0.1/', 'http://127%2e0%2e0%2e1/', 'http://127.0.0.1:80/', 'https://127.0.0.1/',
] // biome-ignore format: read as one list

const names = [
  'http://localhost/', 'http://localhost./', 'http://LOCALHOST/', 'http://a.localhost/', 'http://printer/', 'http://nas.local/',
  'http://metadata.google.internal/', 'http://router.lan/', 'http://private.example.com/', 'http://mixed.example.com/',
] // biome-ignore format: read as one list

const others = [
  'http://user@8.8.8.8/', 'http://user:pass@8.8.8.8/', 'http://8.8.8.8@127.0.0.1/', 'http://127.0.0.1#@8.8.8.8/',
  'http://127.0.0.1\\@8.8.8.8/', 'file:///etc/passwd', 'ftp://8.8.8.8/', 'gopher://127.0.0.1:6379/_INFO', 'data:text/html,x',
  'javascript:alert(1)', 'http://8.8.8.8:22/', 'http://8.8.8.8:6379/', 'http://', 'http:///', 'no link', '', `http://8.8.8.8/${'a'.repeat(5000)}`,
] // biome-ignore format: read as one list

test.each([...literals, ...names, ...others])('%s is not connected to', async link => {
  dns.set('private.example.com', ['10.0.0.7'])
  dns.set('mixed.example.com', ['8.8.8.8', '127.0.0.1'])
  const fetched = await world({ resolve })(link)
  expect(fetched).toMatchObject({ ok: false, temporary: false })
  expect(['forbidden_address', 'bad_link']).toContain((fetched as { reason: string }).reason)
  expect([connections, dialed]).toEqual([0, []])
})

test.each([...literals, ...names, ...others.slice(0, 12)])('a redirect to %s is not followed', async link => {
  const fetch = world({ resolve, allow: [shop.allow] })
  shop.behave(({ about }) => (about === '/robots.txt' ? null : redirects(new URL(link).href)))
  const fetched = await fetch(`${shop.origin}/p/1`)
  expect(['forbidden_address', 'bad_link']).toContain((fetched as { reason: string }).reason)
  expect([connections, dialed]).toEqual([0, []])
})

test('a robots.txt that leads to a private address is not followed', async () => {
  const fetch = world({ resolve, allow: [shop.allow] })
  shop.behave(({ about }) => (about === '/robots.txt' ? redirects('http://169.254.169.254/') : null))
  expect(await fetch(`${shop.origin}/p/1`)).toMatchObject({ ok: true })
  expect([connections, dialed]).toEqual([0, []])
})

test('the listener counts a connection to a public address, and the fetched page arrives', async () => {
  dns.set('shop.example.com', ['8.8.8.8', '1.1.1.1'])
  const fetched = await world()('http://shop.example.com/p')
  expect(fetched).toMatchObject({ ok: true, finalUrl: 'http://shop.example.com/p' })
  expect(connections).toBe(2)
  expect(dialed.map(({ addresses }) => addresses.map(({ address }) => address))).toEqual([
    ['8.8.8.8', '1.1.1.1'],
    ['8.8.8.8', '1.1.1.1'],
  ])
})

test('a name that becomes private after the check is connected to at the checked address, and is resolved once', async () => {
  dns.set('rebind.example.com', ['8.8.8.8'], ['127.0.0.1'])
  expect(await world()('http://rebind.example.com/p')).toMatchObject({ ok: true })
  expect(dns.asked('rebind.example.com')).toBe(1)
  expect(dialed.flatMap(({ addresses }) => addresses.map(({ address }) => address))).toEqual(['8.8.8.8', '8.8.8.8'])
})

test('a name that becomes private is refused at the next redirect', async () => {
  dns.set('turns.example.com', ['127.0.0.1'])
  const fetch = world({ allow: [shop.allow], resolve })
  shop.behave(({ about }) => (about === '/robots.txt' ? null : redirects('http://turns.example.com/x')))
  expect(await fetch(`${shop.origin}/p/1`)).toMatchObject({ ok: false, reason: 'forbidden_address' })
  expect(connections).toBe(0)
})

test('the real connection goes to the checked address and does not resolve the name again', async () => {
  dns.set('opened.example.com', ['127.0.0.1'], ['127.0.0.2'])
  shop.behave()
  const { fetch } = createPageFetcher({
    now: () => new Date(),
    resolve: dns.resolve,
    allow: [`opened.example.com:${shop.port}`],
  })
  const fetched = await fetch(`http://opened.example.com:${shop.port}/p/1`, AbortSignal.timeout(60_000))
  expect(fetched).toMatchObject({ ok: true })
  expect(dns.asked('opened.example.com')).toBe(1)
})

test('a secure connection names the host of the link to the checked address, and ends without a certificate', async () => {
  const seen: string[] = []
  const secure = createSecureServer({
    SNICallback: (name, done) => {
      seen.push(name)
      done(null)
    },
  })
  secure.on('tlsClientError', () => {})
  await new Promise<void>(resolve => secure.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void secure.close())
  dns.set('secure.example.com', ['127.0.0.1'])
  const { port } = secure.address() as AddressInfo
  const { fetch } = createPageFetcher({
    now: () => new Date(),
    resolve: dns.resolve,
    allow: [`secure.example.com:${port}`],
  })
  const fetched = await fetch(`https://secure.example.com:${port}/`, AbortSignal.timeout(60_000))
  expect(fetched).toMatchObject({ ok: false, reason: 'unreachable', temporary: true })
  expect(seen).toEqual(['secure.example.com'])
})

test('RETOMA_FETCH_ALLOW opens the named port and no other', async () => {
  shop.behave()
  const { fetch } = createPageFetcher({ now: () => new Date(), allow: [shop.allow] })
  const signal = AbortSignal.timeout(60_000)
  expect(await fetch(`${shop.origin}/p/1`, signal)).toMatchObject({ ok: true })
  const { port } = listener.address() as AddressInfo
  expect(await fetch(`http://127.0.0.1:${port}/`, signal)).toMatchObject({ ok: false, reason: 'forbidden_address' })
  expect(await fetch(`http://localhost:${shop.port}/`, signal)).toMatchObject({
    ok: false,
    reason: 'forbidden_address',
  })
})

test.each([
  '8.8.8.8',
  '1.1.1.1',
  '172.15.255.255',
  '172.32.0.1',
  '100.63.255.255',
  '100.128.0.1',
  '2606:4700::1111',
  '2a00::1',
])('%s is public', address => {
  expect(isPublicAddress(address)).toBe(true)
})

test.each(['', 'localhost', '8.8.8.8.8', 'fe80::1%eth0', '2606:4700::1111%eth0', '::ffff:8.8.8.8', '64:ff9b::808:808'])(
  '%s is not public',
  address => {
    expect(isPublicAddress(address)).toBe(false)
  },
)
