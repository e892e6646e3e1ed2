/** Our own server against clients that are slow, silent, greedy or speak no HTTP: on real sockets. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { type App, createApp, toNodeHandler } from '../../src/http/index.ts'
import { readBytes } from '../../src/http/request/body.ts'
import { BodyBudget } from '../../src/http/request/body-budget.ts'
import { errorResponse } from '../../src/http/response/error-response.ts'
import { jsonText } from '../../src/http/response/json-response.ts'
import { listen, type ServerTimeouts } from '../../src/http/server.ts'
import { engineOf } from '../support/engine.ts'

const patient: ServerTimeouts = { headers: 60_000, request: 60_000, idle: 60_000, keepAlive: 60_000 }

const appOf = (fetch: App['fetch']): App => ({ fetch, endStreams: () => {} })
const echo = appOf(
  async request => new Response(`${request.method} ${new URL(request.url).pathname} ${await request.text()}`),
)

async function serve(app: App = echo, waitLimit: Partial<ServerTimeouts> = {}): Promise<number> {
  const server = await listen(app, '127.0.0.1', 0, { ...patient, ...waitLimit })
  onTestFinished(() => server.close())
  return server.port
}

async function client(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  onTestFinished(() => void socket.destroy())
  await once(socket, 'connect')
  return socket
}

/** All that comes until the other side is through. */
async function heard(socket: Socket): Promise<string> {
  let text = ''
  socket.on('data', part => {
    text += part
  })
  if (!socket.closed) await once(socket, 'close')
  return text
}

async function say(port: number, text: string): Promise<string> {
  const socket = await client(port)
  socket.write(text)
  return heard(socket)
}

const bodyOf = (answer: string) => JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')))

test.each([
  ['of a length that is said', 'Content-Length: 83886080'],
  ['in chunks', 'Transfer-Encoding: chunked'],
])('a client that sends all of a body %s, and only then reads, reads why it is too large', async (_, header) => {
  const refusing = appOf(async request => {
    const error = await readBytes(request, new BodyBudget().open(), { largest: 1000 }).catch(error => error)
    return errorResponse(error, request)
  })
  const socket = await client(await serve(refusing))
  const failed: Error[] = []
  socket.on('error', error => failed.push(error))
  socket.write(`POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${header}\r\n\r\n`)
  const piece = 'x'.repeat(1024 * 1024)
  const written = (text: string) => new Promise<unknown>(resolve => socket.write(text, resolve))
  const isChunked = header.endsWith('chunked')
  for (let sent = 0; sent < 80; sent++) await written(isChunked ? `100000\r\n${piece}\r\n` : piece)
  if (isChunked) await written('0\r\n\r\n')
  const answer = await heard(socket)
  expect(failed).toEqual([])
  expect([answer.slice(0, 12), bodyOf(answer).error.code]).toEqual(['HTTP/1.1 413', 'body_too_large'])
})

