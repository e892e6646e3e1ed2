/**
 * `callProvider`: sends one HTTP request to a provider and reads a bounded answer. A redirect is not followed, because the key is for a single
 * address. The timeout covers the whole call, also a body that arrives byte by byte.
 *
 * Invariant: neither the result nor a thrown error contains a part of the request: no key, no address, no body.
 */
import { refuseOption, refuseUnknownOptions } from '../errors/invalid-option.ts'
import { megabytes } from '../lib/values/bytes.ts'
import { type Duration, seconds } from '../lib/values/duration.ts'
import { shownValue } from '../lib/values/json.ts'
import { type ProviderAnswer, systemCode } from './model/provider-answer.ts'

/** A request to a provider. */
export interface ProviderRequest {
  /** The address of the provider, with or without a slash at the end. */
  baseUrl: string
  /** The path after `baseUrl`, with a slash at the beginning and with the query. */
  path: string
  /** Default: `GET`; with a body `POST`. */
  method?: string
  /** Default: none. */
  headers?: Readonly<Record<string, string>>
  /** Default: none. */
  body?: string | Uint8Array
  /** Time limit of the whole call. Default: 60 s. */
  timeout?: Duration | undefined
  /** Largest accepted body of the answer, decompressed. Default: 10 MB. */
  maxBytes?: number
}

const usualTimeout = seconds(60)
const usualBytes = megabytes(10)
const options = ['baseUrl', 'path', 'method', 'headers', 'body', 'timeout', 'maxBytes']

/**
 * Sends one request to a provider and reads the whole answer, at most `maxBytes`. Call inside `ctx.provider`, with the signal of
 * `ctx.provider` or of the step. Redirects are not followed. An absent answer is a result, not an error: `judgeAnswer` classifies both.
 * Throws only `bad_option`, and the reason of the signal after an abort.
 *
 * @example
 * defineJob({
 *   kind: 'price',
 *   run: ctx =>
 *     ctx.provider('example', async signal => {
 *       const answer = await callProvider({ baseUrl: 'https://api.example.com', path: '/prices/7' }, signal)
 *       return unwrapVerdict(judgeAnswer(answer, { name: 'Example' })).body
 *     }),
 * })
 */
export async function callProvider(request: ProviderRequest, signal: AbortSignal): Promise<ProviderAnswer> {
  check(request)
  const { baseUrl, path, body, headers = {}, timeout = usualTimeout, maxBytes = usualBytes } = request
  const method = request.method ?? (body === undefined ? 'GET' : 'POST')
  signal.throwIfAborted()
  const deadline = AbortSignal.timeout(timeout)
  try {
    const response = await fetch(`${baseUrl.replace(/(?<!\/)\/+$/, '')}${path}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body: body as string | Uint8Array<ArrayBuffer> }),
      redirect: 'manual',
      signal: AbortSignal.any([signal, deadline]),
    })
    const { status, headers: answered } = response
    const text = await readBounded(response, maxBytes)
    if (text === undefined) return { failure: 'too_large', maxBytes }
    return { status, header: name => answered.get(name), body: text }
  } catch (error) {
    signal.throwIfAborted()
    if (deadline.aborted) return { failure: 'timeout', seconds: timeout / 1000 }
    return { failure: 'unreachable', code: codeOf(error) }
  }
}

function check(request: ProviderRequest): void {
  refuseUnknownOptions(Object(request), options)
  const { path, timeout, maxBytes } = request
  if (typeof path !== 'string' || !path.startsWith('/'))
    refuseOption('path', 'it begins with a slash, such as /v1/messages', 'começa com uma barra, como /v1/messages')
  if (timeout !== undefined && !(timeout > 0))
    refuseOption(
      'timeout',
      `it is a duration, such as seconds(30), not ${shownValue(timeout)}`,
      `é uma duração, como seconds(30), não ${shownValue(timeout)}`,
    )
  if (maxBytes !== undefined && !(maxBytes > 0))
    refuseOption(
      'maxBytes',
      `it is a size, such as megabytes(1), not ${shownValue(maxBytes)}`,
      `é um tamanho, como megabytes(1), não ${shownValue(maxBytes)}`,
    )
}

/** undefined: the body is too long. */
async function readBounded(response: Response, maxBytes: number): Promise<string | undefined> {
  const pieces: Uint8Array[] = []
  let size = 0
  // Leaving the loop cancels the rest.
  for await (const piece of response.body ?? []) {
    size += piece.byteLength
    if (size > maxBytes) return undefined
    pieces.push(piece)
  }
  return new TextDecoder().decode(Buffer.concat(pieces))
}

function codeOf(error: unknown): string {
  const { code, cause } = Object(error) as { code?: unknown; cause?: { code?: unknown } }
  return systemCode(cause?.code ?? code)
}
