/** One request cannot block or kill the process: what it holds is counted before anything in it is looked at. */
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { classifier } from '../../apps/classifier/index.ts'
import { documents } from '../../apps/documents/index.ts'
import { planner } from '../../apps/planner/index.ts'
import { quotes } from '../../apps/quotes/index.ts'
import { snaps } from '../../apps/snaps/index.ts'
import { routesOf } from '../../src/http/app.ts'
import { cutIdle } from '../../src/http/connections/idle-timeout.ts'
import { type Route, route, type System } from '../../src/http/index.ts'
import { parse } from '../../src/http/request/parse-schema.ts'
import { Streams } from '../../src/http/streaming/open-streams.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { batchDoor } from './batch-support.ts'
import { unboundedIn } from './request-schemas.ts'
import { doorWith } from './support.ts'

test('every list, text and object that a request may hold has a maximum', () => {
  expect(unboundedIn(routesOf({}))).toEqual([])
})

const systems: [string, System][] = [
  ['classifier', classifier()],
  ['quotes', quotes()],
  ['planner', planner()],
  ['snaps', snaps()],
  ['documents', documents()],
]

test.each(systems)(
  'every list, text and object that a request to the system %s may hold has a maximum',
  (_, system) => {
    expect(unboundedIn(system.routes)).toEqual([])
  },
)

test.each(systems)(
  'every list and every table that a viewer may read from the system %s waits for its turn',
  (_, system) => {
    const isList = ({ query, answers }: Route) =>
      (query instanceof z.ZodObject && 'limit' in query.shape) || answers === 'text/csv' || answers?.includes('sheet')
    const lists = system.routes.filter(each => each.method === 'get' && isList(each))
    expect(lists.length).toBeGreaterThan(0)
    expect(lists.filter(each => !each.heavy).map(({ path }) => path)).toEqual([])
  },
)

test('a list, text, object or record without a maximum is found, wherever it stands', () => {
  const about = {
    method: 'post',
    path: '/x',
    name: 'x',
    tag: 'x',
    summary: 'x',
    role: 'viewer',
    run: () => null,
  } as const
  const body = z.union([
    z.strictObject({
      list: z.array(z.string().max(3)).optional(),
      text: z.string().nullable(),
      all: z.array(z.object({ a: z.int() })).max(3),
      pattern: z.string().regex(/^a+$/),
    }),
    z.record(z.string().max(3), z.int()),
  ])
  expect(unboundedIn([route({ ...about, body })])).toEqual([
    'POST /x body.list: array',
    'POST /x body.text: string',
    'POST /x body.all[]: object',
    'POST /x body.pattern: string',
    'POST /x body: record',
  ])
})

/** A list, and how many of its items were read. */
function counted(items: unknown[]): { list: unknown[]; read: () => number } {
  let read = 0
  const get = (target: unknown[], name: string | symbol) => {
    if (typeof name === 'string' && /^\d+$/.test(name)) read++
    return Reflect.get(target, name)
  }
  return { list: new Proxy(items, { get }), read: () => read }
}

test('limits for more names than can be set are refused by their number, before a name is checked', async () => {
  const { ask } = await doorWith()
  const weights = Object.fromEntries(Array.from({ length: 2001 }, (_, n) => [`g${n}`, 'wrong']))
  const answer = await ask('PUT', '/api/v1/queues/q/limits', { body: { fair: 'group', weights } })
  expect(answer).toMatchObject({ status: 400, body: { error: { message: expect.stringContaining('2000') } } })
})

test('of a list with a thousand wrong items the first is refused and no other is looked at', () => {
  const { list, read } = counted(new Array(1000).fill(7))
  const { issue } = parse(z.strictObject({ refs: z.array(z.string().max(9)).max(5000) }), { refs: list })
  expect(issue).toMatchObject({ code: 'invalid_type', path: ['refs', 0] })
  expect(read()).toBe(1)
})

test('of a list that is too long nothing is looked at', () => {
  const { list, read } = counted(new Array(1001).fill('a'))
  expect(parse(z.array(z.string().max(9)).max(1000), list).issue).toMatchObject({ code: 'too_big', maximum: 1000 })
  expect(read()).toBe(0)
})