test.each([
  ['garbage', 'what is this\r\n\r\n', 400, 'bad_http'],
  ['two lengths', 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n', 400, 'bad_http'],
  [
    'a length and chunks',
    'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n',
    400,
    'bad_http',
  ],
  ['no host', 'GET / HTTP/1.1\r\nConnection: close\r\n\r\n', 400, 'bad_http'],
  ['a host that is none', 'GET / HTTP/1.1\r\nHost: a b\r\nConnection: close\r\n\r\n', 400, 'bad_http'],
  ['headers without end', `GET / HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(17_000)}\r\n\r\n`, 431, 'headers_too_large'],
])('%s is refused in the form of every other error', async (_, text, status, code) => {
  const answer = await say(await serve(), text)
  expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
  expect(answer.toLowerCase()).toContain('x-content-type-options: nosniff')
  expect(bodyOf(answer).error.code).toBe(code)
})

test('a client that does not end its headers is reported and cut', async () => {
  const answer = await say(await serve(echo, { headers: 100 }), 'GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ')
  expect(answer).toMatch(/^HTTP\/1.1 408 /)
  expect(bodyOf(answer).error.code).toBe('request_too_slow')
})

test('a body that drips is cut, though something always comes', async () => {
  const socket = await client(await serve(echo, { request: 300 }))
  socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n')
  const drip = setInterval(() => socket.write('x'), 20)
  onTestFinished(() => clearInterval(drip))
  expect(await heard(socket)).toMatch(/^HTTP\/1.1 408 /)
})

test.each(['GET', 'HEAD'])('the body of a %s that drips is cut as that of a POST is', async method => {
  const endless = appOf(() => new Promise(() => {}))
  for (const [app, answer] of [
    [echo, /^HTTP\/1.1 200 /],
    [endless, /^HTTP\/1.1 408 /],
  ] as const) {
    const socket = await client(await serve(app, { request: 300 }))
    socket.write(`${method} / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n`)
    const drip = setInterval(() => socket.write('x'), 20)
    onTestFinished(() => clearInterval(drip))
    expect(await heard(socket)).toMatch(answer)
  }
})

test('a body that drips after its request was answered is cut', async () => {
  const hasty = appOf(async () => new Response('no', { status: 401 }))
  const socket = await client(await serve(hasty, { request: 300 }))
  socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n')
  const drip = setInterval(() => socket.write('x'), 20)
  onTestFinished(() => clearInterval(drip))
  expect(await heard(socket)).toMatch(/^HTTP\/1.1 401 /)
})

test.each([
  [
    'an Expect that nobody knows',
    'POST / HTTP/1.1\r\nHost: x\r\nExpect: a-miracle\r\nContent-Length: 0\r\n\r\n',
    417,
    'bad_expectation',
  ],
  ['CONNECT', 'CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n', 405, 'method_not_allowed'],
])('%s is answered with an error as every other is', async (_, request, status, code) => {
  const answer = await say(await serve(), request)
  expect(answer.slice(0, 12)).toBe(`HTTP/1.1 ${status}`)
  expect(bodyOf(answer).error.code).toBe(code)
})

/** Sends a body of so many pieces of 300 KB, one every so often; answers what comes back. */
async function upload(port: number, pieces: number, everyMs: number): Promise<string> {
  const piece = Buffer.alloc(300 * 1024, 'x')
  const socket = await client(port)
  const answer = heard(socket)
  socket.write(`POST /up HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: ${pieces * piece.length}\r\n\r\n`)
  let sent = 0
  const pace = setInterval(() => {
    socket.write(piece)
    if (++sent === pieces) clearInterval(pace)
  }, everyMs)
  onTestFinished(() => clearInterval(pace))
  return answer
}

/** Reads what comes, after so long. */
const weighing = (waitMs = 0) =>
  appOf(async request => {
    await new Promise(resolve => setTimeout(resolve, waitMs))
    return new Response(String((await request.arrayBuffer()).byteLength))
  })

test('a large body may take longer than any waitLimit, as long as it comes', async () => {
  const answer = await upload(await serve(weighing(), { request: 1000 }), 15, 100)
  expect(answer).toMatch(/^HTTP\/1.1 200 [\s\S]*4608000$/)
})

test('one that stops in the middle is cut', async () => {
  const socket = await client(await serve(weighing(), { idle: 200 }))
  const answer = heard(socket)
  socket.write('POST /up HTTP/1.1\r\nHost: x\r\nContent-Length: 9000000\r\n\r\n')
  socket.write(Buffer.alloc(300 * 1024))
  expect(await answer).not.toMatch(/^HTTP\/1.1 200/)
})

test('what we are slow to read is not held against who has sent it', async () => {
  const answer = await upload(await serve(weighing(1500), { request: 500 }), 2, 0)
  expect(answer).toMatch(/^HTTP\/1.1 200 [\s\S]*614400$/)
})

test('what takes us longer than any waitLimit is answered all the same', async () => {
  const late = { request: 500, idle: 500 }
  expect(await upload(await serve(weighing(1500), late), 2, 0)).toMatch(/^HTTP\/1.1 200 [\s\S]*614400$/)
  const slow = appOf(async request => {
    const text = await request.text()
    await new Promise(resolve => setTimeout(resolve, 1500))
    return new Response(`made ${text}`)
  })
  const post = 'POST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi'
  expect(await say(await serve(slow, late), post)).toContain('made hi')
})

test('while this process is blocked for longer than any waitLimit, nobody is cut for it', async () => {
  const socket = await client(await serve(echo, { request: 300, idle: 300 }))
  const answer = heard(socket)
  const block = async () => {
    // The server has read what was sent, and waits for the rest.
    await new Promise(resolve => setTimeout(resolve, 50))
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000)
  }
  socket.write('POST /b HTTP/1.1\r\nHost: x\r\n')
  await block()
  socket.write('X-Slow: 1\r\n')
  await new Promise(resolve => setTimeout(resolve, 50))
  socket.write('Content-Length: 4\r\nConnection: close\r\n\r\nhi')
  await block()
  socket.write('y')
  await new Promise(resolve => setTimeout(resolve, 50))
  socket.write('a')
  expect(await answer).toContain('POST /b hiya')
})

