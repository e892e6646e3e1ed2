/**
 * Outside clients request every route of a running server over a socket: a client generated from the OpenAPI document for
 * JSON (client/every-route.ts), the EventSource package for streams, curl for text. A route of the document without a
 * line in any client fails, so a new route gets a line.
 */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { promisify } from 'node:util'
import { EventSource } from 'eventsource'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { roles } from '../src/auth/model/token.ts'
import { createApp } from '../src/http/index.ts'
import type { OpenApi, Operation } from '../src/http/openapi.ts'
import { listen } from '../src/http/server.ts'
import { defineBatch, defineJob, defineSchedule, minutes, providerWait, type TokenRole } from '../src/index.ts'
import { liveEngine } from '../test/support/engine.ts'
import { guardStage, watchdog } from '../test/support/guards.ts'
import { generatedClient, run, start, strictly } from './support.ts'

const cronSecret = 'a-secret-that-is-long'
const input = z.object({ n: z.number() })
const letter = defineJob({ kind: 'letter', queue: 'post', input, run: (ctx, { n }) => ctx.step('write', () => n) })
/** No worker runs the queue `drawer`. */
const draft = defineJob({ kind: 'draft', queue: 'drawer', input, run: (_, { n }) => n })
/** Asks a service whose answer is a wait. */
const question = defineJob({
  kind: 'question',
  queue: 'post',
  input,
  run: ctx =>
    ctx.provider('oracle', () => {
      throw providerWait({ retryAfter: minutes(60) })
    }),
})
const letters = defineBatch({ name: 'letters', job: letter })
const drafts = defineBatch({ name: 'drafts', job: draft })
const schedules = ['nightly', 'hourly'].map(name =>
  defineSchedule({ name, job: draft, every: minutes(60), input: { n: 1 } }),
)
const guards = [watchdog(), watchdog({ name: 'no-table', table: 'nothing' })]

/** An answer to a client. */
interface Told {
  route: string
  as: 'good' | 'wrong state' | 'unknown id' | 'no token' | 'wrong role' | 'bad input'
  status: number
  code: string | null
}

interface Server {
  address: string
  tokens: Record<TokenRole, string>
}

/** A server with a token for each role; `folder`: the generated client. */
async function serving() {
  const { url, sql } = await guardStage()
  const { engine } = await liveEngine([letter, draft, question], { batches: [letters, drafts], schedules, guards }, url)
  await engine.work({ queues: { post: 4 } })
  const server = await listen(createApp(engine, { cronSecret }), '127.0.0.1', 0)
  onTestFinished(() => server.close())
  const address = `http://127.0.0.1:${server.port}`
  const folder = await generatedClient(address)
  const document = (await (await fetch(`${address}/api/openapi.json`)).json()) as OpenApi
  const made = await Promise.all(roles.map(role => engine.tokens.create({ user: role, role })))
  const tokens = Object.fromEntries(made.map(({ role, token }) => [role, token])) as Record<TokenRole, string>
  return { engine, sql, tokens, address, folder, document }
}

/** Runs the generated client in a separate process. Returns all answers. */
async function byGeneratedClient(folder: string, env: Record<string, string>): Promise<Told[]> {
  expect(await run(folder, [...strictly, 'every-route.ts'])).toEqual({ code: 0, output: '' })
  const child = start(folder, ['every-route.js'], env)
  let output = ''
  let trouble = ''
  child.stdout!.on('data', chunk => (output += chunk))
  child.stderr!.on('data', chunk => (trouble += chunk))
  const [code] = await once(child, 'close')
  expect({ code, trouble }).toEqual({ code: 0, trouble: '' })
  return output
    .trim()
    .split('\n')
    .map(line => JSON.parse(line))
}

/** Returns the status: 200 at the first event, or the status of the refusal. */
function followed(url: string, token?: string): Promise<number> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
  const source = new EventSource(url, {
    fetch: (input, init) => fetch(input, { ...init, headers: { ...init.headers, ...headers } }),
  })
  onTestFinished(() => source.close())
  return new Promise(resolve => {
    for (const type of ['heartbeat', 'state', 'action', 'item'])
      source.addEventListener(type, ({ data }) => {
        JSON.parse(data)
        resolve(200)
      })
    source.addEventListener('error', ({ code }) => resolve(code ?? 0))
  })
}

