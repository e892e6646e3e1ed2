/**
 * Sends one request to an outside service and reads a bounded answer. A redirect is not followed, because the key is for a single address.
 * The time limit covers the whole call, also a body that arrives byte by byte.
 *
 * Invariant: neither the result nor a thrown error contains anything of the request: no key, no address, no body.
 */

/** An answer, or the cause of its absence. */
export type Received =
  | { status: number; header: (name: string) => string | null; body: string }
  /** No answer, or only a part. `code`: of a system error, such as ECONNRESET. */
  | { broken: 'link'; code: string }
  | { broken: 'too long' }
  | { broken: 'late'; seconds: number }

export interface ServiceRequest {
  url: string
  headers: Readonly<Record<string, string>>
  /** With a body the method is POST. */
  body?: string
  /** Default 60 s. */
  timeoutMs?: number | undefined
}

const mostBytes = 10 * 1024 * 1024
const usualTimeout = 60_000

/** Throws only the reason of the signal, after an abort. */
export async function callService(request: ServiceRequest, signal: AbortSignal): Promise<Received> {
  const { url, headers, body, timeoutMs = usualTimeout } = request
  signal.throwIfAborted()
  const deadline = AbortSignal.timeout(timeoutMs)
  try {
    const response = await fetch(url, {
      method: body === undefined ? 'GET' : 'POST',
      headers,
      ...(body === undefined ? {} : { body }),
      redirect: 'manual',
      signal: AbortSignal.any([signal, deadline]),
    })
    const { status, headers: answered } = response
    const text = await readBounded(response)
    return text === undefined ? { broken: 'too long' } : { status, header: name => answered.get(name), body: text }
  } catch (error) {
    signal.throwIfAborted()
    if (deadline.aborted) return { broken: 'late', seconds: timeoutMs / 1000 }
    return { broken: 'link', code: codeOf(error) }
  }
}

async function readBounded(response: Response): Promise<string | undefined> {
  const pieces: Uint8Array[] = []
  let size = 0
  // Leaving the loop cancels the rest.
  for await (const piece of response.body ?? []) {
    size += piece.byteLength
    if (size > mostBytes) return undefined
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString('utf8')
}

/** Only the code: the message of such an error may contain parts of the request. */
function codeOf(error: unknown): string {
  const { code, cause } = error as { code?: unknown; cause?: { code?: unknown } }
  const text = String(cause?.code ?? code ?? 'unknown')
  return /^[A-Z0-9_]{2,40}$/.test(text) ? text : 'unknown'
}

export const withoutSlash = (baseUrl: string): string => baseUrl.replace(/(?<!\/)\/+$/, '')
