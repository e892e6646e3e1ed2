/**
 * Behaviours of the stand-in for OpenRouter, good and bad: a function for each behaviour, and functions to combine behaviours. Every
 * behaviour was seen at a real provider or at a proxy in between.
 */
import { createHash } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

/** The facts and the response of a call. */
interface InHand {
  response: ServerResponse
  id: string
  model: string
  document: string
  /** As in the question. */
  categories: readonly string[]
  text: string
  /** The cost of a whole answer, in USD. */
  cost: number
}

/** The result, for the ledger. */
interface Came {
  cost: number
  useful: boolean
}

export interface Behaviour {
  readonly name: string
  answer(inHand: InHand): Came | Promise<Came>
}

interface About {
  n: number
  nth: number
  document: string
  model: string
}

export type Script = (about: About) => Behaviour

const free: Came = { cost: 0, useful: false }

/** The category in the text, or the first. */
const rightOne = ({ categories, text }: InHand): string =>
  categories.find(each => text.toLowerCase().includes(each.toLowerCase())) ?? categories[0] ?? 'Outros'

/** The answer of a correct model. `categoria`: another category, such as in other letters. */
export const ok = (
  given: { categoria?: string | ((right: string) => string); confianca?: unknown; justificativa?: string } = {},
): Behaviour => ({
  name: 'ok',
  answer: inHand => {
    complete(inHand, JSON.stringify(said(inHand, given)))
    return { cost: inHand.cost, useful: true }
  },
})

function said(inHand: InHand, given: Parameters<typeof ok>[0] = {}): Record<string, unknown> {
  const { categoria = right => right, confianca = 0.93, justificativa = 'O texto trata disso.' } = given
  const right = rightOne(inHand)
  return { categoria: typeof categoria === 'string' ? categoria : categoria(right), confianca, justificativa }
}

/** The same after a pause. */
export const late = (ms: number, then: Behaviour = ok()): Behaviour => ({
  name: 'late',
  answer: async inHand => {
    await pause(ms, inHand.response)
    return inHand.response.destroyed ? { cost: inHand.cost, useful: true } : then.answer(inHand)
  },
})

/** The answer is charged, but the connection is cut in the middle of the body. */
export const half = (): Behaviour => ({
  name: 'half',
  answer: async inHand => {
    const body = completionOf(inHand, JSON.stringify(said(inHand)))
    const { response } = inHand
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)) })
    await new Promise(resolve => response.write(body.slice(0, body.length / 2), resolve))
    response.destroy()
    return { cost: inHand.cost, useful: false }
  },
})

