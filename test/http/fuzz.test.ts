/**
 * Whatever is sent, the door answers as its document says: never 500, never a stack, never nothing. What is sent comes from
 * the document itself, bent. FUZZ_RUNS: how often for each route (default 8); FUZZ_SEED: another course.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { routesOf } from '../../src/http/app.ts'
import { once, route } from '../../src/http/index.ts'
import { openApiOf } from '../../src/http/openapi.ts'
import { defineJob, defineSchedule, minutes } from '../../src/index.ts'
import { anyText } from './arbitrary.ts'
import { batchDoor, submitted } from './batch-support.ts'
import { at, giantBodies, harmless, headers, headerText, logOfTrouble, requestsTo, runs, seed } from './fuzzing.ts'

// A stream has no end, and its form is held elsewhere.
const files = route({
  method: 'post',
  path: '/files',
  name: 'takeFiles',
  tag: 'files',
  summary: 'for who sends files',
  role: 'operator',
  makes: true,
  body: z.object({ text: z.string() }),
  upload: { fields: ['title'], files: ['file'], mostFiles: 3, largestFile: 1000 },
  async run(call) {
    const sent: string[] = []
    for await (const { file, value } of call.upload ?? []) {
      if (file === undefined) sent.push(value)
      else sent.push((await call.engine.files.put(file.bytes, { name: file.name, type: file.type })).sha256)
    }
    const value = { sent: sent.length }
    return once(call, async () => ({ status: 200, value }), { digest: JSON.stringify(sent) })
  },
})
const routes = routesOf({ routes: [files] }).filter(({ answers }) => answers !== 'text/event-stream')
const document = openApiOf(routes)

const sweep = defineJob({ kind: 'sweep', queue: 'nightly', run: () => 'ok' })

/** A door with something behind each route, and whatever went wrong in it that is no refusal of ours. */
async function stage() {
  const schedules = [defineSchedule({ name: 'nightly', job: sweep, every: minutes(5) })]
  const door = await batchDoor({ schedules, app: { log: logOfTrouble(), routes: [files] } })
  const batch = await submitted(door.ask, [{ n: 1 }, { n: 2, fails: 'no ink' }])
  await door.run()
  await door.tick()
  const { body } = await door.ask('GET', `/api/v1/batches/${batch}/items`)
  const names = [batch, ...body.items.map((each: { id: string }) => each.id), 'post', 'nightly', 'letters']
  return { ...door, names: names as string[] }
}

test('a route answers as its document says, whatever is in its path, its query, its body and its headers', async () => {
  const { fetch, names } = await stage()
  for (const route of routes) {
    const property = fc.asyncProperty(requestsTo(route, document, names), async ({ url, ...init }) => {
      await harmless(fetch, new Request(url, init))
    })
    await fc.assert(property, { seed, numRuns: runs })
  }
})

function isJson(text: string): boolean {
  try {
    // A byte order mark is no part of the text.
    JSON.parse(text.replace(/^\ufeff/, ''))
    return true
  } catch {
    return false
  }
}

test('a body that is no JSON, or too much of it, or of another type, is refused with a 4xx', async () => {
  const { fetch } = await stage()
  const boundary = 'x'
  const parts = [
    '',
    'null',
    '0',
    '"',
    '{',
    '[]]',
    '{"name":"letters","items":[],"items":1}',
    '{"__proto__":{"name":"letters"},"constructor":1}',
    `${'['.repeat(100_000)}`,
    `${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`,
    `{"name":"letters","items":[${'"a",'.repeat(1000)}"a"]}`,
    `{"name":"letters","items":[1e999]}`,
    `{"name":"letters","items":[{"n":1,"s":"\\u0000\\ud800"}]}`,
    `{"name":"${'x'.repeat(2_000_000)}","items":[]}`,
    '\ufeff{"name":"letters","items":[]}',
    `--${boundary}\r\ncontent-disposition: form-data; name="file"\r\n\r\nno end`,
    `--${boundary}--`,
    '\u0000'.repeat(100),
  ]
  const types = [
    'application/problem+json',
    `multipart/form-data; boundary=${boundary}`,
    'multipart/form-data',
    'text/html',
  ]
  for (const route of routes.filter(each => each.body !== undefined))
    for (const [n, body] of parts.entries())
      for (const type of ['application/json', types[n % types.length]!]) {
        const path = route.path.replace(/\{\w+\}/g, '1')
        const method = route.method.toUpperCase()
        const status = await harmless(
          fetch,
          new Request(at + path, { method, body, headers: { 'content-type': type } }),
        )
        const isUsable = type === 'application/json' && body.length < 1_000_000 && isJson(body)
        if (isUsable) continue
        const what = `${method} ${path} with ${type} and ${body.slice(0, 40)}`
        expect(status, what).toBeGreaterThanOrEqual(400)
        expect(status, what).toBeLessThan(500)
      }
  const broken = Buffer.from([0x7b, 0xff, 0xfe, 0xc3, 0x28, 0x7d])
  const post = { method: 'POST', body: broken, headers: { 'content-type': 'application/json' } }
  expect(await harmless(fetch, new Request(`${at}/api/v1/batches`, post))).toBe(400)
})

