/** Files over HTTP: in as multipart, part by part and in bounds; out as a download. Whatever is broken is reported, nothing hangs. */
import { execFile, spawnSync } from 'node:child_process'
import { once as event } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { localized, RetomaError } from '../../src/errors/errors.ts'
import { type AppOptions, download, once, type Part, route } from '../../src/http/index.ts'
import { listen } from '../../src/http/server.ts'
import { until } from '../support/engine.ts'
import { type Answered, doorWith } from './support.ts'

const mb = 1024 * 1024
const kept = z.object({ fields: z.record(z.string(), z.string()), files: z.array(z.record(z.string(), z.unknown())) })

/** Files and texts in, what they were out; a file named skip.* is not read, one named half.* not to its end. */
const store = route({
  method: 'post',
  path: '/store',
  name: 'store',
  tag: 't',
  summary: 's',
  role: 'operator',
  makes: true,
  status: 201,
  body: z.object({ text: z.string() }),
  upload: { fields: ['title', 'note'], files: ['file'], required: ['file'], mostFiles: 3, largestFile: 2 * mb },
  answer: kept,
  async run(call) {
    const { engine, upload, body } = call
    if (upload === undefined) return { fields: { text: body.text }, files: [] }
    const fields: Record<string, string> = {}
    const files: { id: string; field: string; name: string; type: string; size: number; sha256: string }[] = []
    for await (const part of upload) {
      if (part.file === undefined) fields[part.field] = part.value
      else if (part.file.name.startsWith('half.')) for await (const _ of part.file.bytes) break
      else if (!part.file.name.startsWith('skip.')) files.push(await put(part.file))
    }
    const digest = JSON.stringify([fields, files.map(({ name, sha256 }) => [name, sha256])])
    const value = { fields, files }
    const left = () => engine.files.remove(files.map(each => each.id))
    return once(call, async () => ({ status: 201, value }), { digest, left })

    async function put({ field, path: _, bytes, ...options }: NonNullable<Part['file']>) {
      const { id, name, type, size, sha256 } = await engine.files.put(bytes, options)
      return { id, field, name, type, size, sha256 }
    }
  },
})
const fetched = route({
  method: 'get',
  path: '/store/{id}',
  name: 'fetchStored',
  tag: 't',
  summary: 's',
  role: 'viewer',
  params: z.object({ id: z.string() }),
  answers: 'application/octet-stream',
  errors: ['not_found'],
  async run({ engine, params }) {
    const file = await engine.files.open(params.id)
    if (file === null) throw new RetomaError('not_found', { what: localized('file', 'arquivo'), id: params.id })
    return download(file)
  },
})
const parts = route({
  method: 'get',
  path: '/parts/{id}',
  name: 'fetchParts',
  tag: 't',
  summary: 's',
  role: 'viewer',
  params: z.object({ id: z.string() }),
  answers: 'application/octet-stream',
  ranges: true,
  async run({ engine, params, request }) {
    return download((await engine.files.open(params.id))!, request)
  },
})
/** One file, as a form or as the body itself. */
const single = route({
  method: 'post',
  path: '/single',
  name: 'single',
  tag: 't',
  summary: 's',
  role: 'operator',
  upload: { files: ['picture'], mostFiles: 1, largestFile: 1000, whole: ['image/*', 'application/pdf'] },
  answer: z.array(z.object({ field: z.string(), name: z.string(), type: z.string(), text: z.string() })),
  async run({ upload }) {
    const came = []
    for await (const { file } of upload!) {
      const { field, name, type, bytes } = file!
      if (type === 'image/skip') continue
      const pieces = []
      for await (const piece of bytes) pieces.push(piece)
      came.push({ field, name, type, text: Buffer.concat(pieces).toString() })
    }
    return came
  },
})
const app: AppOptions = { routes: [store, fetched, parts, single] }

async function door() {
  const made = await doorWith([], { app })
  const rows = async () =>
    (await made.engine.query<{ n: number }>('select count(*)::int as n from retoma.file')).rows[0]!.n
  const send = async (body: FormData | string | Uint8Array, headers: Record<string, string> = {}) => {
    const post = { method: 'POST', body: body as string, headers: { 'accept-language': 'en', ...headers } }
    const response = await made.fetch(new Request('http://127.0.0.1:3000/store', post))
    return { status: response.status, headers: response.headers, body: (await response.json()) as Answered['body'] }
  }
  return { ...made, rows, send }
}

