/** An app with Retoma below /retoma, and the requests of an outside client, the same for each app. */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import pg from 'pg'
import { expect } from 'vitest'
import { until } from '../test/support/engine.ts'

/** `path` is relative to the base path. */
type Ask = (path: string, init?: RequestInit) => Promise<Response>

const json = { 'content-type': 'application/json', 'accept-language': 'en' }

/** Resolves when the process has printed the address. */
export async function listening(child: ChildProcess, databaseUrl: string) {
  let output = ''
  const closed = once(child, 'close').then(([code]) => ({ code, output }))
  const origin = await new Promise<string>((resolve, reject) => {
    for (const stream of [child.stdout!, child.stderr!])
      stream.on('data', chunk => {
        output += chunk
        const found = /http:\/\/127\.0\.0\.1:\d+/.exec(output)
        if (found) resolve(found[0])
      })
    closed.then(() => reject(new Error(output)))
  })
  const ask: Ask = (path, init) => fetch(`${origin}/retoma${path}`, { ...init, headers: { ...json, ...init?.headers } })
  /** Sends `signal`. Returns the exit code, the output and the workers still registered. */
  async function asked(signal: NodeJS.Signals) {
    child.kill(signal)
    return { ...(await closed), workers: await workersIn(databaseUrl) }
  }
  return { ask, origin, asked }
}

export async function workersIn(databaseUrl: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    return (await client.query('select id from retoma.worker')).rows.map(({ id }) => id)
  } finally {
    await client.end()
  }
}

// biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever came back.
const bodyOf = async (response: Response | Promise<Response>): Promise<any> => (await response).json()

/**
 * The first requests of an outside client: read, create, wait, and get a 404 and a 400. Also reads the document and
 * the dashboard.
 */
export async function answersAsItShould(ask: Ask): Promise<void> {
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
  await showsTheDashboard(ask)
}

/** The page at every address of the dashboard, the script that the page names, and every file of the build, below the base path. */
async function showsTheDashboard(ask: Ask): Promise<void> {
  for (const path of ['', '/batches/42']) {
    const page = await ask(path, { headers: { accept: 'text/html' } })
    const html = await page.text()
    expect({ path, status: page.status, html }).toMatchObject({
      status: 200,
      html: expect.stringContaining('<base href="/retoma/" />'),
    })
    const script = /src="\.(\/assets\/[^"]+\.js)"/.exec(html)![1]!
    const loaded = await ask(script)
    expect(loaded.headers.get('content-type')).toContain('text/javascript')
    expect(loaded.headers.get('cache-control')).toContain('immutable')
    expect((await loaded.text()).length).toBeGreaterThan(10_000)
  }
  const files = readdirSync(new URL('../dist/web/assets/', import.meta.url)).filter(name => !/\.(?:br|gz)$/.test(name))
  const statuses = await Promise.all(files.map(async name => `${(await ask(`/assets/${name}`)).status} ${name}`))
  expect(statuses).toEqual(files.map(name => `200 ${name}`))
  expect(await bodyOf(ask('/api/v1/session'))).toMatchObject({ role: 'admin', via: 'host' })
}

/**
 * Checks: each event arrives when the event happens, on the open stream, and a client which has left receives no more
 * events.
 */
export async function tellsWhatHappens(ask: Ask): Promise<void> {
  const leaving = new AbortController()
  const response = await ask('/api/v1/events', { signal: leaving.signal })
  expect(response.headers.get('content-type')).toContain('text/event-stream')
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  let told = ''
  const hears = async (what: string) => {
    while (!told.includes(what)) told += (await reader.read()).value ?? ''
  }
  await hears('event: heartbeat')
  expect(await listeners(ask)).toBe('1')
  await ask('/api/v1/batches', { method: 'POST', body: JSON.stringify({ name: 'hellos', items: [{ name: 'Ana' }] }) })
  await hears('"to":"succeeded"')
  leaving.abort()
  await until(async () => (await listeners(ask)) === '0')
}

async function listeners(ask: Ask): Promise<string | undefined> {
  return /^retoma_sse_clients (\d+)$/m.exec(await (await ask('/metrics')).text())?.[1]
}
