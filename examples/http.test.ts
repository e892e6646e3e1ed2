/** Retoma inside apps of others, each started as its reader would start it, and asked from outside. */
import { once } from 'node:events'
import { join } from 'node:path'
import { expect, inject, onTestFinished, test, vi } from 'vitest'
import { createTestDatabase } from '../src/testing/index.ts'
import { until } from '../test/support/engine.ts'
import { compile, here, installed, run, start } from './support.ts'

type Ask = (path: string, init?: RequestInit) => Promise<Response>

/** Its address below which Retoma is, and the process that it is. */
async function started(name: string) {
  const [database, folder] = await Promise.all([createTestDatabase(inject('serverUrl')), installed(name)])
  onTestFinished(database.drop)
  expect(await run(folder, [...compile, 'main.ts'])).toEqual({ code: 0, output: '' })
  const child = start(folder, ['main.js'], { DATABASE_URL: database.url, PORT: '0' })
  let output = ''
  const closed = once(child, 'close').then(([code]) => ({ code, output }))
  const address = await new Promise<string>((resolve, reject) => {
    for (const stream of [child.stdout!, child.stderr!])
      stream.on('data', chunk => {
        output += chunk
        const found = /http:\/\/127\.0\.0\.1:\d+\/retoma/.exec(output)
        if (found) resolve(found[0])
      })
    closed.then(() => reject(new Error(output)))
  })
  const ask: Ask = (path, init) => fetch(address + path, { ...init, headers: { ...json, ...init?.headers } })
  return { ask, address, child, closed }
}

const json = { 'content-type': 'application/json', 'accept-language': 'en' }

// biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever came back.
const bodyOf = async (response: Response | Promise<Response>): Promise<any> => (await response).json()

/** What an outside client does first: look, make, wait, be told that there is nothing. */
async function answersAsItShould(ask: Ask): Promise<void> {
  expect(await bodyOf(ask('/health'))).toMatchObject({ status: 'ok' })
  const body = JSON.stringify({ name: 'hellos', items: [{ name: 'Ana' }, { name: 'João' }] })
  const made = await ask('/api/v1/batches', { method: 'POST', body })
  expect(made.status).toBe(201)
  const { id } = await bodyOf(made)
  await until(async () => (await bodyOf(ask(`/api/v1/batches/${id}`))).state === 'succeeded')
  const { items } = await bodyOf(ask(`/api/v1/batches/${id}/items`))
  expect(items.map((each: { result: string }) => each.result)).toEqual(['Hello, Ana', 'Hello, João'])

  const nothing = await ask('/api/v1/nothing')
  expect({ status: nothing.status, body: await bodyOf(nothing) }).toMatchObject({
    status: 404,
    body: { error: { code: 'no_such_route', message: 'there is nothing at GET /retoma/api/v1/nothing' } },
  })
  const wrong = await ask('/api/v1/batches', { method: 'POST', body: '{"nmae":1}' })
  expect({ status: wrong.status, body: await bodyOf(wrong) }).toMatchObject({
    status: 400,
    body: { error: { code: 'bad_request' } },
  })
  expect((await bodyOf(ask('/api/openapi.json'))).servers).toEqual([{ url: '/retoma' }])
  expect(await (await ask('/api/docs')).text()).toContain('/api/v1/batches')
}

/** The first event of a batch that is made meanwhile, while the stream stays open. */
async function tellsWhatHappens(ask: Ask): Promise<void> {
  const leaving = new AbortController()
  const response = await ask('/api/v1/events', { signal: leaving.signal })
  expect(response.headers.get('content-type')).toContain('text/event-stream')
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  let told = ''
  while (!told.includes('event:')) told += (await reader.read()).value ?? ''
  leaving.abort()
}

for (const name of ['express', 'fastify', 'hono']) {
  test(`the example with ${name}: looked at, given work, and told what is wrong, below its base path`, async () => {
    const { ask, address, child, closed } = await started(name)
    await answersAsItShould(ask)
    expect(await (await fetch(new URL('/', address))).text()).toContain('an app of yours')
    child.kill('SIGTERM')
    expect(await closed).toMatchObject({ code: 0 })
  })

  test(`the example with ${name} streams events`, async () => {
    const { ask } = await started(name)
    await tellsWhatHappens(ask)
  })
}

// Next.js itself is a third of a gigabyte: what it would call is called, and no more.
test('the example with Next.js: its route handler answers as the others do', async () => {
  const database = await createTestDatabase(inject('serverUrl'))
  onTestFinished(database.drop)
  vi.stubEnv('DATABASE_URL', database.url)
  const handler = await import(join(here, 'next', 'app', 'retoma', '[[...path]]', 'route.ts'))
  onTestFinished(async () => {
    vi.unstubAllEnvs()
    process.emit('SIGTERM')
    process.removeAllListeners('SIGTERM')
  })
  const ask: Ask = (path, { method = 'GET', ...init } = {}) =>
    handler[method](
      new Request(`http://localhost:3000/retoma${path}`, { method, ...init, headers: { ...json, ...init.headers } }),
    )
  await answersAsItShould(ask)
})