test('a client that says nothing at all is cut', async () => {
  const socket = await client(await serve(echo, { idle: 100 }))
  expect(await heard(socket)).toBe('')
})

test('a client that never reads what it asked for is cut, and what was made for it ends', async () => {
  let cancelled = () => {}
  const ended = new Promise<void>(resolve => {
    cancelled = resolve
  })
  const part = new Uint8Array(1024 * 1024)
  const endless = () => new ReadableStream({ pull: flow => flow.enqueue(part), cancel: () => cancelled() })
  const app = appOf(async () => new Response(endless()))
  const socket = await client(await serve(app, { idle: 200 }))
  socket.pause()
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  await ended
})

test('a connection that nobody uses any more is closed', async () => {
  const socket = await client(await serve(echo, { keepAlive: 100 }))
  socket.write('GET /a HTTP/1.1\r\nHost: x\r\n\r\n')
  expect(await heard(socket)).toContain('GET /a ')
})

test('one that keeps to the rules is answered again and again on one connection', async () => {
  const socket = await client(await serve())
  socket.write('GET /a HTTP/1.1\r\nHost: x\r\n\r\n')
  await once(socket, 'data')
  socket.write('POST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi')
  expect(await heard(socket)).toContain('POST /b hi')
})

test('the app knows where a request comes from', async () => {
  const app = appOf(async (_, peer) => new Response(peer?.address))
  const port = await serve(app)
  expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe('127.0.0.1')
})

test('whatever is thrown on the way leaves as an error of ours', async () => {
  const app = appOf(() => Promise.reject(new Error('secret thing')))
  const response = await fetch(`http://127.0.0.1:${await serve(app)}/`)
  expect(response.status).toBe(500)
  const text = await response.text()
  expect(JSON.parse(text).error.code).toBe('internal')
  expect(text).not.toContain('secret thing')
})

test("while no token exists, Retoma's own server lets this machine in when it listens on loopback, and only then", async () => {
  const { engine } = await engineOf({})
  for (const [host, status] of [
    ['127.0.0.1', 200],
    ['0.0.0.0', 401],
  ] as const) {
    const server = await listen(createApp(engine), host, 0)
    onTestFinished(() => server.close())
    expect((await fetch(`http://127.0.0.1:${server.port}/api/v1/me`)).status, host).toBe(status)
  }
})

async function mount(app: App): Promise<number> {
  const server = createServer(toNodeHandler(app)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return (server.address() as AddressInfo).port
}

test.each([
  ['the own server', serve],
  ['a server that the app is mounted in', mount],
])(
  'clients that do not read large answers make %s hold 64 MB at most, and the answer to a write is not refused',
  async (_, open) => {
    const large = 'x'.repeat(9 * 1024 * 1024)
    const port = await open(
      appOf(async request => jsonText(request.url.endsWith('large') ? large : '{}', 200, new Headers())),
    )
    const get = (path: string) => `GET /${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`
    const silent: Socket[] = []
    for (let n = 0; n < 7; n++) {
      const socket = await client(port)
      socket.write(get('large'))
      await once(socket, 'readable')
      silent.push(socket)
    }
    const refused = await say(port, get('large'))
    expect(refused).toMatch(/^HTTP\/1\.1 503 /)
    expect(refused).toMatch(/^retry-after: 2\r$/im)
    expect(bodyOf(refused).error.code).toBe('server_busy')
    expect(await say(port, get('small'))).toMatch(/^HTTP\/1\.1 200 /)
    // The write is committed: a client that is told to try again would write twice.
    expect(await say(port, get('large').replace('GET', 'POST'))).toMatch(/^HTTP\/1\.1 200 /)

    silent[0]!.destroy()
    await expect.poll(() => say(port, get('large'))).toMatch(/^HTTP\/1\.1 200 /)
  },
)

test('the server accepts every connection that waits before it works on a request, so that a flood of connections delays nobody', async () => {
  let accepted = 0
  const acceptedAtStart: number[] = []
  const port = await serve(
    appOf(async () => {
      acceptedAtStart.push(accepted)
      return new Response('done')
    }),
  )
  const count = () => void accepted++
  subscribe('net.server.socket', count)
  onTestFinished(() => void unsubscribe('net.server.socket', count))
  const answers = await Promise.all(
    Array.from({ length: 40 }, () => say(port, 'GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')),
  )
  expect(answers.every(answer => answer.endsWith('done'))).toBe(true)
  expect(acceptedAtStart[0]).toBe(40)
})
