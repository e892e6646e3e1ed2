/** "Who is asking" of the contract, sentence by sentence. */

import { expect, test } from 'vitest'
import { internalsOf, withInternals } from '../../src/engine/internals.ts'
import { createApp } from '../../src/http/index.ts'
import { seconds } from '../../src/index.ts'
import { testEngine } from '../../src/testing/index.ts'
import { until } from '../support/engine.ts'
import { doorWith, thisMachine } from './support.ts'

const me = '/api/v1/me'
const users = { viewer: 'vera', operator: 'oto', admin: 'ana' } as const

test('a token names user and role', async () => {
  const { ask, engine } = await doorWith()
  for (const role of ['viewer', 'operator', 'admin'] as const) {
    const { token } = await engine.tokens.create({ user: users[role], role })
    expect((await ask('GET', me, { token })).body).toEqual({ user: users[role], role, via: 'token' })
  }
})

test('viewer and operator read what they may not do, and who they are', async () => {
  const { ask, engine } = await doorWith()
  for (const role of ['viewer', 'operator'] as const) {
    const { token } = await engine.tokens.create({ user: users[role], role })
    const { status, body } = await ask('GET', '/api/v1/tokens', { token })
    expect(status).toBe(403)
    expect(body.error).toMatchObject({ code: 'forbidden', needed: 'admin', user: users[role], role })
  }
  const { token } = await engine.tokens.create({ user: 'ana', role: 'admin' })
  expect((await ask('GET', '/api/v1/tokens', { token })).status).toBe(200)
})

test('on loopback with no token made the server is open, and X-User-Id names the user', async () => {
  const { ask } = await doorWith()
  expect((await ask('GET', me)).body).toEqual({ user: 'local', role: 'admin', via: 'open' })
  const named = await ask('GET', me, { headers: { 'x-user-id': 'ana@example.com' } })
  expect(named.body).toEqual({ user: 'ana@example.com', role: 'admin', via: 'open' })
  for (const address of ['::1', '127.8.8.8', '::ffff:127.0.0.1'])
    expect((await ask('GET', me, { peer: { ...thisMachine, address } })).status).toBe(200)
  // There is none to be wrong.
  expect((await ask('GET', me, { token: 'any' })).body.via).toBe('open')
})

test('once a token exists the header is ignored, also when that token is revoked', async () => {
  const { ask, engine } = await doorWith()
  const { id, token } = await engine.tokens.create({ user: 'ana', role: 'viewer' })
  const named = { headers: { 'x-user-id': 'eve' } }
  const { status, headers, body } = await ask('GET', me, named)
  expect(status).toBe(401)
  expect(body.error.code).toBe('unauthorized')
  expect(headers.get('www-authenticate')).toContain('Bearer')
  expect((await ask('GET', me, { ...named, token })).body.user).toBe('ana')
  await engine.tokens.revoke(id)
  expect((await ask('GET', me, { ...named, token })).status).toBe(401)
  expect((await ask('GET', me, named)).status).toBe(401)
})

test('a token made in another process closes this one within seconds', async () => {
  const { ask, clock, databaseUrl } = await doorWith()
  await using other = await testEngine({ databaseUrl })
  expect((await ask('GET', me)).status).toBe(200)
  await other.engine.tokens.create({ user: 'ana', role: 'viewer' })
  await clock.advance(seconds(3))
  expect((await ask('GET', me)).status).toBe(401)
})

test('where a process watches it is reported: a first token closes it, and a revoked one opens nothing, while its clock is stopped', async () => {
  const { ask, engine, databaseUrl } = await doorWith()
  engine.watch()
  await using other = await testEngine({ databaseUrl })
  const answers = (status: number, asked = {}) => until(async () => (await ask('GET', me, asked)).status === status)
  expect((await ask('GET', me)).status).toBe(200)
  const { id, token } = await other.engine.tokens.create({ user: 'ana', role: 'viewer' })
  await answers(401)
  const { body, headers } = await ask('POST', '/api/v1/login', { body: { token } })
  const cookie = { headers: { cookie: headers.get('set-cookie')!.split(';')[0]! } }
  expect(body).toMatchObject({ user: 'ana' })
  expect((await ask('GET', me, { token })).status).toBe(200)
  expect((await ask('GET', me, cookie)).status).toBe(200)
  await other.engine.tokens.revoke(id)
  await answers(401, { token })
  expect((await ask('GET', me, cookie)).status).toBe(401)
})