test('what is accepted is what the schema makes of it', () => {
  const item = z.strictObject({
    a: z.int().default(3),
    b: z
      .union([z.string().max(5), z.int()])
      .transform(String)
      .optional(),
  })
  const schema = z.strictObject({ items: z.array(item).max(9), note: z.string().max(9).nullable().default(null) })
  const given = { items: [{ a: 1 }, { b: 7 }, { a: 2, b: 'x' }] }
  expect(parse(schema, given)).toEqual({ value: schema.parse(given) })
  const none = schema.extend({ items: z.array(item).min(1).max(9) })
  expect(parse(none, { items: [] }).issue).toMatchObject({ code: 'too_small', path: ['items'] })
  const pair = z
    .array(z.int())
    .max(9)
    .refine(list => list[0] === list[1], 'the first two are the same')
  expect(parse(pair, [1, 2]).issue?.message).toBe('the first two are the same')
})

const million = 1_000_000

interface Refused {
  error: { code: string }
}

test('a body with a million list items or object fields is refused before it is parsed', async () => {
  const { fetch } = await batchDoor()
  const post = (body: string) =>
    fetch(
      new Request('http://127.0.0.1:3000/api/v1/batches', {
        method: 'POST',
        body,
        headers: { 'content-type': 'application/json' },
      }),
    )
  const fields = Array.from({ length: million }, (_, n) => `"${n}":1`).join(',')
  const bodies = [
    `{"name":"letters","items":[${'1,'.repeat(million)}1]}`,
    `{"name":"letters","items":[],"refs":[${'[],'.repeat(million)}[]]}`,
    `{"name":"letters","items":[{${fields}}]}`,
    `{${fields}}`,
  ]
  for (const body of bodies) {
    const response = await post(body)
    expect(response.status).toBe(413)
    expect(((await response.json()) as Refused).error.code).toBe('too_many_values')
  }
})

test('an object of more than 50,000 fields is refused before it is parsed, at any depth', async () => {
  const { ask } = await batchDoor()
  const fields = (n: number) => Object.fromEntries(Array.from({ length: n }, (_, at) => [`k${at}`, at]))
  const wide = fields(50_001)
  for (const body of [wide, { name: 'letters', items: [{ deep: [wide] }] }]) {
    const refused = await ask('POST', '/api/v1/batches', { body })
    expect([refused.status, refused.body.error.code]).toEqual([413, 'too_many_values'])
    expect(refused.body.error.message).toContain('50000')
  }
  // As many fields in two objects, and a field after an object or a list, are counted for the object they are in.
  const halves = [fields(25_001), fields(25_001)]
  const narrow = await ask('POST', '/api/v1/batches', {
    body: { name: 'letters', items: [1], odd: halves, more: [1, 2] },
  })
  expect(narrow.body.error.code).toBe('bad_request')
})

test('one input of more than 50,000 values is refused, alone and in a list', async () => {
  const { ask } = await batchDoor()
  const wide = Array.from({ length: 50_001 }, () => 1)
  const asked: [string, object][] = [
    ['/api/v1/batches', { name: 'letters', items: [wide] }],
    ['/api/v1/batches', { name: 'letters', items: [1, { deep: [wide.slice(1), 1] }] }],
    ['/api/v1/jobs', { kind: 'letter', input: wide }],
  ]
  for (const [path, body] of asked) {
    const refused = await ask('POST', path, { body })
    expect([refused.status, refused.body.error.code]).toEqual([413, 'too_many_values'])
  }
  const narrow = await ask('POST', '/api/v1/batches', { body: { name: 'letters', items: [wide.slice(1)] } })
  expect(narrow.body.error.code).toBe('bad_input')
})

