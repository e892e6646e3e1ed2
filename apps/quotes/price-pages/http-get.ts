/**
 * Sends one GET request to checked addresses, and reads a bounded body. No connection is shared or kept, no redirect is followed, no cookie
 * is sent, and no proxy of the environment is used.
 *
 * Invariant: the socket connects to one of the given addresses and to no other. The name is not resolved again, so that a DNS answer which
 * changes after the check has no effect. `mostBytes` bounds the received bytes and the decompressed bytes.
 */
import { type IncomingMessage, request } from 'node:http'
import { connect, type LookupFunction, type Socket } from 'node:net'
import { pipeline, type Readable } from 'node:stream'
import { connect as connectSecurely } from 'node:tls'
import { constants, createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'

export interface Address {
  address: string
  family: 4 | 6
}

export interface Target {
  url: URL
  host: string
  port: number
  isSecure: boolean
  addresses: readonly Address[]
}

/** Opens a connection to one of `addresses`. */
export type Dial = (target: Target) => Socket

export interface GetOptions {
  headers: Readonly<Record<string, string>>
  mostBytes: number
  /** False: a longer body is cut, and is no problem. */
  isCutLong?: boolean
  dial?: Dial
}

export interface Received {
  status: number
  header: (name: string) => string | null
  /** Without the content encoding; empty for a redirect. */
  body: Uint8Array
}

export class TooLarge extends Error {}
/** The body has a content encoding that cannot be undone. */
export class BadEncoding extends Error {}

/** Rejects with the reason of the signal, `TooLarge`, `BadEncoding` or the error of the connection. */
export async function get(target: Target, options: GetOptions, signal: AbortSignal): Promise<Received> {
  signal.throwIfAborted()
  const response = await responseOf(target, options, signal)
  try {
    const status = response.statusCode ?? 0
    const header = (name: string) => {
      const value = response.headers[name]
      return value === undefined ? null : String(value)
    }
    const isRedirect = status >= 300 && status < 400
    const body = isRedirect ? new Uint8Array() : await bodyOf(response, options)
    return { status, header, body }
  } catch (error) {
    signal.throwIfAborted()
    throw error
  } finally {
    response.destroy()
  }
}

function responseOf(target: Target, { headers, dial = dialChecked }: GetOptions, signal: AbortSignal) {
  const { url, host, port } = target
  return new Promise<IncomingMessage>((resolve, reject) => {
    const asked = request({
      host,
      port,
      path: `${url.pathname}${url.search}`,
      headers: { ...headers, host: url.host, connection: 'close' },
      setHost: false,
      createConnection: () => dial(target),
    })
    const leave = () => asked.destroy(signal.reason instanceof Error ? signal.reason : new Error('aborted'))
    signal.addEventListener('abort', leave, { once: true })
    // A later error belongs to the reader of the body; without a listener the error would end the process.
    asked.on('error', error => reject(signal.aborted ? signal.reason : error))
    asked.on('response', resolve)
    asked.on('upgrade', (_, socket) => {
      socket.destroy()
      reject(Object.assign(new Error('upgrade'), { code: 'UPGRADE' }))
    })
    asked.on('close', () => signal.removeEventListener('abort', leave))
    asked.end()
  })
}

/** A literal address in the link needs no lookup; the literal was checked with the link. */
function dialChecked({ host, port, isSecure, addresses }: Target): Socket {
  const checked = addresses.map(({ address, family }) => ({ address, family }))
  const lookup: LookupFunction = (_, { all }, done) =>
    all ? done(null, checked) : done(null, checked[0]!.address, checked[0]!.family)
  const to = { host, port, lookup, autoSelectFamily: true }
  const socket = isSecure
    ? connectSecurely({ ...to, servername: nameFor(host), ALPNProtocols: ['http/1.1'] })
    : connect(to)
  socket.once('connect', () => {
    if (!checked.some(({ address }) => address === socket.remoteAddress))
      socket.destroy(Object.assign(new Error('another address'), { code: 'EADDRCHANGED' }))
  })
  return socket
}

/** TLS takes a name and no address. */
const nameFor = (host: string): string => (/^[\d.]+$|:/.test(host) ? '' : host)

async function bodyOf(response: IncomingMessage, { mostBytes, isCutLong = false }: GetOptions): Promise<Uint8Array> {
  const announced = Number(response.headers['content-length'])
  if (announced > mostBytes && !isCutLong) throw new TooLarge()
  const pieces: Uint8Array[] = []
  let size = 0
  // Leaving the loop destroys the stream.
  for await (const piece of decoded(response, mostBytes, isCutLong)) {
    size += (piece as Uint8Array).byteLength
    if (size > mostBytes) {
      if (!isCutLong) throw new TooLarge()
      pieces.push((piece as Uint8Array).subarray(0, mostBytes - (size - (piece as Uint8Array).byteLength)))
      break
    }
    pieces.push(piece as Uint8Array)
  }
  return Buffer.concat(pieces)
}

function decoded(response: IncomingMessage, mostBytes: number, isCutLong: boolean): Readable {
  const encoding = (response.headers['content-encoding'] ?? 'identity').trim().toLowerCase()
  if (encoding === 'identity' || encoding === '') return response
  const decoder = decoderOf(encoding, isCutLong)
  // The error reaches the reader of the decoder. An endless body may decompress to nothing, so received bytes count too.
  pipeline(response, bounded(mostBytes, isCutLong), decoder, () => {})
  return decoder
}

/** `isCutLong`: the input may end in the middle. */
function decoderOf(encoding: string, isCutLong: boolean) {
  const zlib = isCutLong ? { finishFlush: constants.Z_SYNC_FLUSH } : {}
  const brotli = isCutLong ? { finishFlush: constants.BROTLI_OPERATION_FLUSH } : {}
  if (encoding === 'gzip' || encoding === 'x-gzip') return createGunzip(zlib)
  if (encoding === 'br') return createBrotliDecompress(brotli)
  if (encoding === 'deflate') return createInflate(zlib)
  throw new BadEncoding(/^[\w-]{1,20}$/.test(encoding) ? encoding : 'unknown')
}

const bounded = (mostBytes: number, isCutLong: boolean) =>
  async function* (pieces: AsyncIterable<Uint8Array>) {
    let size = 0
    for await (const piece of pieces) {
      size += piece.byteLength
      if (size > mostBytes && !isCutLong) throw new TooLarge()
      yield size > mostBytes ? piece.subarray(0, mostBytes - (size - piece.byteLength)) : piece
      if (size > mostBytes) return
    }
  }
