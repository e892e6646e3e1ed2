/** Limits of routes: the responses to a client, and equal limits over several servers. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { route } from '../../src/http/index.ts'
import { defineJob, minutes, seconds } from '../../src/index.ts'
import { shareDatabase } from '../support/engine.ts'
import { doorWith } from './support.ts'

const script = fileURLToPath(new URL('./limit-guest.mjs', import.meta.url))

const about = { tag: 'documents', summary: 'Takes nothing', role: 'operator' } as const
const limit = { bucket: 'documents', limit: 2, per: minutes(1) }
const routes = [
  route({
    ...about,
    method: 'post',
    path: '/uploads',
    name: 'upload',
    limit,
    body: z.strictObject({ name: z.string() }),
    run: () => ({ ok: true }),
  }),
  route({ ...about, method: 'post', path: '/reprocess', name: 'reprocess', limit, run: () => ({ ok: true }) }),
  route({
    ...about,
    method: 'get',
    path: '/download',
    name: 'download',
    limit: { bucket: 'downloads', limit: 5, per: seconds(10) },
    answers: 'text/plain',
    run: () => new Response('text'),
  }),
  route({ ...about, method: 'get', path: '/free', name: 'free', run: () => ({ ok: true }) }),
]
const headersOf = (headers: Headers) =>
  ['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset', 'retry-after'].map(name => headers.get(name))

test('an answer says what is left, and past the limit it is 429 with the seconds, in the headers and in Portuguese', async () => {
  const { ask, clock } = await doorWith([], { app: { routes } })
  const body = { name: 'a' }
  expect(headersOf((await ask('POST', '/uploads', { body })).headers)).toEqual(['2', '1', '60', null])
  await clock.advance(seconds(18))
  expect(headersOf((await ask('POST', '/reprocess')).headers)).toEqual(['2', '0', '42', null])
  const refused = await ask('POST', '/uploads', { body, headers: { 'accept-language': 'pt-BR' } })
  expect(refused.status).toBe(429)
  expect(headersOf(refused.headers)).toEqual(['2', '0', '42', '42'])
  expect(refused.body.error).toEqual({
    code: 'rate_limited',
    message: 'muitas requisições: são permitidas 2 em 1 min; tente de novo em 42 s',
    limit: 2,
    per: '1 min',
    seconds: 42,
  })
  await clock.advance(seconds(42))
  expect((await ask('POST', '/reprocess')).status).toBe(200)
})

test('each user has a window of their own, whatever token or address they come with', async () => {
  const { ask, engine } = await doorWith([], { app: { routes } })
  const tokenOf = async (user: string) => (await engine.tokens.create({ user, role: 'operator' })).token
  const [ana, anasOther, rui] = [await tokenOf('ana'), await tokenOf('ana'), await tokenOf('rui')]
  const post = async (token: string) => (await ask('POST', '/reprocess', { token })).status
  expect([await post(ana), await post(anasOther), await post(ana), await post(anasOther)]).toEqual([200, 200, 429, 429])
  expect([await post(rui), await post(rui), await post(rui)]).toEqual([200, 200, 429])
})

test('a route without a limit is free, and says nothing of one', async () => {
  const { ask } = await doorWith([], { app: { routes } })
  for (let i = 0; i < 5; i++) {
    const { status, headers } = await ask('GET', '/free')
    expect([status, ...headersOf(headers)]).toEqual([200, null, null, null, null])
  }
})

test('a request that was counted and then refused for what it asks says what is left as well', async () => {
  const { ask } = await doorWith([], { app: { routes } })
  const { status, headers, body } = await ask('POST', '/uploads', { body: { nmae: 'a' } })
  expect([status, body.error.code, ...headersOf(headers)]).toEqual([400, 'bad_request', '2', '1', '60', null])
})

test('an answer that is no JSON says what is left as well', async () => {
  const { ask } = await doorWith([], { app: { routes } })
  const { body, headers } = await ask('GET', '/download')
  expect(body).toBe('text')
  expect(headersOf(headers)).toEqual(['5', '4', '10', null])
})

test('a bad request counts, and one past the limit is refused before its body is looked at', async () => {
  const { ask } = await doorWith([], { app: { routes } })
  for (let i = 0; i < 2; i++) expect((await ask('POST', '/uploads', { body: { nome: 1 } })).status).toBe(400)
  expect((await ask('POST', '/uploads', { body: { nome: 1 } })).status).toBe(429)
})

test('what the engine itself refuses as too often, or because a queue is full, says when to come again', async () => {
  const job = defineJob({ kind: 'k', queue: 'q', run: () => 1 })
  const limits = { q: { maxDepth: 1, perGroup: { admit: { limit: 1, per: minutes(1) } } } }
  const put = (groupKey?: string) =>
    route({
      ...about,
      method: 'post',
      path: `/put/${groupKey}`,
      name: `put${groupKey}`,
      run: ({ engine }) => engine.enqueue(job, undefined, groupKey === undefined ? {} : { groupKey }),
    })
  const { ask, run } = await doorWith([job], { limits, app: { routes: [put('a'), put()] } })
  expect((await ask('POST', '/put/a')).status).toBe(200)
  const full = await ask('POST', '/put/undefined')
  expect([full.status, full.body.error.code, ...headersOf(full.headers)]).toEqual([
    429,
    'queue_full',
    null,
    null,
    null,
    '5',
  ])
  await run()
  const often = await ask('POST', '/put/a')
  expect([often.status, often.body.error.code, ...headersOf(often.headers)]).toEqual([
    429,
    'rate_limited',
    '1',
    '0',
    '60',
    '60',
  ])
})

test('300 requests of one user at once, on three servers: exactly 10 of a bucket of 10 pass', async () => {
  const url = await shareDatabase()
  const servers = await Promise.all([1, 2, 3].map(() => startServer(url)))
  const agent = new Agent({ keepAlive: true, maxSockets: 100 })
  onTestFinished(() => agent.destroy())
  const post = (port: number) =>
    new Promise<{ status: number; retryAfter: string | undefined }>((resolve, reject) => {
      request({ host: '127.0.0.1', port, method: 'POST', path: '/uploads', agent }, response => {
        response.resume()
        response.on('end', () => resolve({ status: response.statusCode!, retryAfter: response.headers['retry-after'] }))
      })
        .on('error', reject)
        .end()
    })
  const answers = await Promise.all(Array.from({ length: 300 }, (_, i) => post(servers[i % 3]!)))
  expect(answers.filter(each => each.status === 200)).toHaveLength(10)
  const refused = answers.filter(each => each.status === 429)
  expect(refused).toHaveLength(290)
  for (const { retryAfter } of refused) {
    expect(Number(retryAfter)).toBeGreaterThan(0)
    expect(Number(retryAfter)).toBeLessThanOrEqual(600)
  }
})

/** Its port. It ends with the test. */
async function startServer(url: string): Promise<number> {
  const child = spawn(process.execPath, [script, url], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  onTestFinished(async () => {
    child.stdin.end()
    await ended
  })
  const [line] = await once(child.stdout, 'data')
  return Number(String(line).trim())
}