test('lists, objects and texts without end take the process neither long nor much memory, wherever they stand', async () => {
  const { fetch } = await stage()
  for (const route of routes)
    for (const body of giantBodies(route, document)) {
      const headers = { 'content-type': 'application/json' }
      const url = at + route.path.replace(/\{\w+\}/g, '1')
      await harmless(fetch, new Request(url, { method: route.method.toUpperCase(), body, headers }))
    }
})

test('a body that breaks off, or never comes to its end within bounds, is refused', async () => {
  const { fetch } = await stage()
  const endless = () =>
    new ReadableStream<Uint8Array>({ pull: controller => controller.enqueue(new Uint8Array(1024 * 1024).fill(32)) })
  const send = (body: ReadableStream, more: Record<string, string> = {}) => {
    const headers = { 'content-type': 'application/json', ...more }
    return fetch(new Request(`${at}/api/v1/batches`, { method: 'POST', body, duplex: 'half' as const, headers }))
  }
  expect((await send(endless())).status).toBe(413)
  const gone = () => new ReadableStream<Uint8Array>({ pull: controller => controller.error(new Error('aborted')) })
  for (const headers of [{}, { 'content-length': '10' }]) expect((await send(gone(), headers)).status).toBe(400)
})

/** A form, and one that was bent: cut, with other names, with a byte that is not in its place. */
const forms = fc
  .record({
    parts: fc.array(
      fc.record({
        name: fc.oneof(fc.constantFrom('title', 'file'), anyText),
        filename: fc.option(anyText, { nil: undefined }),
        type: fc.option(headerText, { nil: undefined }),
        body: fc.oneof(fc.string({ unit: 'binary', maxLength: 1500 }), anyText),
      }),
      { maxLength: 5 },
    ),
    cut: fc.option(fc.nat(3000), { nil: undefined }),
    flip: fc.option(fc.tuple(fc.nat(3000), fc.nat(255)), { nil: undefined }),
    steps: fc.integer({ min: 1, max: 400 }),
  })
  .map(({ parts, cut, flip, steps }) => {
    const texts = parts.map(({ name, filename, type, body }) => {
      const file = filename === undefined ? '' : `; filename="${filename}"`
      const kind = type === undefined ? '' : `\r\nContent-Type: ${type}`
      return `--b\r\nContent-Disposition: form-data; name="${name}"${file}${kind}\r\n\r\n${body}\r\n`
    })
    const bytes = Buffer.from(`${texts.join('')}--b--\r\n`).subarray(0, cut)
    if (flip !== undefined && flip[0] < bytes.length) bytes[flip[0]] = flip[1]
    return { bytes, steps }
  })

test('a form does no harm, whatever is in it and in whatever pieces it comes', async () => {
  const { fetch } = await stage()
  const property = fc.asyncProperty(forms, headers, async ({ bytes, steps }, more) => {
    let from = 0
    const body = new ReadableStream<Uint8Array>({
      pull(flow) {
        if (from >= bytes.length) flow.close()
        else flow.enqueue(bytes.subarray(from, from + steps))
        from += steps
      },
    })
    const head = { ...more, 'content-type': 'multipart/form-data; boundary=b' }
    await harmless(fetch, new Request(`${at}/files`, { method: 'POST', body, duplex: 'half' as const, headers: head }))
  })
  await fc.assert(property, { seed, numRuns: runs * 20, timeout: 100_000 })
})

const tricks = [
  '/%2e%2e/%2e%2e/etc/passwd',
  '/..%2f..%2fetc/passwd',
  '/api/v1/batches/%2e%2e%2fqueues',
  '/api/v1/batches/..;/queues',
  '/api/v1//batches',
  '//api/v1/batches',
  '///',
  '/api/v1/batches/',
  '/api/v1/batches/%00',
  '/api/v1/batches/1%00.json',
  '/api/v1/batches/%',
  '/api/v1/batches/%zz',
  '/api/v1/batches/%c0%ae%c0%ae',
  '/api/v1/batches/%ED%A0%80',
  `/api/v1/batches/${'9'.repeat(10_000)}`,
  `/${'a/'.repeat(4000)}`,
  `/api/v1/queues/${'%F0%9F%92%A5'.repeat(500)}/explain`,
  '/API/V1/BATCHES',
  '/api/v1/batches?limit=1&limit=2',
  '/api/v1/batches?__proto__=1&constructor=2',
  '/api/v1/batches?limit[]=1',
  `/api/v1/batches?${'a=1&'.repeat(3000)}`,
  `/api/v1/batches?after=${'%00'.repeat(50)}`,
  '/api/v1/batches?%',
  '/api/docs/../openapi.json',
  '/api/openapi.json/',
  '/health/..%5c..%5c',
]

test('a path with a trick in it does no harm, with whatever method', async () => {
  const { fetch } = await stage()
  for (const path of tricks)
    for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND', 'X-ODD', 'get'])
      await harmless(fetch, new Request(at + path, { method }))
})
