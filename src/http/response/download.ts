/**
 * Sends a file as a response, streamed as fast as the client reads. Browsers always save the file and never show it: an uploaded file
 * must not run as a page of this origin.
 */
import type { OpenFile } from '../../files/model/file.ts'

/** Content types that are sent as declared; every other file is sent as plain bytes. */
export const downloadTypes = [
  'application/octet-stream',
  'application/pdf',
  'text/plain',
  'image/gif',
  'image/jpeg',
  'image/png',
  'image/webp',
]

/**
 * Sends a file as a response. With the `request`, on a route with `ranges`, the response has an ETag, and honours Range, If-Range and
 * If-None-Match: a broken-off download continues where it stopped.
 */
export function download(file: OpenFile, request?: Request): Response {
  const headers = headersOf(file)
  if (request === undefined || file.part === undefined) return new Response(streamOf(file.bytes), { headers })
  const tag = `"${file.sha256}"`
  headers.set('etag', tag)
  headers.set('accept-ranges', 'bytes')
  if (namesTag(request.headers.get('if-none-match'), tag)) {
    headers.delete('content-length')
    return new Response(null, { status: 304, headers })
  }
  const range = rangeOf(request, file.size, tag)
  if (range === undefined) return new Response(streamOf(file.bytes), { headers })
  if (range === 'outside') {
    const of = { 'content-range': `bytes */${file.size}`, 'cache-control': 'no-store' }
    return new Response(null, { status: 416, headers: of })
  }
  const { from, to } = range
  headers.set('content-range', `bytes ${from}-${to}/${file.size}`)
  headers.set('content-length', String(to - from + 1))
  return new Response(streamOf(file.part(from, to)), { status: 206, headers })
}

/** The weak comparison of RFC 9110. */
const namesTag = (given: string | null, tag: string): boolean =>
  (given ?? '').split(',').some(each => each.trim() === '*' || each.trim().replace(/^W\//, '') === tag)

/** undefined: the whole file. Several ranges, and any other form, are answered with the whole file, as RFC 9110 allows. */
function rangeOf(
  { headers }: Request,
  size: number,
  tag: string,
): { from: number; to: number } | 'outside' | undefined {
  const [, first = '', last = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(headers.get('range')?.trim() ?? '') ?? []
  if (first === '' && last === '') return undefined
  // The file has changed since the first part, or the condition is a date.
  if (headers.has('if-range') && headers.get('if-range')!.trim() !== tag) return undefined
  if (first === '') {
    const length = Math.min(Number(last), size)
    return length === 0 ? 'outside' : { from: size - length, to: size - 1 }
  }
  const [from, to] = [Number(first), last === '' ? size - 1 : Math.min(Number(last), size - 1)]
  if (last !== '' && Number(last) < from) return undefined
  return from >= size ? 'outside' : { from, to }
}

function streamOf(bytes: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> {
  const reading = bytes[Symbol.asyncIterator]()
  return new ReadableStream<Uint8Array>(
    {
      async pull(flow) {
        const { done, value } = await reading.next()
        if (done) flow.close()
        else flow.enqueue(value)
      },
      async cancel() {
        await reading.return?.()
      },
    },
    { highWaterMark: 0 },
  )
}

const headersOf = ({ name, size, type }: OpenFile): Headers =>
  new Headers({
    'content-type': downloadTypes.includes(type) ? type : downloadTypes[0]!,
    'content-length': String(size),
    'content-disposition': `attachment; filename="${plain(name)}"; filename*=UTF-8''${encoded(name)}`,
    'cache-control': 'no-store',
  })

/** For clients that do not know the `filename*` form. */
const plain = (name: string) => name.replace(/[^\x20-\x7e]|["\\%]/g, '_')

const encoded = (name: string) =>
  encodeURIComponent(name.toWellFormed()).replace(/['()*]/g, c => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)