const raw = (text: string) => ({ body: text, headers: { 'content-type': 'multipart/form-data; boundary=b' } })
const part = (disposition: string, body = 'x', type = 'text/plain') =>
  `--b\r\nContent-Disposition: ${disposition}\r\nContent-Type: ${type}\r\n\r\n${body}\r\n`

test('texts and files come in their order, as they were sent, and go out again', async () => {
  const { send, fetch } = await door()
  const form = new FormData()
  form.set('title', 'ação')
  form.set('file', new File(['%PDF-1', new Uint8Array([0, 255, 13, 10])], 'relatório.pdf', { type: 'application/pdf' }))
  form.set('note', '')
  const { status, body } = await send(form)
  expect({ status, fields: body.fields }).toEqual({ status: 201, fields: { title: 'ação', note: '' } })
  expect(body.files).toMatchObject([{ field: 'file', name: 'relatório.pdf', type: 'application/pdf', size: 10 }])
  const out = await fetch(new Request(`http://127.0.0.1:3000/store/${body.files[0].id}`))
  expect(Buffer.from(await out.arrayBuffer())).toEqual(Buffer.from('%PDF-1\x00\xff\r\n', 'latin1'))
  expect(Object.fromEntries(out.headers)).toMatchObject({
    'content-type': 'application/pdf',
    'content-length': '10',
    'content-disposition': `attachment; filename="relat_rio.pdf"; filename*=UTF-8''relat%C3%B3rio.pdf`,
    'x-content-type-options': 'nosniff',
  })
})

test('what is uploaded as a page is not given back as one', async () => {
  const { send, fetch } = await door()
  const form = new FormData()
  form.set('file', new File(['<script>'], 'a\'b"c.html', { type: 'text/html' }))
  const { body } = await send(form)
  const out = await fetch(new Request(`http://127.0.0.1:3000/store/${body.files[0].id}`))
  expect(out.headers.get('content-type')).toBe('application/octet-stream')
  expect(out.headers.get('content-disposition')).toBe(
    `attachment; filename="a'b_c.html"; filename*=UTF-8''a%27b%22c.html`,
  )
  await out.body?.cancel()
})

const names = [
  [`filename="C:\\\\docs\\\\nota.pdf"`, 'nota.pdf'],
  [`filename="../../etc/passwd"`, 'passwd'],
  [`filename="a%22b.pdf"`, 'a"b.pdf'],
  [`filename="a\\"b.pdf"`, 'a"b.pdf'],
  [`filename="x.pdf"; filename*=UTF-8''na%C3%AFve%20%E2%82%AC.pdf`, 'naïve €.pdf'],
  [`filename*=UTF-8''..%2F..%2Fx.pdf`, 'x.pdf'],
  [`filename="a\u202efdp.exe"`, 'afdp.exe'],
  [`filename="tab\there.pdf"; filename*=UTF-8''bell%07%0d%0a.pdf`, 'bell.pdf'],
  [`filename="cafe\u0301.pdf"`, 'café.pdf'],
  [`filename="${'x'.repeat(300)}.pdf"`, `${'x'.repeat(251)}.pdf`],
  [`filename="=cmd|'x'!A0.csv"`, "=cmd|'x'!A0.csv"],
] as const

test('names come without a path and without what steers a terminal, decoded as browsers and curl write them', async () => {
  const { send } = await door()
  for (const [given, name] of names) {
    const { body, headers } = raw(`${part(`form-data; name="file"; ${given}`)}--b--\r\n`)
    const answer = await send(body, headers)
    expect(answer.body.files?.[0]?.name, given).toBe(name)
  }
})

test('a file that was not chosen in a form is as if it were not there; one with bytes and no name is refused', async () => {
  const { send, rows } = await door()
  const none = raw(`${part('form-data; name="file"; filename=""', '', 'application/octet-stream')}--b--\r\n`)
  expect((await send(none.body, none.headers)).body).toEqual({ fields: {}, files: [] })
  const some = raw(`${part('form-data; name="file"; filename=".."', 'x')}--b--\r\n`)
  expect(await send(some.body, some.headers)).toMatchObject({ status: 400, body: { error: { field: 'file' } } })
  expect(await rows()).toBe(0)
})