/** Sends a byte at a time, for ever: no single wait is long. */
export const drips = (everyMs = 1000): Behaviour => ({
  name: 'drips',
  answer: async inHand => {
    const { response } = inHand
    response.writeHead(200, { 'content-type': 'application/json' })
    while (!response.destroyed) {
      response.write(' ')
      await pause(everyMs, response)
    }
    return { cost: inHand.cost, useful: false }
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

/** An error in OpenRouter's format, with the status of the error. */
export const refuses = (
  status: number,
  given: { message?: string; retryAfter?: string; metadata?: unknown; headers?: Record<string, string> } = {},
): Behaviour => ({
  name: `${status}`,
  answer: ({ response }) => {
    const headers = { ...given.headers, ...(given.retryAfter === undefined ? {} : { 'retry-after': given.retryAfter }) }
    json(response, status, errorOf(status, given), headers)
    return free
  },
})

/** The model had started: the status is 200, and the error is in the body. `charged`: the question has its price all the same. */
export const errorBody = (
  code: number,
  given: { message?: string; metadata?: unknown; charged?: boolean } = {},
): Behaviour => ({
  name: `200 with ${code}`,
  answer: ({ response, cost }) => {
    json(response, 200, { ...errorOf(code, given), ...(given.charged ? { usage: { cost } } : {}) })
    return given.charged ? { cost, useful: false } : free
  },
})

const words: Record<number, string> = {
  400: "This endpoint's maximum context length is 8192 tokens. However, you requested about 90000 tokens.",
  401: 'No auth credentials found',
  402: 'Insufficient credits. Add more using https://openrouter.ai/credits',
  403: 'Your input was flagged',
  408: 'Request timed out',
  429: 'Rate limit exceeded',
  502: 'Provider returned error',
  503: 'No instances available',
  529: 'Overloaded',
}

const errorOf = (code: number, { message, metadata }: { message?: string; metadata?: unknown }) => ({
  error: {
    code,
    message: message ?? words[code] ?? 'Internal Server Error',
    ...(metadata === undefined ? {} : { metadata }),
  },
})

/** A charged answer with this content. */
export const content = (text: string | null, given: { finish?: string; useful?: boolean } = {}): Behaviour => ({
  name: 'content',
  answer: inHand => {
    complete(inHand, text, given.finish)
    return { cost: inHand.cost, useful: given.useful ?? false }
  },
})

/** The right answer in a code fence, with talk around it. */
export const fenced = (): Behaviour => ({
  name: 'fenced',
  answer: inHand => {
    complete(inHand, `Claro! Segue:\n\`\`\`json\n${JSON.stringify(said(inHand), null, 2)}\n\`\`\`\nAté mais.`)
    return { cost: inHand.cost, useful: true }
  },
})

/** Cut by max_tokens in the middle of the JSON. */
export const cut = (): Behaviour => content('{"categoria": "Contr', { finish: 'length' })

/** Bytes without an answer, with status 200. */
export const garbage = (body = '<html><body>Bad gateway</body></html>', type = 'text/html'): Behaviour => ({
  name: 'garbage',
  answer: ({ response }) => {
    response.writeHead(200, { 'content-type': type }).end(body)
    return free
  },
})

/** A behaviour for each call in order; the last behaviour repeats. */
export function script(...given: [Script] | Behaviour[]): Script {
  if (typeof given[0] === 'function') return given[0]
  const list = given as Behaviour[]
  return ({ n }) => list[Math.min(n, list.length) - 1] ?? ok()
}

/** `before` until call n, then `then`. */
export const from =
  (n: number, then: Behaviour, before: Behaviour = ok()): Script =>
  about =>
    about.n >= n ? then : before

/** A behaviour for each call in order, per document; the last behaviour repeats. */
export const eachDocument =
  (...list: Behaviour[]): Script =>
  ({ nth }) =>
    list[Math.min(nth, list.length) - 1] ?? ok()

/** Random, but equal for the same seed, document and attempt, in any order of calls. The rest is `ok`. */
export const mixture =
  (seed: number, shares: readonly (readonly [share: number, behaviour: Behaviour])[]): Script =>
  ({ document, nth }) => {
    let point = createHash('sha256').update(`${seed} ${document} ${nth}`).digest().readUInt32BE() / 2 ** 32
    for (const [share, behaviour] of shares) {
      if (point < share) return behaviour
      point -= share
    }
    return ok()
  }

/** The storm of the issue: 20 % late, 10 % 429, 10 % 500, 5 % garbage, 1 % never. */
export const storm = (seed: number, lateMs: number): Script =>
  mixture(seed, [
    [0.2, late(lateMs)],
    [0.05, refuses(429)],
    [0.05, refuses(429, { retryAfter: '1' })],
    [0.1, refuses(500)],
    [0.05, garbage()],
    [0.01, never()],
  ])

const complete = (inHand: InHand, text: string | null, finish = 'stop') =>
  inHand.response.writeHead(200, { 'content-type': 'application/json' }).end(completionOf(inHand, text, finish))

const completionOf = ({ id, model, cost }: InHand, text: string | null, finish = 'stop'): string =>
  JSON.stringify({
    id,
    object: 'chat.completion',
    created: 1_893_499_200,
    model,
    choices: [{ index: 0, finish_reason: finish, message: { role: 'assistant', content: text } }],
    usage: { prompt_tokens: 812, completion_tokens: 46, total_tokens: 858, cost },
  })

const json = (response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}) =>
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))

/** Ends early if the client leaves. */
async function pause(ms: number, response: ServerResponse): Promise<void> {
  const gone = new AbortController()
  const leave = () => gone.abort()
  response.once('close', leave)
  await sleep(ms, undefined, { signal: gone.signal }).catch(() => {})
  response.off('close', leave)
}
