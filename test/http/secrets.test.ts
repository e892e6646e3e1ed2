/** Secrets pass through the server, and appear in no log line and no response. */

import pg from 'pg'
import { expect, test } from 'vitest'
import { internalsOf } from '../../src/engine/internals.ts'
import { RetomaError } from '../../src/errors/errors.ts'
import { route } from '../../src/http/index.ts'
import { defineJob } from '../../src/index.ts'
import { createLog } from '../../src/lib/logging/log.ts'
import { doorWith } from './support.ts'

/** Every name below is looked for in everything that was logged and answered. */
const secrets = {
  cron: 'cron-secret-0123456789',
  admin: 'admin-token-0123456789',
  wrong: 'wrong-token-0123456789',
  key: 'provider-key-0123456789',
  ours: `rt_${'aB3-_'.repeat(8)}xyz`,
}

const broken = route({
  method: 'get',
  path: '/broken',
  name: 'broken',
  tag: 'test',
  summary: 'fails with an error that quotes what it should not',
  role: 'open',
  run({ log, request }) {
    log.info({ headers: Object.fromEntries(request.headers), url: request.url }, `asked for ${request.url}`)
    throw new Error(
      `fetch of https://x.example/?api_key=${secrets.key} with Bearer ${secrets.admin} and ${secrets.ours} failed`,
    )
  },
})

test('neither logs nor answers have a secret, in headers, cookies, bodies, queries and errors', async () => {
  let written = ''
  const write = (line: string) => {
    written += line
  }
  const log = createLog({ level: 'debug', format: 'json', write })
  const { fetch, engine, databaseUrl } = await doorWith([], {
    log,
    app: { log, cronSecret: secrets.cron, routes: [broken] },
  })
  await internalsOf(engine).keepAdminToken(secrets.admin)
  const cookies: string[] = []
  const ask = async (method: string, path: string, headers: Record<string, string> = {}, body?: unknown) => {
    const response = await fetch(
      new Request(`http://127.0.0.1:3000${path}`, {
        method,
        headers: { 'content-type': 'application/json', ...headers },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    )
    cookies.push(...response.headers.getSetCookie().map(each => /=([^;]*)/.exec(each)![1]!))
    written += JSON.stringify([...response.headers].filter(([name]) => name !== 'set-cookie')) + (await response.text())
    return response.status
  }
  const admin = { authorization: `Bearer ${secrets.admin}` }
  expect(await ask('GET', `/api/v1/cron/tick?secret=${secrets.cron}`)).toBe(200)
  expect(await ask('GET', `/api/v1/cron/tick?secret=${secrets.wrong}`)).toBe(401)
  expect(await ask('GET', '/api/v1/me', admin)).toBe(200)
  expect(await ask('GET', '/api/v1/me', { authorization: `Bearer ${secrets.wrong}` })).toBe(401)
  expect(await ask('POST', '/api/v1/login', {}, { token: secrets.admin })).toBe(200)
  expect(await ask('POST', '/api/v1/login', {}, { token: secrets.wrong })).toBe(401)
  expect(await ask('POST', '/api/v1/login', {}, { token: secrets.admin, tokn: 1 })).toBe(400)
  expect(await ask('POST', `/api/v1/tokens?token=${secrets.admin}`, admin, { user: 'a', role: secrets.wrong })).toBe(
    400,
  )
  expect(await ask('GET', `/nothing?token=${secrets.admin}`, { cookie: `retoma_session=${cookies[0]}` })).toBe(404)
  expect(await ask('GET', `/broken?secret=${secrets.cron}&token=${secrets.admin}`, admin)).toBe(500)
  expect(written).toContain('"path":"/api/v1/cron/tick","query":"secret"')
  expect(written).toContain('a request failed')
  expect(cookies[0]).toMatch(/^[\w-]{43}$/)
  for (const secret of [...Object.values(secrets), cookies[0]!, new URL(databaseUrl).password].filter(Boolean))
    expect(written.includes(secret), `${secret.slice(0, 6)}… was written`).toBe(false)
})

test('what a job threw is kept and reported without the keys of the address it quotes', async () => {
  const call = defineJob({
    kind: 'call',
    maxAttempts: 1,
    run: () =>
      Promise.reject(
        new Error(`GET https://ana:${secrets.wrong}@x.example/?api_key=${secrets.key}&q=1: 500 for ${secrets.ours}`),
      ),
  })
  const { ask, engine, run, databaseUrl } = await doorWith([call])
  const { id } = await engine.enqueue(call, undefined)
  await run()
  const { body } = await ask('GET', `/api/v1/jobs/${id}`)
  expect(body.error.message).toBe('GET https://ana:…@x.example/?api_key=…&q=1: 500 for rt_…')
  expect(body.error.stack).toContain('secrets.test.ts')
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  const kept = await client.query(
    `select (select string_agg(j::text, '') from retoma.job j) || (select string_agg(e::text, '') from retoma.event e)
       || (select string_agg(f::text, '') from retoma.failure f) as all`,
  )
  await client.end()
  expect(kept.rows[0].all).toContain('x.example')
  for (const secret of [secrets.wrong, secrets.key, secrets.ours]) {
    expect(JSON.stringify(body)).not.toContain(secret)
    expect(kept.rows[0].all).not.toContain(secret)
  }
})

test('where the database is, is for the log: whoever asks may be anybody', async () => {
  const lines: string[] = []
  const log = createLog({ level: 'error', format: 'json', write: line => lines.push(line) })
  const away = route({
    ...broken,
    path: '/away',
    name: 'away',
    run() {
      throw new RetomaError('database_unreachable', {
        address: 'db.internal (prod)',
        problem: 'refused by 10.0.0.5',
        outcome: '',
      })
    },
  })
  const { ask } = await doorWith([], { app: { log, routes: [away] } })
  const answer = await ask('GET', '/away')
  expect(answer).toMatchObject({ status: 503, body: { error: { code: 'database_unreachable' } } })
  expect(JSON.stringify(answer.body)).not.toMatch(/internal|prod|10\.0/)
  expect(lines.join('')).toContain('db.internal')
})