test('another machine is not let in without a token, and neither is one that is not known', async () => {
  const { ask, engine } = await doorWith()
  for (const address of ['10.0.0.7', '2001:db8::1', '::ffff:10.0.0.7', undefined])
    expect((await ask('GET', me, { peer: { ...thisMachine, address } })).body.error.code).toBe('unauthorized')
  const { token } = await engine.tokens.create({ user: 'ana', role: 'viewer' })
  expect((await ask('GET', me, { peer: { address: '10.0.0.7' }, token })).status).toBe(200)
})

test.each(['Forwarded', 'X-Forwarded-For', 'X-Forwarded-Proto', 'X-Forwarded-Whatever', 'Via'])(
  'a request that a proxy passed on (%s) is 403 while no token exists',
  async header => {
    const { ask, engine } = await doorWith([], { app: { trustProxy: 1 } })
    const headers = { [header]: '127.0.0.1' }
    const { status, body } = await ask('GET', me, { headers })
    expect(status).toBe(403)
    expect(body.error).toMatchObject({ code: 'proxy_without_token', header: header.toLowerCase() })
    const { token } = await engine.tokens.create({ user: 'ana', role: 'viewer' })
    expect((await ask('GET', me, { headers, token })).status).toBe(200)
  },
)

test('a mounted app answers 401 with and without the headers of a proxy while no token exists', async () => {
  const { ask } = await doorWith()
  const peer = { address: '127.0.0.1' }
  for (const headers of [{}, { 'X-Forwarded-For': '127.0.0.1', 'X-Forwarded-Host': 'localhost' }])
    expect(await ask('GET', me, { headers, peer })).toMatchObject({
      status: 401,
      body: { error: { code: 'unauthorized' } },
    })
})

test('health, ready and log-in are open always', async () => {
  const { ask, engine, tick } = await doorWith()
  await tick()
  await engine.tokens.create({ user: 'ana', role: 'viewer' })
  const from = { peer: { address: '10.0.0.7' }, headers: { 'x-forwarded-for': '1.2.3.4', host: 'evil.example' } }
  expect((await ask('GET', '/health', from)).status).toBe(200)
  expect((await ask('GET', '/ready', from)).status).toBe(200)
  expect((await ask('POST', '/api/v1/login', { ...from, body: { token: 'wrong' } })).body.error.code).toBe(
    'unauthorized',
  )
  expect((await ask('GET', '/', from)).status).toBe(200)
})

test('a page of another name that leads here (DNS rebinding) does not get in while it is open', async () => {
  const { ask } = await doorWith([], { app: { publicUrl: 'https://jobs.example.com' } })
  for (const host of ['evil.example', 'evil.example:3000', '127.0.0.1.evil.example', 'localhost.evil.example', ''])
    expect((await ask('GET', me, { headers: { host } })).body.error.code, host).toBe('foreign_host')
  for (const host of ['localhost:3000', '127.0.0.1', '[::1]:3000', 'retoma.localhost', 'jobs.example.com'])
    expect((await ask('GET', me, { headers: { host } })).status, host).toBe(200)
})

test('a page of another site cannot act while it is open; programs and own pages can', async () => {
  const { ask } = await doorWith()
  const make = (headers: Record<string, string>) =>
    ask('POST', '/api/v1/tokens/1/revoke', { headers }).then(answer => answer.body.error.code)
  for (const origin of ['https://evil.example', 'http://127.0.0.1:4000', 'null', 'http://localhost:3000'])
    expect(await make({ origin }), origin).toBe('foreign_origin')
  expect(await make({ origin: 'http://127.0.0.1:3000' })).toBe('not_found')
  expect(await make({})).toBe('not_found')
})

test('while the database has not said whether there is a token nobody is let in', async () => {
  const { engine } = await doorWith()
  const anyToken = () => Promise.reject(new Error('away'))
  const away = withInternals({ ...engine }, { ...internalsOf(engine), anyToken })
  const app = createApp(away)
  const request = () => new Request('http://127.0.0.1:3000/api/v1/me')
  expect((await app.fetch(request(), thisMachine)).status).toBe(500)
  expect((await createApp(engine).fetch(request(), thisMachine)).status).toBe(200)
})

test('mounted in an app it is never open by itself; that app may open it, or say who asks', async () => {
  const { engine } = await doorWith()
  const ask = async (options: Parameters<typeof createApp>[1], headers: Record<string, string> = {}) => {
    const request = new Request('https://shop.example/retoma/api/v1/me', { headers })
    const response = await createApp(engine, { basePath: '/retoma', ...options }).fetch(request)
    return { status: response.status, body: (await response.json()) as Record<string, unknown> }
  }
  expect((await ask({})).status).toBe(401)
  expect((await ask({ open: false })).status).toBe(401)
  expect((await ask({ open: true }, { 'x-forwarded-for': '1.2.3.4' })).body.via).toBe('open')
  const who = (request: Request) =>
    request.headers.get('x-session') === '7' ? ({ user: 'rui', role: 'operator' } as const) : null
  expect((await ask({ who }, { 'x-session': '7' })).body).toEqual({ user: 'rui', role: 'operator', via: 'host' })
  expect((await ask({ who })).status).toBe(401)
  const { token } = await engine.tokens.create({ user: 'ana', role: 'viewer' })
  expect((await ask({ who }, { authorization: `Bearer ${token}` })).body.user).toBe('ana')
  expect((await ask({ open: true })).status).toBe(401)
})

