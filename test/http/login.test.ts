/** The dashboard's log-in: a cookie for a token, and what it may not be used for. */

import { expect, test } from 'vitest'
import { internalsOf } from '../../src/engine/internals.ts'
import { minutes, seconds } from '../../src/index.ts'
import { testEngine } from '../../src/testing/index.ts'
import { type Answered, type Door, doorWith } from './support.ts'

const own = { origin: 'http://127.0.0.1:3000' }
const secretIn = (answer: Answered) => /retoma_session=([^;]*)/.exec(answer.headers.get('set-cookie') ?? '')?.[1]

async function loggedIn(door: Door): Promise<string> {
  const { token } = await door.engine.tokens.create({ user: 'ana', role: 'admin' })
  return `retoma_session=${secretIn(await door.ask('POST', '/api/v1/login', { body: { token }, headers: own }))}`
}

test('log-in changes a token for a cookie that scripts and other sites cannot use', async () => {
  const door = await doorWith()
  const { token } = await door.engine.tokens.create({ user: 'ana', role: 'operator' })
  const answer = await door.ask('POST', '/api/v1/login', { body: { token }, headers: own })
  expect(answer.status).toBe(200)
  expect(answer.body).toEqual({ user: 'ana', role: 'operator', expires_at: '2030-01-08T12:00:00.000Z' })
  const cookie = answer.headers.get('set-cookie')!
  expect(cookie).toMatch(/^retoma_session=[\w-]{43}; Path=\/; Max-Age=604800; HttpOnly; SameSite=Strict$/)
  expect(cookie).not.toContain(token)
  const asked = { headers: { cookie: `a=b; retoma_session=${secretIn(answer)}; c=d` } }
  expect((await door.ask('GET', '/api/v1/me', asked)).body).toEqual({ user: 'ana', role: 'operator', via: 'cookie' })
})

test.each<[string, Record<string, string>, object]>([
  ['PUBLIC_URL is https', { host: 'jobs.example.com' }, { publicUrl: 'https://jobs.example.com' }],
  ['a trusted proxy says so', { 'x-forwarded-proto': 'https' }, { trustProxy: 1 }],
])('the cookie is Secure, and HSTS is sent, where %s', async (_, headers, app) => {
  const { ask, engine } = await doorWith([], { app })
  const { token } = await engine.tokens.create({ user: 'ana', role: 'viewer' })
  const answer = await ask('POST', '/api/v1/login', { body: { token }, headers })
  expect(answer.headers.get('set-cookie')).toContain('; Secure')
  expect(answer.headers.get('strict-transport-security')).toContain('max-age=')
  const plain = await ask('POST', '/api/v1/login', { body: { token } })
  expect(plain.headers.get('set-cookie')).not.toContain('Secure')
  expect(plain.headers.get('strict-transport-security')).toBeNull()
})

test('what changes something by cookie must not come from the pages of others', async () => {
  const door = await doorWith([], { app: { publicUrl: 'https://jobs.example.com' } })
  const cookie = await loggedIn(door)
  const revoke = (headers: Record<string, string>) =>
    door.ask('DELETE', '/api/v1/tokens/4711', { headers: { cookie, ...headers } }).then(({ body }) => body.error.code)
  expect(await revoke({ 'sec-fetch-site': 'cross-site' })).toBe('foreign_origin')
  // A program with a jar of cookies, which no page can steer.
  expect(await revoke({})).toBe('not_found')
  for (const origin of [
    'https://evil.example',
    'null',
    'http://jobs.example.com',
    'https://127.0.0.1:3000.evil.example',
  ])
    expect(await revoke({ origin }), origin).toBe('foreign_origin')
  expect(await revoke(own)).toBe('not_found')
  expect(await revoke({ origin: 'https://jobs.example.com' })).toBe('not_found')
  expect((await door.ask('GET', '/api/v1/me', { headers: { cookie, origin: 'https://evil.example' } })).status).toBe(
    200,
  )
})

test('over TLS a page of the same name without TLS is another site', async () => {
  const { ask, engine } = await doorWith([], { app: { trustProxy: 1 } })
  const { token } = await engine.tokens.create({ user: 'ana', role: 'viewer' })
  const logIn = (origin: string) =>
    ask('POST', '/api/v1/login', {
      body: { token },
      headers: { origin, 'x-forwarded-proto': 'https', 'x-forwarded-host': 'jobs.example.com' },
    })
  expect((await logIn('http://jobs.example.com')).body.error.code).toBe('foreign_origin')
  expect((await logIn('https://jobs.example.com')).status).toBe(200)
})