const broken = [
  ['no form at all', 'hello'],
  ['nothing', ''],
  ['only the beginning of a boundary', '--b'],
  ['headers that break off', '--b\r\nContent-Disposition: form-data; name="fi'],
  ['a file that breaks off', `${part('form-data; name="file"; filename="a.pdf"', 'x'.repeat(100_000)).slice(0, -2)}`],
  ['no last boundary', part('form-data; name="file"; filename="a.pdf"')],
  ['a header that is none', `--b\r\nContent-Disposition\x00: form-data\r\n\r\nx\r\n--b--\r\n`],
  ['headers without end', `--b\r\n${'X-Y: z\r\n'.repeat(10_000)}\r\n\r\nx\r\n--b--\r\n`],
  ['a part without a name', `${part('form-data')}--b--\r\n`],
  ['a field that nobody knows', `${part('form-data; name="other"')}--b--\r\n`],
  ['a file under a name that nobody knows', `${part('form-data; name="title"; filename="a.pdf"')}--b--\r\n`],
  ['many fields', `${part('form-data; name="title"').repeat(101)}--b--\r\n`],
] as const

const good = (n: number) => part(`form-data; name="file"; filename="${n}.txt"`, `text ${n}`)
const headed = (headers: string, body = 'x') => `--b\r\n${headers}\r\n\r\n${body}\r\n`
const named = 'Content-Disposition: form-data; name="file"; filename="b.txt"'

/** In the place of the second of three files. */
const unread = [
  ['no headers', '--b\r\n\r\nx\r\n'],
  ['nothing at all', '--b\r\n'],
  ['no Content-Disposition', headed('Content-Type: text/plain')],
  ['another disposition', headed('Content-Disposition: attachment; name="file"; filename="b.txt"')],
  ['a disposition without an end', headed('Content-Disposition: form-data; name="file"; filename="b.txt')],
  ['a disposition that is torn', headed('Content-Disposition: form-data; name; filename="b.txt"')],
  ['a disposition without a semicolon', headed('Content-Disposition: form-data name="file"; filename="b.txt"')],
  ['an empty disposition', headed('Content-Disposition: ')],
  ['two dispositions', headed(`${named}\r\n${named}`)],
  ['two names', headed('Content-Disposition: form-data; name="file"; name="title"; filename="b.txt"')],
  ['no name', headed('Content-Disposition: form-data; filename="b.txt"')],
  ['an empty name', headed('Content-Disposition: form-data; name=""; filename="b.txt"')],
  ['a name of unknown letters', headed(`Content-Disposition: form-data; name="file"; filename*=x-odd''b.txt`)],
  ['a header without a colon', headed(`${named}\r\nodd`)],
  ['a header with a blank before its colon', headed(`Content-Disposition : form-data; name="file"; filename="b.txt"`)],
  ['a header with NUL', headed(`${named}\r\nX-Odd: a\0b`)],
  ['a header that is too long', headed(`${named}\r\nX-Odd: ${'x'.repeat(17_000)}`)],
  [
    'too many headers',
    headed(`${named}${'\r\nX-Odd: 1'.repeat(1)}${Array.from({ length: 30 }, (_, n) => `\r\nX-${n}: 1`).join('')}`),
  ],
  ['headers without an end', `--b\r\n${named}\r\n`],
  ['lines that end with LF alone', '--b\nContent-Disposition: form-data; name="file"; filename="b.txt"\n\nx\r\n'],
  ['something behind its boundary', `--bx\r\n${named}\r\n\r\nx\r\n`],
  ['blanks behind its boundary', `--b \r\n${named}\r\n\r\nx\r\n`],
  ['base64', headed(`${named}\r\nContent-Transfer-Encoding: base64`, 'eA==')],
  [
    'a form within the form',
    headed(
      'Content-Disposition: form-data; name="file"; filename="b.txt"\r\nContent-Type: multipart/mixed; boundary=c',
    ),
  ],
  ['a type that cannot be read', headed(`${named}\r\nContent-Type: ;`)],
  [
    'a text in an unknown charset',
    headed('Content-Disposition: form-data; name="title"\r\nContent-Type: text/plain; charset=x-odd'),
  ],
  ['another field', part('form-data; name="files"; filename="b.txt"')],
  ['a file whose name is only a folder', part('form-data; name="file"; filename=".."')],
] as const

