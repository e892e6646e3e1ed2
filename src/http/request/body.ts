/**
 * Reads the JSON body of a request within bounds. The bytes, the depth and the number of values are checked while the body arrives,
 * before parsing, so that an excessive body is refused before it takes memory.
 *
 * Invariant: a client that sends too much can read the reason. Most clients read nothing before they have sent everything, and on a cut
 * connection they see only the cut; so the rest of the body is read and discarded first, up to a bound.
 */
import { isRetomaError, localized, RetomaError } from '../../errors/errors.ts'
import { parseJsonInSlices } from '../../lib/json-in-slices.ts'
import { jsonSliceLength, sliceLength, turnOfLoop } from '../../lib/loop-turns.ts'
import { type BodyShare, uncounted } from './body-budget.ts'
import { type Excess, JsonScan, mostFields } from './json-size-scan.ts'

export interface BodyBounds {
  /** Bytes. Default 64 KB, enough for the form of a page. */
  largest?: number | undefined
  /** List items and object fields, at every depth. */
  mostValues?: number | undefined
}

const largestBody = 64 * 1024
const mostBodyValues = 200_000
const mostThrownAway = 256 * 1024 * 1024
const deepest = 64

/** Returns undefined if there is no body. */
export async function parseJson(text: string): Promise<unknown> {
  if (text.trim() === '') return undefined
  const { value, isDoubtful } = await parsed(text)
  if (isDoubtful) refuseRounded(value, '')
  return value
}

/** `isDoubtful`: the text may contain a number that JavaScript rounded. */
async function parsed(text: string): Promise<{ value: unknown; isDoubtful: boolean }> {
  try {
    if (text.length <= sliceLength) return { value: JSON.parse(text), isDoubtful: mayRound.test(text) }
    await turnOfLoop()
    let isDoubtful = false
    const inspect = (part: string) => {
      isDoubtful ||= mayRound.test(part)
    }
    const value = await parseJsonInSlices(text, { length: jsonSliceLength, between: turnOfLoop, inspect })
    await turnOfLoop()
    return { value, isDoubtful }
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw badBody('it is not JSON', 'não é JSON')
  }
}

/** Enough digits for a number that JavaScript cannot represent. The digits may also be part of a string. */
const mayRound = /\d{16}|[eE]\+?\d/

/** Beyond 2^53 JavaScript rounds a number while parsing: the id 9007199254740993 would become another id. `at`: the path of the value. */
function refuseRounded(value: unknown, at: string): void {
  if (typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER)
    throw new RetomaError('bad_request', {
      field: at === '' ? 'body' : at,
      problem: localized(
        'the number is beyond 2^53 and would be rounded; send it as a text',
        'o número passa de 2^53 e seria arredondado; envie-o como texto',
      ),
    })
  if (Array.isArray(value)) for (const [index, each] of value.entries()) refuseRounded(each, `${at}[${index}]`)
  else if (typeof value === 'object' && value !== null)
    for (const [name, each] of Object.entries(value)) refuseRounded(each, at === '' ? name : `${at}.${name}`)
}

export async function readBytes(request: Request, share: BodyShare, bounds: BodyBounds): Promise<Uint8Array> {
  const { largest = largestBody, mostValues = mostBodyValues } = bounds
  const scan = new JsonScan(deepest, mostValues)
  const tooLarge = () => new RetomaError('body_too_large', { most: largest })
  const length = request.headers.get('content-length')
  const body = request.body as AsyncIterable<Uint8Array> | null
  if (Number(length ?? 0) > largest) {
    await throwAway(body, Number(length))
    throw tooLarge()
  }
  // A body of known length cannot be longer than the declared length, and needs no stream.
  if (length !== null && Number(length) <= uncounted) {
    const whole = new Uint8Array(await request.arrayBuffer().catch(gone))
    if (whole.byteLength > largest) throw tooLarge()
    refuseExcess(scan.add(whole), mostValues)
    return whole
  }
  if (body === null) return new Uint8Array()
  const parts: Uint8Array[] = []
  let bytes = 0
  let failure: RetomaError | undefined
  const fail = (error: unknown) => {
    failure = isRetomaError(error) ? error : gone(error)
    parts.length = 0
    share.release()
  }
  try {
    for await (const part of body) {
      bytes += part.byteLength
      if (bytes > mostThrownAway) break
      if (failure !== undefined) continue
      try {
        if (bytes > largest) throw tooLarge()
        share.take(part.byteLength)
        refuseExcess(scan.add(part), mostValues)
        parts.push(part)
      } catch (error) {
        fail(error)
      }
    }
  } catch (error) {
    gone(error)
  }
  if (failure !== undefined) throw failure
  return Buffer.concat(parts)
}

function refuseExcess(excess: Excess | undefined, most: number): void {
  if (excess === 'too_wide') throw new RetomaError('too_many_values', { most: mostFields })
  if (excess === 'too_many') throw new RetomaError('too_many_values', { most })
  if (excess === 'too_deep') throw badBody(`it is nested deeper than ${deepest}`, `tem mais de ${deepest} níveis`)
}

/** If `length` is above the bound, nothing is read at all. */
async function throwAway(body: AsyncIterable<Uint8Array> | null, length: number): Promise<void> {
  if (body === null || length > mostThrownAway) return
  try {
    for await (const _ of body);
  } catch (error) {
    gone(error)
  }
}

/** The client has disconnected or was too slow: this is no error of the server. */
function gone(error: unknown): never {
  throw isRetomaError(error) ? error : badBody('it did not arrive whole', 'não chegou inteiro')
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

export async function decoded(bytes: Uint8Array): Promise<string> {
  if (bytes.byteLength > sliceLength) await turnOfLoop()
  try {
    return utf8.decode(bytes)
  } catch {
    throw badBody('it is not UTF-8', 'não é UTF-8')
  }
}

const badBody = (en: string, pt: string) =>
  new RetomaError('bad_request', { field: 'body', problem: localized(en, pt) })