test("when `who` is given, nobody is let in by address, also by Retoma's own server", async () => {
  const { ask } = await doorWith([], { app: { who: () => null } })
  for (const peer of [thisMachine, { address: '127.0.0.1' }, { address: '::1' }]) {
    expect((await ask('GET', me, { peer, headers: { 'x-user-id': 'ana' } })).status).toBe(401)
    const made = await ask('POST', '/api/v1/tokens', { peer, body: { user: 'eve', role: 'admin' } })
    expect(made).toMatchObject({ status: 401, body: { error: { code: 'unauthorized' } } })
  }
})

test.each([
  { user: 'ana' },
  { user: 'ana', role: 'root' },
  { user: 'ana', role: 'Admin' },
  { user: 'ana', role: 'constructor' },
  { role: 'admin' },
  { user: '', role: 'admin' },
  { user: 7, role: 'admin' },
  'ana',
])('when `who` answers %j, which names no user with a role, nobody is let in', async answer => {
  const { ask } = await doorWith([], { app: { who: () => answer as never } })
  for (const path of [me, '/api/v1/tokens', '/api/v1/jobs'])
    expect(await ask('GET', path)).toMatchObject({ status: 500, body: { error: { code: 'internal' } } })
})

test('an app that lets everybody in cannot decide who comes in as well', async () => {
  const { engine } = await doorWith()
  expect(() => createApp(engine, { open: true, who: () => null })).toThrow(/open.*who/)
})

test('tokens are made, listed and revoked over HTTP; the secret is in the first answer only', async () => {
  const { ask, engine } = await doorWith()
  const { token } = await engine.tokens.create({ user: 'ana', role: 'admin' })
  const made = await ask('POST', '/api/v1/tokens', { token, body: { user: 'rui', role: 'viewer' } })
  expect(made.status).toBe(201)
  expect(made.body).toMatchObject({ user: 'rui', role: 'viewer', created_by: 'ana', used_at: null, revoked_at: null })
  expect((await ask('GET', me, { token: made.body.token })).body.user).toBe('rui')
  const { body } = await ask('GET', '/api/v1/tokens?limit=1', { token })
  expect(body.items).toMatchObject([{ id: made.body.id, shown: made.body.shown }])
  expect(JSON.stringify(body)).not.toContain(made.body.token.slice(8))
  const second = await ask('GET', `/api/v1/tokens?after=${body.next}`, { token })
  expect(second.body).toMatchObject({ items: [{ user: 'ana' }], next: null })
  const gone = await ask('DELETE', `/api/v1/tokens/${made.body.id}`, { token })
  expect(gone).toMatchObject({ status: 200, body: { id: made.body.id, changed: true } })
  expect((await ask('GET', me, { token: made.body.token })).status).toBe(401)
  const again = await ask('POST', `/api/v1/tokens/${made.body.id}/revoke`, { token })
  expect(again).toMatchObject({ status: 200, body: { changed: false } })
  const own = (await ask('GET', '/api/v1/tokens?user=ana&live=true', { token })).body.items[0].id
  for (const last of [
    await ask('DELETE', `/api/v1/tokens/${own}`, { token }),
    await ask('POST', `/api/v1/tokens/${own}/revoke`, { token }),
  ])
    expect(last).toMatchObject({ status: 409, body: { error: { code: 'last_admin' } } })
})

test.each([
  [{ user: 'ana' }, 'role'],
  [{ user: '', role: 'admin' }, 'user'],
  [{ user: 'ana', role: 'root' }, 'role'],
  [{ user: 'ana', role: 'admin', admin: true }, 'admin'],
  ['ana', 'body'],
])('a token asked for as %j is refused by the name of what is wrong', async (body, field) => {
  const { ask } = await doorWith()
  const answer = await ask('POST', '/api/v1/tokens', { body })
  expect(answer).toMatchObject({ status: 400, body: { error: { code: 'bad_request', field } } })
})

test('an id that names no token is 404 whatever its form', async () => {
  const { ask } = await doorWith()
  for (const id of ['4711', 'x', '99999999999999999999', '%00'])
    expect((await ask('DELETE', `/api/v1/tokens/${id}`)).body.error.code).toBe('not_found')
})