test('a part that cannot be read among readable ones is refused with its position', async () => {
  const { send } = await door()
  for (const [what, second] of unread) {
    const { body, headers } = raw(`${good(1)}${second}${good(3)}--b--\r\n`)
    expect(await send(body, headers), what).toMatchObject({
      status: 400,
      body: { error: { code: 'bad_request', part: 2 } },
    })
  }
})

test('what stands before the first part or after the last one is refused, not left out', async () => {
  const { send } = await door()
  for (const text of [
    `hello\r\n${good(1)}--b--\r\n`,
    `${good(1)}--b--\r\n${good(2)}--b--\r\n`,
    `${good(1)}--b--hello`,
  ]) {
    const { body, headers } = raw(text)
    expect(await send(body, headers), text).toMatchObject({ status: 400, body: { error: { code: 'bad_request' } } })
  }
})

test('every cut of a form is refused, and every form that is whole is taken, in whatever pieces it comes', async () => {
  const { fetch } = await door()
  const bytes = Buffer.from(`\r\n${good(1)}${part('form-data; name="title"', 'hi')}${good(2)}--b--`)
  const post = async (upTo: number, step: number) => {
    let from = 0
    const body = new ReadableStream<Uint8Array>({
      pull(flow) {
        if (from >= upTo) return flow.close()
        flow.enqueue(bytes.subarray(from, Math.min(from + step, upTo)))
        from += step
      },
    })
    const { headers } = raw('')
    const response = await fetch(
      new Request('http://127.0.0.1:3000/store', { method: 'POST', body, headers, duplex: 'half' } as RequestInit),
    )
    return { status: response.status, body: (await response.json()) as Answered['body'] }
  }
  for (const step of [1, 2, 3, 7, 1000]) {
    const { status, body } = await post(bytes.length, step)
    expect([status, body.files.length, body.fields]).toEqual([201, 2, { title: 'hi' }])
  }
  for (let upTo = 0; upTo < bytes.length; upTo += 11) expect((await post(upTo, 64)).status).toBe(400)
})

test('a form that is broken is refused with 400, and nothing of it is left', async () => {
  const { send, rows } = await door()
  for (const [what, text] of broken) {
    const { body, headers } = raw(text)
    expect(await send(body, headers), what).toMatchObject({ status: 400, body: { error: { code: 'bad_request' } } })
    expect(await rows(), what).toBe(0)
  }
})

test('a text in the place of a file, as curl sends it without an @, is named as such, and a file in the place of a text', async () => {
  const { send } = await door()
  const text = raw(`${part('form-data; name="file"', 'a.pdf')}--b--\r\n`)
  expect((await send(text.body, text.headers)).body.error).toMatchObject({
    field: 'file',
    problem: 'it is a file, not a text',
  })
  const file = raw(`${part('form-data; name="title"; filename="a.pdf"')}--b--\r\n`)
  expect((await send(file.body, file.headers)).body.error).toMatchObject({
    field: 'title',
    problem: 'it is a text, not a file',
  })
})

test('a file that comes behind what is refused, in the same piece, is not waited for', async () => {
  const { send } = await door()
  const file = (name: string) => part(`form-data; name="${name}"; filename="a.pdf"`)
  const { body, headers } = raw(`${file('file')}${file('other')}${file('file').slice(0, -2)}`)
  expect(await send(body, headers)).toMatchObject({ status: 400, body: { error: { field: 'other' } } })
})

test.each([
  ['multipart/form-data', 400, 'bad_request'],
  ['multipart/mixed; boundary=b', 415, 'not_json'],
  ['text/plain', 415, 'not_json'],
])('%s is refused with %i', async (type, status, code) => {
  const { send } = await door()
  expect(await send('x', { 'content-type': type })).toMatchObject({ status, body: { error: { code } } })
})

