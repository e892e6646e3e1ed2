/**
 * Sends a file as a response, streamed as fast as the client reads. Browsers always save the file and never show it: an uploaded file
 * must not run as a page of this origin.
 */
import type { OpenFile } from '../../files/model/file.ts'

/** Content types that are sent as declared; every other file is sent as plain bytes. */
export const downloadTypes = ['application/octet-stream', 'application/pdf', 'text/plain']

/** Sends a file as a response. */
export function download(file: OpenFile): Response {
  const { name, size, type } = file
  const reading = file.bytes[Symbol.asyncIterator]()
  const body = new ReadableStream<Uint8Array>(
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
  return new Response(body, {
    headers: {
      'content-type': downloadTypes.includes(type) ? type : downloadTypes[0]!,
      'content-length': String(size),
      'content-disposition': `attachment; filename="${plain(name)}"; filename*=UTF-8''${encoded(name)}`,
      'cache-control': 'no-store',
    },
  })
}

/** For clients that do not know the `filename*` form. */
const plain = (name: string) => name.replace(/[^\x20-\x7e]|["\\%]/g, '_')

const encoded = (name: string) =>
  encodeURIComponent(name.toWellFormed()).replace(/['()*]/g, c => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)
