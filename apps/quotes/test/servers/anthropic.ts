/** A stand-in for Anthropic Messages. A call is about the description in the question. Every answer of status 200 is sold. */
import type { Behaviour } from './behaviours.ts'
import { type Asked, json, type StandIn, standIn } from './stand-in.ts'

export interface AnthropicServer extends StandIn {
  readonly baseUrl: string
  /** The only accepted key. */
  readonly key: string
}

const vehicle = /\b(?:carro|moto|caminh[aã]o|ve[ií]culo|onix|gol|civic|corolla|uno|hilux)\b/i

export async function anthropicServer(): Promise<AnthropicServer> {
  const key = 'sk-ant-test-0a1b2c3d4e5f'
  const server = await standIn({
    about: descriptionOf,
    error: (status, message) =>
      JSON.stringify({
        type: 'error',
        error: { type: errorTypes[status] ?? 'api_error', message },
        request_id: 'req_1',
      }),
    reply: (asked, { n }) => {
      if (asked.method !== 'POST' || asked.url.pathname !== '/v1/messages')
        return json({ type: 'error', error: { type: 'not_found_error', message: 'Not found' } }, false, 404)
      if (asked.headers['x-api-key'] !== key || asked.headers['anthropic-version'] === undefined)
        return json(
          { type: 'error', error: { type: 'authentication_error', message: 'invalid x-api-key' } },
          false,
          401,
        )
      const { model } = JSON.parse(asked.body) as { model: string }
      return json(messageOf(n, model, JSON.stringify(analysisOf(descriptionOf(asked)))), true)
    },
  })
  return { ...server, baseUrl: server.origin, key }
}

/** A sold answer with this text. */
export const says = (text: string, stopReason = 'end_turn'): Behaviour => ({
  name: 'says',
  answer: ({ response, call }) => {
    const { model } = JSON.parse(call.asked.body) as { model: string }
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify(messageOf(call.n, model, text, stopReason)))
    return { isSold: true }
  },
})

/** Cut by max_tokens in the middle of the JSON. */
export const cut = (): Behaviour => says('{"kind": "product", "title": "Note', 'max_tokens')

const messageOf = (n: number, model: string, text: string, stopReason = 'end_turn') => ({
  id: `msg_${n}`,
  type: 'message',
  role: 'assistant',
  model,
  content: [{ type: 'text', text }],
  stop_reason: stopReason,
  stop_sequence: null,
  usage: { input_tokens: 321, output_tokens: 87 },
})

function analysisOf(description: string) {
  const year = Number(/\b(?:19|20)\d{2}\b/.exec(description)?.[0]) || null
  if (vehicle.test(description))
    return {
      kind: 'vehicle',
      vehicle_type: /moto/i.test(description) ? 'motorcycles' : 'cars',
      brand: /onix/i.test(description) ? 'Chevrolet' : 'Fiat',
      model: description.replace(/\b(?:19|20)\d{2}\b|carro/gi, '').trim(),
      year,
      fuel: 'Gasolina',
    }
  return { kind: 'product', title: description, query: description.toLowerCase(), brand: null, model: null }
}

const errorTypes: Record<number, string> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  529: 'overloaded_error',
}

function descriptionOf({ body }: Asked): string {
  try {
    const { messages } = JSON.parse(body) as { messages: { content: string }[] }
    const content = messages.at(-1)?.content ?? ''
    return /<description>([\s\S]*)<\/description>/.exec(content)?.[1] ?? content
  } catch {
    return ''
  }
}
