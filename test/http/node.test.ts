/** The door behind (req, res), over real sockets: mounted below a path, before and behind parsers, with clients that leave. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { type AppOptions, createApp, route, toNodeHandler } from '../../src/http/index.ts'
import { engineOf, gate } from '../support/engine.ts'

const { Request: ownRequest, Response: ownResponse } = globalThis

type Before = (request: IncomingMessage & Record<string, unknown>) => unknown

/** `before`: what a framework does to a request on its way. */
async function serving(options: AppOptions, before: Before = () => {}) {
  const { engine } = await engineOf({})
  const handle = toNodeHandler(createApp(engine, options))
  const seen: (string | undefined)[] = []
  const server = createServer(async (request: IncomingMessage, response: ServerResponse) => {
    await before(request as never)
    const answered = handle(request, response)
    seen.push(request.url)
    await answered
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { at: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen }
}

const echo = route({
  method: 'post',
  path: '/echo',
  name: 'echo',
  tag: 'test',
  summary: 'echo',
  role: 'open',
  body: z.strictObject({ text: z.string() }),
  answer: z.object({ text: z.string(), address: z.string() }),
  run: ({ body, peer }) => ({ text: body.text, address: peer.address }),
})

const post = (text: string) => ({
  method: 'POST',
  body: JSON.stringify({ text }),
  headers: { 'content-type': 'application/json' },
})

async function read(request: AsyncIterable<Uint8Array>): Promise<string> {
  const parts: Uint8Array[] = []
  for await (const part of request) parts.push(part)
  return Buffer.concat(parts).toString()
}

test('a body comes through, and where it came from', async () => {
  const { at } = await serving({ routes: [echo] })
  expect(await (await fetch(`${at}/echo`, post('ção 😀'))).json()).toEqual({ text: 'ção 😀', address: '127.0.0.1' })
})

const parsers: Record<string, Before> = {
  'as an object': async request => {
    request.body = JSON.parse(await read(request))
  },
  'as a text': async request => {
    request.body = await read(request)
  },
  'as bytes': async request => {
    request.body = Buffer.from(await read(request))
  },
}
test.each(Object.entries(parsers))('a body that a parser has taken is given back: %s', async (_, parser) => {
  const { at } = await serving({ routes: [echo] }, parser)
  expect(await (await fetch(`${at}/echo`, post('ção'))).json()).toMatchObject({ text: 'ção' })
})

test('the whole path is seen where a framework has cut it, and the framework finds it cut again', async () => {
  const { at, seen } = await serving({ basePath: '/retoma', routes: [echo] }, request => {
    request.originalUrl = request.url
    request.url = request.url!.replace('/retoma', '')
  })
  expect((await fetch(`${at}/retoma/echo`, post('x'))).status).toBe(200)
  expect(seen).toEqual(['/echo'])
  expect((await fetch(`${at}/retoma/nothing`)).status).toBe(404)
})

test('a client that goes ends its stream, and the request is aborted', async () => {
  const gone = gate()
  const cancelled = gate()
  const endless = route({
    method: 'get',
    path: '/endless',
    name: 'endless',
    tag: 'test',
    summary: 'endless',
    role: 'open',
    answers: 'text/event-stream',
    run({ request }) {
      request.signal.addEventListener('abort', () => gone.open(), { once: true })
      const body = new ReadableStream({
        start: controller => controller.enqueue(new TextEncoder().encode('event: first\n\n')),
        cancel: () => cancelled.open(),
      })
      return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
    },
  })
  const { at } = await serving({ routes: [endless] })
  const leaving = new AbortController()
  const response = await fetch(`${at}/endless`, { signal: leaving.signal })
  const { value } = await response.body!.getReader().read()
  expect(Buffer.from(value!).toString()).toContain('first')
  leaving.abort()
  await Promise.all([gone.passed, cancelled.passed])
})

test.each<[string, AppOptions]>([
  ['without options', {}],
  ['with a `who` that knows nobody', { who: () => null }],
  ['with `open: false`', { open: false }],
])('mounted in another server %s, this machine is not let in by its address', async (_, options) => {
  const { at } = await serving(options)
  const make = { ...post(''), body: JSON.stringify({ user: 'eve', role: 'admin' }) }
  expect((await fetch(`${at}/api/v1/tokens`, make)).status).toBe(401)
  for (const path of ['/api/v1/me', '/api/v1/jobs', '/api/v1/tokens', '/metrics', '/api/openapi.json'])
    expect((await fetch(`${at}${path}`, { headers: { 'x-user-id': 'ana' } })).status, path).toBe(401)
  expect((await fetch(`${at}/api/v1/cron/tick`)).status).toBe(503)
  expect((await fetch(`${at}/health`)).status).toBe(200)
})

test('the globals of the process stay as they are', async () => {
  await serving({})
  expect(globalThis.Request).toBe(ownRequest)
  expect(globalThis.Response).toBe(ownResponse)
})