test('one of many wrong items, one of many unknown fields and one item too many are refused by their names', async () => {
  const { ask } = await batchDoor()
  const submit = async (more: object) =>
    (await ask('POST', '/api/v1/batches', { body: { name: 'letters', ...more } })).body
  const many = <T>(item: T): T[] => new Array(90_000).fill(item)
  expect((await submit({ items: many(1), refs: many(1) })).error).toMatchObject({ field: 'refs[0]' })
  expect((await submit({ items: [...many(1), ...many(1)] })).error).toMatchObject({ field: 'items' })
  const fields = Object.fromEntries(
    many(1)
      .slice(0, 40_000)
      .map((_, n) => [`odd${n}`, 1]),
  )
  expect((await submit({ items: [], ...fields })).error).toMatchObject({ field: 'odd0' })
  const orders = many({ kind: 'x', odd: 1 }).slice(0, 9000)
  const { body } = await ask('POST', '/api/v1/jobs', { body: { jobs: orders } })
  expect(body.error).toMatchObject({ field: 'jobs[0].odd' })
})

test('a body of a log-in has at most 4 KB, and that of most routes 64 KB', async () => {
  const { ask } = await doorWith()
  const status = async (path: string, body: object) => (await ask('POST', path, { body })).status
  expect(await status('/api/v1/login', { token: 'x'.repeat(4096) })).toBe(413)
  expect(await status('/api/v1/tokens', { user: 'x'.repeat(64 * 1024), role: 'viewer' })).toBe(413)
})

test('a query has at most a hundred parameters', async () => {
  const { ask } = await doorWith()
  const { status, body } = await ask('GET', `/api/v1/jobs?${'kind=a&'.repeat(101)}`)
  expect([status, body.error.field]).toEqual([400, 'query'])
})

test('connections that carry no request give way to new ones', async () => {
  const server = createServer((_, response) => response.end('here'))
  cutIdle(server, 60_000, 3)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const silent = Array.from({ length: 6 }, () => connect(port, '127.0.0.1').on('error', () => {}))
  onTestFinished(() => silent.forEach(each => void each.destroy()))
  const closed = silent.slice(0, 3).map(each => new Promise(resolve => each.on('close', resolve)))
  await Promise.all(silent.map(each => new Promise(resolve => each.on('connect', resolve))))
  expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe('here')
  await Promise.all(closed)
})

test('more streams of events than the server has room for are refused with 503 and Retry-After', () => {
  const streams = new Streams(systemClock, () => {}, 1)
  streams.refuseMore()
  const stream = { check() {}, end() {} }
  streams.add(stream)
  expect(() => streams.refuseMore()).toThrowError(
    expect.objectContaining({ code: 'too_many_streams', status: 503, retryAfterSeconds: 10 }),
  )
  streams.remove(stream)
  streams.refuseMore()
})

const megabyte = 1024 * 1024

/** A body of which 15 MB have come and that goes on only when the test says so. */
function heldBody() {
  let sent = 0
  let end = () => {}
  const ended = new Promise<void>(resolve => {
    end = resolve
  })
  let arrived = () => {}
  const here = new Promise<void>(resolve => {
    arrived = resolve
  })
  const piece = new Uint8Array(megabyte).fill(32)
  const body = new ReadableStream<Uint8Array>({
    async pull(flow) {
      if (sent++ < 15) return flow.enqueue(piece)
      arrived()
      await ended
      flow.close()
    },
  })
  return { body, here, end }
}

test('bodies that together exceed the budget of the process are refused with 503 and Retry-After, and room is given back', async () => {
  const { fetch } = await batchDoor()
  const post = (body: string | ReadableStream) =>
    fetch(
      new Request('http://127.0.0.1:3000/api/v1/batches', {
        method: 'POST',
        body,
        duplex: 'half',
        headers: { 'content-type': 'application/json' },
      } as RequestInit),
    )
  const held = Array.from({ length: 4 }, heldBody)
  onTestFinished(() => held.forEach(each => void each.end()))
  const answers = held.map(each => post(each.body))
  await Promise.all(held.map(each => each.here))
  const large = JSON.stringify({ name: 'letters', items: [{ n: 1, pad: 'x'.repeat(6 * megabyte) }] })
  const refused = await post(large)
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '2'])
  expect(((await refused.json()) as Refused).error.code).toBe('server_busy')
  // What is small is answered all the while.
  expect((await post('{"name":"letters","items":[{"n":1}]}')).status).toBe(201)
  for (const each of held) each.end()
  expect((await Promise.all(answers)).map(each => each.status)).toEqual([400, 400, 400, 400])
  expect((await post(large)).status).toBe(201)
})
