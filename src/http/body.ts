/**
 * The JSON body of a request, read in bounds: its bytes while they come, its depth before it is parsed. What is too much is
 * refused before it takes memory.
 *
 * Invariant: one who sends too much can read why. Most read nothing before they have sent all, and on a connection that is cut
 * meanwhile they see it cut: so the rest is read and thrown away first, up to a bound.
 */
import { isRetomaError, RetomaError, say } from '../errors.ts'

const largestBody = 1024 * 1024
const mostThrownAway = 256 * 1024 * 1024
const deepest = 64

export async function readText(request: Request, most: number = largestBody): Promise<string> {
  const tooLarge = () => new RetomaError('body_too_large', { most })
  const length = request.headers.get('content-length')
  if (Number(length ?? 0) > most) {
    await throwAway(request.body as AsyncIterable<Uint8Array> | null, Number(length))
    throw tooLarge()
  }
  // Of a length that is known no more than that comes, and it need not go through a stream.
  if (length !== null) {
    const whole = await request.arrayBuffer().catch(gone)
    if (whole.byteLength > most) throw tooLarge()
    return decoded(Buffer.from(whole))
  }
  if (request.body === null) return ''
  const parts: Uint8Array[] = []
  let bytes = 0
  try {
    for await (const part of request.body as unknown as AsyncIterable<Uint8Array>) {
      bytes += part.byteLength
      if (bytes > mostThrownAway) break
      if (bytes > most) parts.length = 0
      else parts.push(part)
    }
    if (bytes > most) throw tooLarge()
  } catch (error) {
    gone(error)
  }
  return decoded(Buffer.concat(parts))
}

/** `length`: of more than the bound nothing is read at all. */
async function throwAway(body: AsyncIterable<Uint8Array> | null, length: number): Promise<void> {
  if (body === null || length > mostThrownAway) return
  try {
    for await (const _ of body);
  } catch (error) {
    gone(error)
  }
}

/** Whoever sent it has gone, or was too slow: nothing is wrong here. */
function gone(error: unknown): never {
  throw isRetomaError(error) ? error : badBody('it did not arrive whole', 'não chegou inteiro')
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

function decoded(bytes: Buffer): string {
  try {
    return utf8.decode(bytes)
  } catch {
    throw badBody('it is not UTF-8', 'não é UTF-8')
  }
}

/** undefined: there is no body. */
export function parseJson(text: string): unknown {
  if (text.trim() === '') return undefined
  if (depthOf(text) > deepest) throw badBody(`it is nested deeper than ${deepest}`, `tem mais de ${deepest} níveis`)
  try {
    return JSON.parse(text)
  } catch {
    throw badBody('it is not JSON', 'não é JSON')
  }
}

const badBody = (en: string, pt: string) => new RetomaError('bad_request', { field: 'body', problem: say(en, pt) })

/** Brackets outside of texts; whether they match is found by the parser. */
function depthOf(text: string): number {
  let depth = 0
  let most = 0
  let quoted = false
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i)
    if (quoted) {
      if (c === 92) i++
      else if (c === 34) quoted = false
    } else if (c === 34) quoted = true
    else if (c === 123 || c === 91) most = Math.max(most, ++depth)
    else if (c === 125 || c === 93) depth--
  }
  return most
}
