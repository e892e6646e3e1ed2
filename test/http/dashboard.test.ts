/** The static side of the dashboard: which path answers what, and that nothing of a request reaches the page or the file system. */
import { readdirSync, readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { createApp, route } from '../../src/http/index.ts'
import { defineJob } from '../../src/index.ts'
import { doorWith } from './support.ts'

const built = new URL('../../dist/web/', import.meta.url)
const scripts = readdirSync(new URL('assets/', built)).filter(name => /^index-.*\.js$/.test(name))
const system = { name: 'orders', page: '/pedidos/', simulated: ['bank'] }
const fromBrowser = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }

test.each(['/', '/batches', '/batches/42', '/jobs/7?tab=log', '/login', '/pedidos/', '/pedidos/7'])(
  '%s is the page, without log-in',
  async path => {
    const { ask, engine } = await doorWith([], { app: { systems: [system] } })
    await engine.tokens.create({ user: 'ana', role: 'viewer' })
    const { status, headers, body } = await ask('GET', path)
    expect(status).toBe(200)
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(headers.get('cache-control')).toBe('no-cache')
    expect(body).toContain('<base href="/" />')
  },
)

test('a path without a route or a page is a JSON error for a program, and the page with status 404 for a browser', async () => {
  const { ask, app } = await doorWith()
  expect(await ask('GET', '/pedidos/')).toMatchObject({ status: 404, body: { error: { code: 'no_such_route' } } })
  const shown = await app.fetch(new Request('http://127.0.0.1:3000/pedidos/', { headers: fromBrowser }))
  expect([shown.status, shown.headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8'])
  for (const path of ['/api/v1/nothing', '/assets/nothing.js'])
    expect(await ask('GET', path, { headers: fromBrowser })).toMatchObject({
      body: { error: { code: 'no_such_route' } },
    })
  expect(await ask('POST', '/batches')).toMatchObject({ status: 404, body: { error: { code: 'no_such_route' } } })
})

test('a route of the application wins over a page', async () => {
  const own = route({
    method: 'get',
    path: '/jobs',
    name: 'ownJobs',
    tag: 'own',
    summary: 'a page of the application',
    role: 'viewer',
    run: () => ({ own: true }),
  })
  const { ask } = await doorWith([], { app: { routes: [own] } })
  expect((await ask('GET', '/jobs')).body).toEqual({ own: true })
})

test('the app answers the routes of its systems, also if the caller names them in routes', async () => {
  const orders = route({
    method: 'get',
    path: '/api/orders',
    name: 'orders',
    tag: 'orders',
    summary: 'The orders',
    role: 'viewer',
    run: () => ({ orders: 7 }),
  })
  const whole = { ...system, routes: [orders] }
  for (const app of [{ systems: [whole] }, { systems: [whole], routes: [orders] }]) {
    const { ask } = await doorWith([], { app })
    expect((await ask('GET', '/api/orders')).body).toEqual({ orders: 7 })
  }
})

test('files with a hash are cached for ever, in the smallest form that the client takes; others are revalidated', async () => {
  const { fetch } = await doorWith()
  const get = (path: string, headers = {}) => fetch(new Request(`http://127.0.0.1:3000${path}`, { headers }))
  expect(scripts.length).toBeGreaterThan(0)
  const path = `/assets/${scripts[0]}`
  const plain = await get(path)
  expect(plain.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
  expect(plain.headers.get('content-type')).toBe('text/javascript; charset=utf-8')
  const text = await plain.text()
  const packed = await get(path, { 'accept-encoding': 'gzip, br;q=0' })
  expect([packed.headers.get('content-encoding'), packed.headers.get('vary')]).toEqual(['gzip', 'accept-encoding'])
  expect(gunzipSync(Buffer.from(await packed.arrayBuffer())).toString()).toBe(text)
  expect((await get(path, { 'accept-encoding': 'gzip, deflate, br' })).headers.get('content-encoding')).toBe('br')
  expect((await get('/theme.js')).headers.get('cache-control')).toBe('no-cache')
})

test.each([
  '/assets/..%2f..%2f..%2fpackage.json',
  '/assets/%2e%2e/%2e%2e/package.json',
  '/..%5c..%5cpackage.json',
  '/assets/',
  '/assets',
  '/pages.json',
  '/.stamp',
  '/assets/%00',
])('%s is no file', async path => {
  const { ask } = await doorWith()
  expect((await ask('GET', path)).status).toBe(404)
})

test('the page names the configured base path, whatever the request says', async () => {
  const { ask } = await doorWith([], { app: { basePath: '/retoma' } })
  const headers = { host: 'evil.example"><script>', 'x-forwarded-prefix': '/evil', 'x-forwarded-host': 'evil.example' }
  const peer = { address: '10.0.0.7' }
  for (const path of ['/retoma', '/retoma/', '/retoma/jobs/1?base=//evil.example/&"><script>']) {
    const { status, body } = await ask('GET', path, { headers, peer })
    expect({ status, base: /<base[^>]*>/.exec(body)![0] }).toEqual({ status: 200, base: '<base href="/retoma/" />' })
    expect(body).not.toContain('evil')
  }
  expect((await ask('GET', '/retomado')).status).toBe(404)
})

test.each(['//evil.example', 'evil', '/a"><script>', '/a/../b', '/a b', '/:id', '/*', '/a//b', '/<b>'])(
  'the base path %j is refused',
  async basePath => {
    const { engine } = await doorWith()
    expect(() => createApp(engine, { basePath })).toThrow(/basePath/)
  },
)

test('the policy of the page and of its scripts allows nothing inline and no other host', async () => {
  const { fetch } = await doorWith()
  for (const path of ['/', `/assets/${scripts[0]}`]) {
    const policy = (await fetch(new Request(`http://127.0.0.1:3000${path}`))).headers.get('content-security-policy')!
    expect(policy).not.toMatch(/unsafe|https?:|\*|sha256|nonce/)
    expect(policy).toContain("default-src 'none'")
  }
  const html = readFileSync(new URL('index.html', built), 'utf8')
  expect(html).not.toMatch(/<style|<script(?![^>]* src=)[^>]*>|style=|\son\w+=/)
})

test('the session says who is asking and what the server runs', async () => {
  const hello = defineJob({ kind: 'hello', run: () => 'hi' })
  const { ask, engine, clock } = await doorWith([hello], { app: { systems: [system], simulated: ['bank'] } })
  expect((await ask('GET', '/api/v1/session')).body).toMatchObject({
    user: 'local',
    role: 'admin',
    via: 'open',
    language: 'en',
    now: clock.now().toISOString(),
    systems: [{ name: 'orders', page: '/pedidos/', simulated: ['bank'] }],
    simulated: ['bank'],
  })
  const { token } = await engine.tokens.create({ user: 'ana', role: 'viewer' })
  expect((await ask('GET', '/api/v1/session')).status).toBe(401)
  const asAna = { token, headers: { 'accept-language': 'pt-BR' } }
  expect((await ask('GET', '/api/v1/session', asAna)).body).toMatchObject({
    user: 'ana',
    role: 'viewer',
    language: 'pt',
  })
})

test('the first load of the dashboard is below 150 kB of gzip, and charts are not part of it', () => {
  const html = readFileSync(new URL('index.html', built), 'utf8')
  const first = [...html.matchAll(/(?:src|href)="\.\/([^"]+\.js)"/g)].map(([, name]) => name!)
  const files = readdirSync(new URL('assets/', built)).map(name => `assets/${name}`)
  // The page that is opened first is loaded with the shell.
  const overview = files.filter(name => /overview-page-[^/]*\.js$/.test(name))
  const sizeOf = (name: string) =>
    readFileSync(new URL(files.includes(`${name}.gz`) ? `${name}.gz` : name, built)).byteLength
  const bytes = [...first, ...overview].reduce((sum, name) => sum + sizeOf(name), 0)
  expect(first.length).toBeGreaterThan(1)
  expect(bytes).toBeLessThan(150_000)
  const texts = first.map(name => readFileSync(new URL(name, built), 'utf8')).join('')
  expect(texts).not.toContain('uplot')
})