test('the document says what may be sent, and how much of it', async () => {
  const { ask } = await door()
  const { body } = await ask('GET', '/api/openapi.json')
  const { content } = body.paths['/store'].post.requestBody
  expect(Object.keys(content)).toEqual(['application/json', 'multipart/form-data'])
  expect(content['multipart/form-data'].schema).toMatchObject({
    properties: { title: { type: 'string' }, file: { type: 'array', maxItems: 3 } },
    required: ['file'],
  })
  expect(Object.keys(body.paths['/store/{id}'].get.responses[200].content)).toContain('application/pdf')
})

test('a body of a type of `whole` is the file itself, within the same bounds', async () => {
  const { fetch } = await door()
  const sent = async (type: string, body: string) => {
    const init = { method: 'POST', body, headers: { 'content-type': type } }
    const response = await fetch(new Request('http://127.0.0.1:3000/single', init))
    return [response.status, (await response.json()) as Answered['body']] as const
  }
  const file = { field: 'picture', name: 'picture' }
  expect(await sent('image/png', 'abc')).toEqual([200, [{ ...file, type: 'image/png', text: 'abc' }]])
  expect(await sent('Image/PNG; q=1', '')).toEqual([200, [{ ...file, type: 'image/png', text: '' }]])
  expect(await sent('application/pdf', 'x'.repeat(1000))).toMatchObject([200, [{ type: 'application/pdf' }]])
  expect(await sent('image/skip', 'not read')).toEqual([200, []])
  expect(await sent('image/png', 'x'.repeat(1001))).toMatchObject([413, { error: { code: 'file_too_large' } }])
  for (const type of ['imagex/png', 'application/pdfx', 'text/plain'])
    expect(await sent(type, 'x')).toMatchObject([415, { error: { code: 'not_multipart' } }])
  const form = raw(`${part('form-data; name="picture"; filename="a.png"')}--b--\r\n`)
  expect((await fetch(new Request('http://127.0.0.1:3000/single', { method: 'POST', ...form }))).status).toBe(200)
})

test('the same route takes JSON as before', async () => {
  const { ask } = await door()
  expect((await ask('POST', '/store', { body: { text: 'hi' } })).body).toEqual({ fields: { text: 'hi' }, files: [] })
})

test.each([
  ['file_too_large', () => [['file', new Blob([new Uint8Array(2 * mb + 1)])]] as const],
  ['too_many_files', () => [0, 1, 2, 3].map(n => ['file', new Blob([String(n)])] as const)],
  ['body_too_large', () => [['title', 'x'.repeat(64 * 1024 + 1)]] as const],
])('too much is refused as %s', async (code, given) => {
  const { send } = await door()
  const form = new FormData()
  for (const [name, value] of given()) form.append(name, value as string)
  expect(await send(form)).toMatchObject({ status: 413, body: { error: { code } } })
})

test('a file of exactly the most is taken, and as many as there may be', async () => {
  const { send } = await door()
  const form = new FormData()
  for (const n of [1, 2, 3]) form.append('file', new Blob([new Uint8Array(2 * mb).fill(n)]), `${n}.txt`)
  const { body } = await send(form)
  expect(body.files.map((each: { size: number }) => each.size)).toEqual([2 * mb, 2 * mb, 2 * mb])
})

test('a part that is not read, or not to its end, does not keep the next from coming', async () => {
  const { send } = await door()
  const form = new FormData()
  form.append('file', new Blob([new Uint8Array(mb)]), 'skip.txt')
  form.append('file', new Blob([new Uint8Array(mb)]), 'half.txt')
  form.append('file', new Blob(['last']), 'last.txt')
  const { body } = await send(form)
  expect(body.files).toMatchObject([{ name: 'last.txt', size: 4 }])
})

test('the same key and the same files give the first answer again, and what came twice is removed', async () => {
  const { send, rows } = await door()
  const form = (text: string) => {
    const made = new FormData()
    made.append('file', new Blob([text]), 'a.txt')
    return made
  }
  const key = { 'idempotency-key': 'k' }
  const first = await send(form('one'), key)
  const again = await send(form('one'), key)
  expect(again.body).toEqual(first.body)
  expect(again.headers.get('idempotent-replayed')).toBe('true')
  expect(await rows()).toBe(1)
  expect(await send(form('two'), key)).toMatchObject({ status: 409, body: { error: { code: 'idempotency_conflict' } } })
})

