/** `callProvider` over a real socket, to a server that answers in every way. */
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { inspect } from 'node:util'
import { gzipSync } from 'node:zlib'
import { expect, onTestFinished, test } from 'vitest'
import { callProvider, megabytes, milliseconds, type ProviderRequest } from '../../src/index.ts'

interface Seen {
  method: string
  url: string
  headers: NodeJS.Dict<string | string[]>
  body: string
}

async function provider(answer: (response: ServerResponse) => void) {
  const seen: Seen[] = []
  let arrive = () => {}
  const arrived = new Promise<void>(resolve => {
    arrive = resolve
  })
  const server = createServer(async (request, response) => {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece as Buffer)
    const { method = '', url = '', headers } = request
    seen.push({ method, url, headers, body: Buffer.concat(pieces).toString() })
    arrive()
    answer(response)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const close = () => {
    server.closeAllConnections()
    return new Promise<void>(resolve => server.close(() => resolve()))
  }
  onTestFinished(close)
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api`
  const call = (request: Partial<ProviderRequest> = {}, signal = new AbortController().signal) =>
    callProvider({ baseUrl, path: '/v1/x?api_key=hidden', ...request }, signal)
  return { seen, call, close, baseUrl, arrived }
}

test('a request has its method, headers and body, and the answer arrives whole', async () => {
  const { seen, call, baseUrl } = await provider(response =>
    response.writeHead(201, { 'x-id': '7' }).end(`\ufeff{"ok":"ção"}`),
  )
  const answer = await call({ baseUrl: `${baseUrl}//`, headers: { 'x-api-key': 'k' }, body: '{}' })
  expect(answer).toMatchObject({ status: 201, body: '{"ok":"ção"}' })
  expect('status' in answer && [answer.header('X-Id'), answer.header('x-none')]).toEqual(['7', null])
  await call({ method: 'DELETE' })
  await call({ body: new TextEncoder().encode('bytes') })
  await call()
  expect(seen).toMatchObject([
    { method: 'POST', url: '/api/v1/x?api_key=hidden', headers: { 'x-api-key': 'k' }, body: '{}' },
    { method: 'DELETE', body: '' },
    { method: 'POST', body: 'bytes' },
    { method: 'GET', body: '' },
  ])
})

test('a redirect is not followed', async () => {
  const { seen, call } = await provider(response => response.writeHead(307, { location: '/elsewhere' }).end())
  expect(await call()).toMatchObject({ status: 307 })
  expect(seen).toHaveLength(1)
})

test('a body beyond the bound ends the call, compressed or not', async () => {
  const bomb = gzipSync(Buffer.alloc(4 * 1024 * 1024))
  const { call } = await provider(response => response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb))
  expect(await call({ maxBytes: megabytes(1) })).toEqual({ failure: 'too_large', maxBytes: megabytes(1) })
  expect(await call()).toMatchObject({ status: 200 })
})

test.each<[string, (response: ServerResponse) => void]>([
  ['never answers', () => {}],
  ['stops in the middle of the body', response => response.writeHead(200).write('x')],
])('the timeout covers a provider that %s', async (_, answer) => {
  const { call } = await provider(answer)
  expect(await call({ timeout: milliseconds(30) })).toEqual({ failure: 'timeout', seconds: 0.03 })
})

test('an abort ends the call with the reason of the signal', async () => {
  const { call, arrived, seen } = await provider(() => {})
  const over = new AbortController()
  const reason = new Error('enough')
  const called = call({}, over.signal)
  await arrived
  over.abort(reason)
  await expect(called).rejects.toBe(reason)
  await expect(call({}, over.signal)).rejects.toBe(reason)
  expect(seen).toHaveLength(1)
})

test('without an answer the result has the code of the system error and nothing of the request', async () => {
  const { call, close } = await provider(response => {
    response.writeHead(200, { 'content-length': '10' }).write('x')
    response.destroy()
  })
  expect(await call()).toMatchObject({ failure: 'unreachable' })
  await close()
  expect(await call()).toEqual({ failure: 'unreachable', code: 'ECONNREFUSED' })
  const bad = await call({ headers: { authorization: 'Bearer a\nsecret' } })
  expect(bad).toEqual({ failure: 'unreachable', code: 'unknown' })
  const nowhere = await call({ baseUrl: 'no address, but a secret' })
  expect(nowhere).toMatchObject({ failure: 'unreachable' })
  expect(inspect([bad, nowhere])).not.toContain('secret')
})

test('a wrong option is refused before any request', async () => {
  const { call, seen } = await provider(response => response.end())
  for (const wrong of [{ path: 'v1' }, { timeout: milliseconds(0) }, { maxBytes: -1 }, { retries: 3 }] as object[])
    await expect(call(wrong)).rejects.toMatchObject({ code: 'bad_option' })
  expect(seen).toEqual([])
})