test('a page of another site can neither log in nor log out', async () => {
  const { ask, engine } = await doorWith()
  const { token } = await engine.tokens.create({ user: 'eve', role: 'viewer' })
  const headers = { origin: 'https://evil.example' }
  const refused = await ask('POST', '/api/v1/login', { body: { token }, headers })
  expect(refused).toMatchObject({ status: 403, body: { error: { code: 'foreign_origin' } } })
  expect(refused.headers.get('set-cookie')).toBeNull()
  expect((await ask('POST', '/api/v1/logout', { headers })).status).toBe(403)
})

test('after log-out the cookie opens nothing, here at once and elsewhere within five seconds', async () => {
  const door = await doorWith()
  const cookie = await loggedIn(door)
  await using other = await testEngine({ databaseUrl: door.databaseUrl })
  const secret = cookie.split('=')[1]!
  expect(await internalsOf(other.engine).findLogIn(secret)).not.toBeNull()
  const out = await door.ask('POST', '/api/v1/logout', { headers: { cookie, ...own } })
  expect(out.status).toBe(204)
  expect(out.headers.get('set-cookie')).toMatch(/^retoma_session=; .*Max-Age=0/)
  expect((await door.ask('GET', '/api/v1/me', { headers: { cookie } })).status).toBe(401)
  await other.clock.advance(seconds(5))
  expect(await internalsOf(other.engine).findLogIn(secret)).toBeNull()
  expect((await door.ask('POST', '/api/v1/logout')).status).toBe(204)
})

test('a log-in ends with its token', async () => {
  const door = await doorWith()
  await door.engine.tokens.create({ user: 'rui', role: 'admin' })
  const cookie = await loggedIn(door)
  const [{ id } = { id: '' }] = (await door.engine.tokens.list({ user: 'ana' })).items
  await door.engine.tokens.revoke(id)
  expect((await door.ask('GET', '/api/v1/me', { headers: { cookie } })).status).toBe(401)
})

test('wrong log-ins and wrong tokens are slowed by where they come from', async () => {
  const { ask, engine, clock } = await doorWith()
  const { token } = await engine.tokens.create({ user: 'ana', role: 'viewer' })
  const guess = (n: number, address = '10.0.0.7') =>
    ask('POST', '/api/v1/login', { body: { token: `guess-${n}` }, peer: { address } })
  for (let n = 0; n < 9; n++) expect((await guess(n)).status).toBe(401)
  expect((await ask('GET', '/api/v1/me', { token: 'wrong', peer: { address: '10.0.0.7' } })).status).toBe(401)
  const refused = await guess(10)
  expect(refused).toMatchObject({ status: 429, body: { error: { code: 'rate_limited', seconds: 60 } } })
  expect(refused.headers.get('retry-after')).toBe('60')
  const right = () => ask('POST', '/api/v1/login', { body: { token }, peer: { address: '10.0.0.7' } })
  expect((await right()).status).toBe(200)
  expect((await ask('GET', '/api/v1/me', { token: 'other', peer: { address: '10.0.0.7' } })).status).toBe(429)
  expect((await guess(11, '10.0.0.8')).status).toBe(401)
  await clock.advance(minutes(1))
  expect((await guess(12)).status).toBe(401)
})

test('the same wrong log-in again and again is slowed as well', async () => {
  const { ask, engine } = await doorWith()
  await engine.tokens.create({ user: 'ana', role: 'viewer' })
  const statuses = []
  for (let n = 0; n < 12; n++) statuses.push((await ask('POST', '/api/v1/login', { body: { token: 'x' } })).status)
  expect(statuses).toEqual([...Array.from({ length: 10 }, () => 401), 429, 429])
})

test('who guesses is distinguished behind proxies that are trusted, and only behind those', async () => {
  const { ask, engine } = await doorWith([], { app: { trustProxy: 2 } })
  await engine.tokens.create({ user: 'ana', role: 'viewer' })
  const guess = (forwarded: string, n: number) =>
    ask('POST', '/api/v1/login', {
      body: { token: `guess-${n}` },
      headers: { 'x-forwarded-for': forwarded },
      peer: { address: '10.0.0.1' },
    })
  // A header of the client itself is to the left of the entry of the first trusted proxy.
  for (let n = 0; n < 10; n++) expect((await guess(`9.9.9.${n}, 5.5.5.5, 10.0.0.2`, n)).status).toBe(401)
  expect((await guess('9.9.9.99, 5.5.5.5, 10.0.0.2', 10)).status).toBe(429)
  expect((await guess('6.6.6.6, 10.0.0.2', 11)).status).toBe(401)
  // Whatever somebody has written there.
  expect((await guess('x'.repeat(4000), 12)).status).toBe(401)
})