const head = (length: number) =>
  `POST /store HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: ${length}\r\n\r\n`

async function served() {
  const made = await door()
  const server = await listen(made.app, '127.0.0.1', 0)
  onTestFinished(() => server.close())
  return { ...made, port: server.port }
}

const hasCurl = spawnSync('curl', ['--version']).status === 0

test.skipIf(!hasCurl)('curl is shown our answer when it sends too much, not a broken connection', async () => {
  const { port } = await served()
  const folder = await mkdtemp(join(tmpdir(), 'retoma-curl-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const large = join(folder, 'large.pdf')
  await writeFile(large, Buffer.alloc(100 * mb))
  const { stdout } = await promisify(execFile)('curl', [
    '-sS',
    '-F',
    `file=@${large}`,
    '-w',
    ' %{http_code}',
    `http://127.0.0.1:${port}/store`,
  ])
  expect(stdout).toMatch(/"code":"file_too_large".* 413$/)
})

test('a client that goes on sending what is refused can read why', async () => {
  const { port } = await served()
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  const heard = event(socket, 'data').then(([data]) => String(data))
  socket.write(`${head(100 * mb)}${part('form-data; name="file"; filename="a.pdf"', '').slice(0, -2)}`)
  const send = setInterval(() => socket.write(Buffer.alloc(mb)), 1)
  onTestFinished(() => {
    clearInterval(send)
    socket.destroy()
  })
  expect(await heard).toMatch(/^HTTP\/1.1 413 [\s\S]*"code":"file_too_large"/)
})

test('a client that goes in the middle of a file leaves nothing, and nothing hangs', async () => {
  const { port, rows } = await served()
  const socket = connect(port, '127.0.0.1')
  await event(socket, 'connect')
  socket.write(head(9_999_999))
  socket.write(part('form-data; name="file"; filename="a.pdf"', 'x'.repeat(1_500_000)))
  await until(async () => (await rows()) === 1)
  socket.destroy()
  await until(async () => (await rows()) === 0)
})

test('a part of a file is sent for Range, the rest after a break, nothing to a client that has the file', async () => {
  const { engine, fetch } = await door()
  const bytes = Buffer.alloc(2 * 1024 * 1024 + 10, 'abcdefg')
  const { id } = await engine.files.put([bytes], { name: 'a.bin', type: 'application/octet-stream' })
  const get = async (headers: Record<string, string>) => {
    const response = await fetch(new Request(`http://127.0.0.1:3000/parts/${id}`, { headers }))
    return { status: response.status, headers: response.headers, bytes: Buffer.from(await response.arrayBuffer()) }
  }
  const whole = await get({})
  expect({ status: whole.status, ranges: whole.headers.get('accept-ranges') }).toEqual({ status: 200, ranges: 'bytes' })
  expect(whole.bytes.equals(bytes)).toBe(true)
  const etag = whole.headers.get('etag')!
  const parts: [string, number, number][] = [
    ['bytes=0-0', 0, 0],
    ['bytes=1048570-1048580', 1_048_570, 1_048_580],
    ['bytes=5-', 5, bytes.length - 1],
    ['bytes=-7', bytes.length - 7, bytes.length - 1],
    ['bytes=10-99999999', 10, bytes.length - 1],
  ]
  for (const [range, from, to] of parts) {
    const part = await get({ range, 'if-range': etag })
    expect(part.status, range).toBe(206)
    expect(part.headers.get('content-range')).toBe(`bytes ${from}-${to}/${bytes.length}`)
    expect(part.headers.get('content-length')).toBe(String(to - from + 1))
    expect(part.bytes.equals(bytes.subarray(from, to + 1)), range).toBe(true)
  }
  const outside = await get({ range: `bytes=${bytes.length}-` })
  expect([outside.status, outside.headers.get('content-range')]).toEqual([416, `bytes */${bytes.length}`])
  for (const headers of [{ range: 'bytes=0-1,4-5' }, { range: 'lines=1-2' }, { range: 'bytes=0-1', 'if-range': '"x"' }])
    expect((await get(headers as Record<string, string>)).status, JSON.stringify(headers)).toBe(200)
  const again = await get({ 'if-none-match': `"x", W/${etag}` })
  expect([again.status, again.bytes.length]).toEqual([304, 0])
})
