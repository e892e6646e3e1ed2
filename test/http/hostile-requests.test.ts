/** Requests that no honest client sends: each is refused with a code of its own, and none is a 500. */
import { expect, test } from 'vitest'
import { z } from 'zod'
import { createApp } from '../../src/http/index.ts'
import { errorResponse } from '../../src/http/response/error-response.ts'
import { defineJob, RetomaError } from '../../src/index.ts'
import { doorWith, thisMachine } from './support.ts'

const echo = defineJob<unknown>({ kind: 'echo', run: (_, given) => given })

test('a NUL in a query is 400 and names the parameter, and a NUL in a path is 404', async () => {
  const { ask, app } = await doorWith([echo])
  for (const path of [
    'jobs?kind=%00',
    'jobs?queue=a%00b',
    'jobs?ref=%00',
    'batches?name=%00',
    'tokens?user=%00',
    'jobs?%00=1',
  ])
    expect(await ask('GET', `/api/v1/${path}`), path).toMatchObject({ status: 400 })
  expect((await ask('GET', '/api/v1/jobs?kind=%00')).body.error).toMatchObject({ code: 'bad_request', field: 'kind' })
  for (const [method, path] of [
    ['GET', '/api/v1/jobs/%00'],
    ['GET', '/api/v1/batches/%00'],
    ['GET', '/api/v1/batches/%00/items'],
    ['GET', '/api/v1/queues/%00/explain'],
    ['POST', '/api/v1/queues/%00/pause'],
    ['POST', '/api/v1/schedules/%00/run'],
    ['POST', '/api/v1/guards/%00/run'],
    ['GET', '/%00'],
    ['GET', '/api/%00'],
  ] as const) {
    const response = await app.fetch(new Request(`http://127.0.0.1:3000${path}`, { method }), thisMachine)
    expect(response.status, path).toBe(404)
  }
})

test('a NUL in a field of a body is 400, and a filter with one finds nothing', async () => {
  const { ask } = await doorWith([echo])
  for (const name of ['key', 'group_key', 'ref', 'kind'])
    expect((await ask('POST', '/api/v1/jobs', { body: { kind: 'echo', [name]: 'a\0b' } })).status, name).toBe(400)
  for (const name of ['kind', 'queue', 'group_key'])
    expect((await ask('POST', '/api/v1/jobs/cancel', { body: { [name]: 'a\0b' } })).status, name).toBeLessThan(500)
  expect((await ask('POST', '/api/v1/tokens', { body: { user: 'a\0b', role: 'viewer' } })).status).toBe(400)
})

test.each(['gzip', 'br', 'deflate', 'gzip, identity'])('a body with Content-Encoding %s is 415', async encoding => {
  const { ask } = await doorWith([echo])
  const asked = { headers: { 'content-encoding': encoding }, body: { kind: 'echo' } }
  expect(await ask('POST', '/api/v1/jobs', asked)).toMatchObject({
    status: 415,
    body: { error: { code: 'encoded_body' } },
  })
  expect((await ask('POST', '/api/v1/jobs', { ...asked, headers: { 'content-encoding': 'identity' } })).status).toBe(
    201,
  )
})

test.each([
  ['9007199254740993', 'input.id'],
  ['900719925474099.3e1', 'input.id'],
  ['-9007199254740992', 'input.id'],
  ['123456789012345678901234567890', 'input.id'],
  ['1e400', 'input.id'],
  ['1E+20', 'input.id'],
])('the number %s in a body is refused by its place, not rounded', async (number, field) => {
  const { fetch, engine } = await doorWith([echo])
  const send = (input: string) =>
    fetch(
      new Request('http://127.0.0.1:3000/api/v1/jobs', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: `{"kind":"echo","input":${input}}`,
      }),
    )
  const response = await send(`{"id":${number}}`)
  expect(response.status).toBe(400)
  expect(((await response.json()) as { error: object }).error).toMatchObject({ code: 'bad_request', field })
  expect((await send(`{"id":"${number}","n":9007199254740991,"pi":3.14159265358979323846}`)).status).toBe(201)
  expect((await engine.jobs.list()).items).toHaveLength(1)
})

test('an answer repeats at most 200 characters of what was sent', async () => {
  const { ask } = await doorWith([echo])
  const long = 'x'.repeat(5000)
  const strict = await doorWith([defineJob({ kind: 'strict', input: z.strictObject({ a: z.string() }), run: () => 1 })])
  const answers = [
    await ask('GET', `/api/v1/${long}`),
    await ask('POST', '/api/v1/jobs', { body: { kind: 'echo', [long]: 1 } }),
    await ask('POST', '/api/v1/jobs', { body: { kind: 'x'.repeat(100) } }),
    await ask('POST', '/api/v1/batches', { body: { name: 'x'.repeat(100), items: [1] } }),
    await ask('GET', `/api/v1/jobs/${long}`),
    await ask('GET', `/api/v1/jobs?${long}=1`),
    await ask('GET', '/api/v1/jobs', { headers: { host: `${long}.example` } }),
    await ask('POST', '/api/v1/logout', { headers: { origin: `https://${long}.example` } }),
    await ask('POST', '/api/v1/jobs', { headers: { 'content-type': long }, body: {} }),
    await ask('POST', '/api/v1/jobs', { headers: { 'idempotency-key': long }, body: { kind: 'echo' } }),
    await strict.ask('POST', '/api/v1/jobs', { body: { kind: 'strict', input: { a: 'a', [long]: 1 } } }),
  ]
  for (const { status, body } of answers) {
    expect(status, JSON.stringify(body)).toBeGreaterThanOrEqual(400)
    expect(status).toBeLessThan(500)
    expect(JSON.stringify(body)).not.toMatch(/x{201}/)
  }
})

test('every 503 says when to come back', async () => {
  const { app } = await doorWith()
  const codes = ['starting', 'engine_closed', 'worker_stopping', 'cron_unset', 'watchdog_missing'] as const
  for (const code of codes) {
    const answer = errorResponse(new RetomaError(code, {} as never), new Request('http://127.0.0.1/'))
    expect(answer.status, code).toBe(503)
    expect(Number(answer.headers.get('retry-after')), code).toBeGreaterThan(0)
  }
  const unset = await app.fetch(new Request('http://127.0.0.1:3000/api/v1/cron/tick'))
  expect(unset.status).toBe(503)
  expect(unset.headers.get('retry-after')).not.toBeNull()
})

test('a secret for cron routes has at least 16 characters', async () => {
  const { engine } = await doorWith()
  expect(() => createApp(engine, { cronSecret: 'short' })).toThrow(/cronSecret.*16/)
  expect(() => createApp(engine, { cronSecret: 'x'.repeat(16) })).not.toThrow()
})