async function byEventSource({ address, tokens }: Server, ids: Record<string, string>): Promise<Told[]> {
  const told: Told[] = []
  for (const [path, id] of Object.entries(ids)) {
    const ask = async (as: Told['as'], status: Promise<number>) =>
      told.push({ route: `GET ${path}`, as, status: await status, code: null })
    const url = (each: string) => `${address}${path.replace('{id}', each)}`
    await ask('good', followed(url(id), tokens.viewer))
    await ask('no token', followed(url(id)))
    await ask('bad input', followed(`${url(id)}?surprise=1`, tokens.viewer))
    if (path.includes('{')) await ask('unknown id', followed(url('0'), tokens.viewer))
  }
  return told
}

const curl = async (...args: string[]): Promise<number> => {
  const asked = ['--silent', '--output', '/dev/null', '--write-out', '%{http_code}', ...args]
  return Number((await promisify(execFile)('curl', asked)).stdout)
}

async function byCurl({ address, tokens }: Server): Promise<Told[]> {
  const told: Told[] = []
  for (const path of ['/metrics', '/api/docs', '/api/docs.css']) {
    const route = `GET ${path}`
    const viewer = ['--header', `authorization: Bearer ${tokens.viewer}`]
    told.push({ route, as: 'good', status: await curl(`${address}${path}`, ...viewer), code: null })
    if (path !== '/api/docs.css')
      told.push({ route, as: 'no token', status: await curl(`${address}${path}`), code: null })
  }
  return told
}

const refusals: Record<Exclude<Told['as'], 'good'>, number> = {
  'wrong state': 409,
  'unknown id': 404,
  'no token': 401,
  'wrong role': 403,
  'bad input': 400,
}

/** Returns the necessary requests to a route, from the route's entry in the document. */
function due(path: string, { 'x-role': role, parameters, requestBody, responses }: Operation): Told['as'][] {
  const readsInput = parameters.some(each => each.in === 'query' || each.name === 'Idempotency-Key')
  return [
    'good',
    ...(responses[409] === undefined ? [] : (['wrong state'] as const)),
    ...(path.includes('{') ? (['unknown id'] as const) : []),
    ...(role === 'open' ? [] : (['no token'] as const)),
    ...(role === 'operator' || role === 'admin' ? (['wrong role'] as const) : []),
    ...(readsInput || requestBody !== undefined ? (['bad input'] as const) : []),
  ]
}

test('an outside client drives every route, to its good answer and to each of its refusals', async () => {
  const { engine, sql, folder, document, ...server } = await serving()
  const stalled = (await Promise.all([1, 2].map(n => engine.enqueue(draft, { n })))).map(({ id }) => id)
  await sql(`update retoma.job set state = 'stalled' where id = any ($1)`, [stalled])
  const batch = await engine.submit(drafts, [{ n: 1 }])
  const ids = {
    '/api/v1/events': '',
    '/api/v1/batches/{id}/events': batch.id,
    '/api/v1/jobs/{id}/events': stalled[0]!,
  }
  const told = [
    ...(await byGeneratedClient(folder, {
      RETOMA_URL: server.address,
      RETOMA_TOKENS: JSON.stringify(server.tokens),
      CRON_SECRET: cronSecret,
      STALLED_JOBS: stalled.join(),
    })),
    ...(await byEventSource(server, ids)),
    ...(await byCurl(server)),
  ]
  for (const [path, methods] of Object.entries(document.paths))
    for (const [method, operation] of Object.entries(methods)) {
      const route = `${method.toUpperCase()} ${path}`
      const answers = told.filter(each => each.route === route)
      const asked = [...new Set(answers.map(({ as }) => as))]
      expect
        .soft(asked.sort(), `${route} has its line, with all that the document says`)
        .toEqual(due(path, operation).sort())
      for (const { as, status, code } of answers) {
        const expected = as === 'good' ? expect.toSatisfy((each: number) => each >= 200 && each < 300) : refusals[as]
        expect.soft({ as, status }, `${route}: ${code}`).toEqual({ as, status: expected })
      }
    }
})
