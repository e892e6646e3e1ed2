/** The ways in which a service or a shop misbehaves: a function for each behaviour. A script chooses the behaviour of each call. */
import type { Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { createGzip, gzipSync } from 'node:zlib'
import { type Call, type InHand, send } from './stand-in.ts'

export interface Behaviour {
  readonly name: string
  answer(inHand: InHand): { isSold: boolean } | Promise<{ isSold: boolean }>
}

/** null: the service behaves. */
export type Script = (call: Pick<Call, 'n' | 'nth' | 'about' | 'asked'>) => Behaviour | null

const free = { isSold: false }

export const ok = (): Behaviour => ({ name: 'ok', answer: send })

/** The same after a pause. An answer to a client that left is sold all the same. */
export const late = (ms: number, then: Behaviour = ok()): Behaviour => ({
  name: 'late',
  answer: async inHand => {
    await pause(ms, inHand.response)
    return inHand.response.destroyed ? { isSold: inHand.usual().isSold ?? false } : then.answer(inHand)
  },
})

/** The answer is sold, but the connection is cut in the middle of the body. */
export const half = (): Behaviour => ({
  name: 'half',
  answer: async ({ response, usual }) => {
    const { status, headers = {}, body, isSold = false } = usual()
    const bytes = Buffer.from(body)
    response.writeHead(status, { ...headers, 'content-length': String(bytes.length) })
    await new Promise(resolve => response.write(bytes.subarray(0, bytes.length / 2), resolve))
    response.destroy()
    return { isSold }
  },
})

/** Sends a byte at a time, for ever: no single wait is long. */
export const drips = (everyMs = 1000): Behaviour => ({
  name: 'drips',
  answer: async ({ response, usual }) => {
    const { headers = {}, isSold = false } = usual()
    response.writeHead(200, headers)
    while (!response.destroyed) {
      response.write(' ')
      await pause(everyMs, response)
    }
    return { isSold }
  },
})

/** Accepts the call and sends nothing until the client leaves. */
export const never = (): Behaviour => ({
  name: 'never',
  answer: async ({ response }) => {
    await new Promise(resolve => response.once('close', resolve))
    return free
  },
})

const words: Record<number, string> = {
  400: 'Bad request',
  401: 'Invalid API key',
  402: 'Payment required',
  403: 'Forbidden',
  404: 'Not found',
  429: 'Too many requests',
  500: 'Internal server error',
  503: 'Service unavailable',
  529: 'Overloaded',
}

/** An error with its status, in the form of the service. */
export const refuses = (status: number, given: { message?: string; retryAfter?: string } = {}): Behaviour => ({
  name: `${status}`,
  answer: ({ response, error }) => {
    const headers = given.retryAfter === undefined ? {} : { 'retry-after': given.retryAfter }
    response
      .writeHead(status, { 'content-type': 'application/json', ...headers })
      .end(error(status, given.message ?? words[status] ?? 'error'))
    return free
  },
})

/** The status is 200, and the error is in the body. */
export const errorBody = (status: number, message?: string): Behaviour => ({
  name: `200 with ${status}`,
  answer: ({ response, error }) => {
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(error(status, message ?? words[status] ?? 'error'))
    return free
  },
})

/** Bytes without an answer, with status 200. */
export const garbage = (body: string | Uint8Array = '<html><body>Bad gateway</body></html>', type = 'text/html') =>
  raw('garbage', 200, { 'content-type': type }, body)

/** A body of so many bytes, without a content-length. */
export const huge = (bytes = 50 * 1024 * 1024, type = 'text/html'): Behaviour => ({
  name: 'huge',
  answer: async ({ response }) => {
    response.writeHead(200, { 'content-type': type })
    const piece = Buffer.alloc(64 * 1024, 'x')
    for (let sent = 0; sent < bytes && !response.destroyed; sent += piece.length)
      if (!response.write(piece)) await drained(response, response)
    response.end()
    return free
  },
})

/** Some kilobytes that decompress to `bytes` bytes. */
export const gzipBomb = (bytes = 1024 * 1024 * 1024, type = 'text/html'): Behaviour => ({
  name: 'gzip bomb',
  answer: async ({ response }) => {
    response.writeHead(200, { 'content-type': type, 'content-encoding': 'gzip' })
    const gzip = createGzip({ level: 9 })
    gzip.on('error', () => {})
    gzip.pipe(response)
    const piece = Buffer.alloc(1024 * 1024)
    for (let sent = 0; sent < bytes && !response.destroyed; sent += piece.length)
      if (!gzip.write(piece)) await drained(gzip, response)
    gzip.end()
    return free
  },
})

/** The right page, compressed. */
export const gzipped = (): Behaviour => ({
  name: 'gzip',
  answer: ({ response, usual }) => {
    const { status, headers = {}, body, isSold = false } = usual()
    response.writeHead(status, { ...headers, 'content-encoding': 'gzip' }).end(gzipSync(body))
    return { isSold }
  },
})

/** `to`: an address, or a function of the present address, for a loop. */
export const redirects = (to: string | ((path: string) => string), status = 302): Behaviour => ({
  name: 'redirect',
  answer: ({ response, call }) => {
    const location = typeof to === 'string' ? to : to(`${call.asked.url.pathname}${call.asked.url.search}`)
    response.writeHead(status, { location }).end()
    return free
  },
})

/** An endless chain of new addresses. */
export const redirectLoop = (): Behaviour =>
  redirects(path => `${path.split('?')[0]}?hop=${Number(/hop=(\d+)/.exec(path)?.[1] ?? 0) + 1}`)

/** Exactly these bytes. */
export const raw = (
  name: string,
  status: number,
  headers: Record<string, string>,
  body: string | Uint8Array,
): Behaviour => ({
  name,
  answer: ({ response }) => {
    response.writeHead(status, headers).end(body)
    return free
  },
})

/** Resolves when the stream takes more, or when the client leaves. */
function drained(stream: Writable, response: InHand['response']): Promise<void> {
  return new Promise(resolve => {
    const done = () => {
      stream.off('drain', done)
      response.off('close', done)
      resolve()
    }
    stream.once('drain', done)
    response.once('close', done)
  })
}

/** Ends early if the client leaves. */
async function pause(ms: number, response: InHand['response']): Promise<void> {
  const gone = new AbortController()
  const leave = () => gone.abort()
  response.once('close', leave)
  await sleep(ms, undefined, { signal: gone.signal }).catch(() => {})
  response.off('close', leave)
}
