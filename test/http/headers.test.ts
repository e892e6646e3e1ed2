/** The headers of every response, for a browser. */
import { expect, test, vi } from 'vitest'
import { route } from '../../src/http/index.ts'
import { doorWith, thisMachine } from './support.ts'

const guarding = [
  'x-content-type-options',
  'x-frame-options',
  'referrer-policy',
  'cross-origin-opener-policy',
  'cross-origin-resource-policy',
]

test.each([
  ['GET', '/health'],
  ['GET', '/'],
  ['GET', '/api/v1/nothing'],
  ['GET', '/api/v1/tokens'],
  ['POST', '/api/v1/tokens'],
  ['HEAD', '/health'],
  ['OPTIONS', '/api/v1/tokens'],
])('%s %s is guarded against sniffing, frames and other sites', async (method, path) => {
  const { fetch } = await doorWith()
  const { headers } = await fetch(new Request(`http://127.0.0.1:3000${path}`, { method }))
  const policy = headers.get('content-security-policy')!
  expect(policy).toContain("default-src 'none'")
  expect(policy).toContain("frame-ancestors 'none'")
  expect(policy).not.toContain('unsafe')
  expect(Object.fromEntries(guarding.map(name => [name, headers.get(name)]))).toEqual({
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'referrer-policy': 'same-origin',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
  })
  expect([...headers.keys()].filter(name => name.startsWith('access-control'))).toEqual([])
})

test('HEAD answers as GET does, without a body, and what would stream is ended', async () => {
  const ended = vi.fn()
  const stream = route({
    method: 'get',
    path: '/stream',
    name: 'stream',
    tag: 'test',
    summary: 'goes on for ever',
    role: 'viewer',
    answers: 'text/event-stream',
    run: () =>
      new Response(new ReadableStream({ cancel: ended }), {
        headers: { 'content-type': 'text/event-stream' },
      }),
  })
  const { fetch } = await doorWith([], { app: { routes: [stream] } })
  const response = await fetch(new Request('http://127.0.0.1:3000/stream', { method: 'HEAD' }))
  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toBe('text/event-stream')
  expect(await response.text()).toBe('')
  expect(ended).toHaveBeenCalledOnce()
})

test('an answer whose headers cannot be changed gets them too', async () => {
  const away = route({
    method: 'get',
    path: '/away',
    name: 'away',
    tag: 'test',
    summary: 'leads elsewhere',
    role: 'open',
    run: () => Response.redirect('https://example.com/', 302),
  })
  const { app } = await doorWith([], { app: { routes: [away] } })
  const response = await app.fetch(new Request('http://127.0.0.1:3000/away'))
  expect(response.status).toBe(302)
  expect(response.headers.get('location')).toBe('https://example.com/')
  expect(response.headers.get('x-content-type-options')).toBe('nosniff')
})

test('the app is a function of a request too, to which nothing else is said about where that came from', async () => {
  const { app } = await doorWith()
  const request = (path: string) => new Request(`http://127.0.0.1:3000${path}`)
  expect((await app(request('/health'))).status).toBe(200)
  expect((await app.fetch(request('/api/v1/jobs'), thisMachine)).status).toBe(200)
  const mounted = app as (request: Request, context: unknown) => Promise<Response>
  expect((await mounted(request('/api/v1/jobs'), { address: '127.0.0.1' })).status).toBe(401)
})