test('where nobody knows where requests come from, who guesses keeps nobody out', async () => {
  const { ask, engine } = await doorWith()
  const { token } = await engine.tokens.create({ user: 'ana', role: 'viewer' })
  for (let n = 0; n < 10; n++)
    expect((await ask('GET', '/api/v1/me', { token: `guess-${n}`, peer: {} })).status).toBe(401)
  expect((await ask('GET', '/api/v1/me', { token: 'guess-10', peer: {} })).status).toBe(429)
  expect((await ask('POST', '/api/v1/login', { body: { token: 'guess-11' }, peer: {} })).status).toBe(429)
  expect((await ask('POST', '/api/v1/login', { body: { token }, peer: {} })).status).toBe(200)
  expect((await ask('GET', '/api/v1/me', { token, peer: {} })).status).toBe(200)
})

test('behind TLS the cookie is `__Host-`, and a cookie of the other name opens nothing there', async () => {
  const { ask, engine } = await doorWith([], { app: { trustProxy: 1 } })
  const { token } = await engine.tokens.create({ user: 'ana', role: 'viewer' })
  const tls = { 'x-forwarded-proto': 'https' }
  const answer = await ask('POST', '/api/v1/login', { body: { token }, headers: tls })
  expect(answer.headers.get('set-cookie')).toMatch(
    /^__Host-retoma_session=[\w-]{43}; Path=\/; Max-Age=604800; HttpOnly; SameSite=Strict; Secure$/,
  )
  const me = (name: string) =>
    ask('GET', '/api/v1/me', { headers: { ...tls, cookie: `${name}=${secretIn(answer)}` } }).then(
      ({ status }) => status,
    )
  expect(await me('__Host-retoma_session')).toBe(200)
  expect(await me('retoma_session')).toBe(401)
  const out = await ask('POST', '/api/v1/logout', {
    headers: { ...tls, cookie: `__Host-retoma_session=${secretIn(answer)}` },
  })
  expect(out.headers.get('set-cookie')).toMatch(/^__Host-retoma_session=; .*Max-Age=0/)
  expect(await me('__Host-retoma_session')).toBe(401)
})

test('one token has at most 20 log-ins: one more ends the oldest', async () => {
  const { engine, clock } = await doorWith()
  const { token } = await engine.tokens.create({ user: 'ana', role: 'viewer' })
  const other = await engine.tokens.create({ user: 'rui', role: 'viewer' })
  const kept = (await internalsOf(engine).logIn(other.token, undefined))!.secret
  const secrets: string[] = []
  for (let n = 0; n < 22; n++) {
    await clock.advance(seconds(1))
    secrets.push((await internalsOf(engine).logIn(token, undefined))!.secret)
  }
  await clock.advance(seconds(5))
  const alive = await Promise.all(secrets.map(async secret => (await internalsOf(engine).findLogIn(secret)) !== null))
  expect(alive).toEqual([false, false, ...Array.from({ length: 20 }, () => true)])
  expect(await internalsOf(engine).findLogIn(kept)).not.toBeNull()
})

test('wrong cookies are counted as wrong tokens are', async () => {
  const { ask, engine } = await doorWith()
  const { token } = await engine.tokens.create({ user: 'ana', role: 'viewer' })
  const peer = { address: '10.0.0.7' }
  const guess = (n: number) => ask('GET', '/api/v1/me', { headers: { cookie: `retoma_session=guess-${n}` }, peer })
  for (let n = 0; n < 10; n++) expect((await guess(n)).status).toBe(401)
  expect(await guess(10)).toMatchObject({ status: 429, body: { error: { code: 'rate_limited' } } })
  expect((await guess(0)).status).toBe(401) // the same again is no guess
  expect((await ask('GET', '/api/v1/me', { token: 'wrong', peer })).status).toBe(429)
  expect((await ask('GET', '/api/v1/me', { token, peer })).status).toBe(200)
})
