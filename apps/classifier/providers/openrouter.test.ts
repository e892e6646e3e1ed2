/** A question over a real socket, to a server that answers badly in every way. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { inspect } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { drips, fenced, garbage, half, late, never, ok, refuses } from '../test/behaviours.ts'
import { openRouterServer } from '../test/openrouter-server.ts'
import { judge } from './answer.ts'
import { askOpenRouter } from './openrouter.ts'

const messages = [
  { role: 'system' as const, content: '["Contrato","Petição"]' },
  { role: 'user' as const, content: 'D-1 segredo do cliente' },
]

async function world() {
  const server = await openRouterServer()
  onTestFinished(() => server.close())
  const ask = (signal: AbortSignal = new AbortController().signal, baseUrl = server.baseUrl) =>
    askOpenRouter({ key: server.key, baseUrl }, { model: 'm/x', messages }, signal)
  const judged = async (signal?: AbortSignal) =>
    judge(await ask(signal), { provider: 'OpenRouter', categories: ['Contrato', 'Petição'], key: server.key })
  return { server, ask, judged }
}

test('it asks as OpenRouter wants to be asked, and the answer is read', async () => {
  const { server, ask, judged } = await world()
  server.behave(ok(), fenced(), late(20), ok({ categoria: 'CONTRATO' }), ok())
  for (let n = 0; n < 4; n++) expect(await judged()).toMatchObject({ is: 'ok', reply: { category: 'Contrato' } })
  expect(server.calls[0]).toMatchObject({
    authorized: true,
    model: 'm/x',
    asked: messages,
    body: { temperature: 0, response_format: { type: 'json_object' }, max_tokens: 800 },
  })
  expect(await ask(undefined, `${server.baseUrl}/`)).toMatchObject({ status: 200 })
})

test.each([
  ['half', half(), 'retry', 'provider_unreachable'],
  ['garbage', garbage(), 'retry', 'provider_useless'],
  ['garbage', garbage('\u0000\uFFFD{', 'application/octet-stream'), 'retry', 'provider_useless'],
  ['empty', garbage(''), 'retry', 'provider_useless'],
  ['more than a megabyte', garbage('x'.repeat(1_200_000)), 'retry', 'provider_useless'],
  ['429', refuses(429, { retryAfter: '3' }), 'wait', 'provider_busy'],
  ['429', refuses(429, { retryAfter: new Date(Date.now() + 60_000).toUTCString() }), 'wait', 'provider_busy'],
  ['503', refuses(503), 'wait', 'provider_busy'],
  ['529', refuses(529), 'retry', 'provider_error'],
  ['402', refuses(402), 'stop', 'provider_refused'],
  ['401', refuses(401, { message: 'Invalid key sk-or-v1-test-0a1b2c3d4e5f' }), 'stop', 'provider_refused'],
  ['403', refuses(403, { metadata: { reasons: ['x'] } }), 'item', 'document_refused'],
] as const)('%s: %s', async (_, behaviour, is, code) => {
  const { server, judged } = await world()
  server.behave(behaviour)
  const answer = await judged()
  expect(answer).toMatchObject({ is, why: { code } })
  expect(inspect(answer, { depth: 9 })).not.toContain(server.key)
})

test('a Retry-After that is a date is so long after the date of the answer', async () => {
  const { server, judged } = await world()
  server.behave(refuses(429, { retryAfter: new Date(Date.now() + 60_000).toUTCString() }))
  const { retryAfter } = (await judged()) as { retryAfter: number }
  expect(retryAfter).toBeGreaterThan(55_000)
  expect(retryAfter).toBeLessThanOrEqual(61_000)
})

test.each([
  ['never answers', never()],
  ['drips', drips(10)],
  ['is late', late(60_000)],
])('one that %s is left as soon as the signal says so, with its reason', async (_, behaviour) => {
  const { server, ask } = await world()
  server.behave(behaviour)
  const over = new AbortController()
  const asked = ask(over.signal)
  await server.called(1)
  const reason = new Error('enough')
  over.abort(reason)
  await expect(asked).rejects.toBe(reason)
  while (server.inFlight() > 0) await new Promise(resolve => setImmediate(resolve))
})

test('nobody there, and a key that no header can carry, say nothing of the key or the document', async () => {
  const { server, ask } = await world()
  await server.down()
  const refused = await ask()
  expect(refused).toEqual({ failure: 'unreachable', code: 'ECONNREFUSED' })
  const signal = new AbortController().signal
  const bad = await askOpenRouter({ key: 'sk-or\nsegredo', baseUrl: server.baseUrl }, { model: 'm', messages }, signal)
  expect(bad).toMatchObject({ failure: 'unreachable' })
  expect(inspect(bad)).not.toContain('segredo')
})

test('a redirect is not followed: the key stays', async () => {
  const { server, ask } = await world()
  const elsewhere = createServer((_, response) =>
    response.writeHead(307, { location: `${server.baseUrl}/chat/completions` }).end(),
  )
  await new Promise<void>(resolve => elsewhere.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void elsewhere.close())
  const received = await ask(undefined, `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}`)
  expect(received).toMatchObject({ status: 307 })
  expect(server.calls).toEqual([])
})
