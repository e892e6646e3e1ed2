/**
 * A stand-in for OpenRouter: a real HTTP server on loopback that answers POST {baseUrl}/chat/completions with the chosen behaviour
 * (behaviours.ts), and keeps a ledger of each call: the document, the answer, the charge, and the delivery.
 *
 * A document is identified by the first `D-0042` in the question, otherwise by the hash of the question.
 */
import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Behaviour, ok, type Script, script } from './behaviours.ts'

/** A call in the ledger. */
interface Call {
  /** From 1 on, over all calls. */
  readonly n: number
  /** From 1 on, for this document. */
  readonly nth: number
  readonly document: string
  readonly model: string
  /** True if the key is the server's key. */
  readonly authorized: boolean
  readonly asked: { role: string; content: string }[]
  readonly body: Record<string, unknown>
  /** The name of the behaviour. */
  answered: string
  /** In USD; 0: nothing was charged. */
  cost: number
  /** The answer names a category of the list, in any form. */
  useful: boolean
  /** The whole answer was sent, and the client was still there. */
  delivered: boolean
  /** The client left, or the answer ended. */
  over: boolean
}

export interface OpenRouterServer {
  readonly baseUrl: string
  /** The only accepted key. */
  readonly key: string
  readonly calls: readonly Call[]
  /** Sets the behaviour for later calls: a single behaviour, several in order (the last repeats), or a function. */
  behave(...given: [Script] | Behaviour[]): void
  /** The price of later answers. */
  charge(usd: number): void
  /** Refuses connections until `up`. */
  down(): Promise<void>
  up(): Promise<void>
  of(document: string): Call[]
  /** Documents asked for again after the delivery of a useful answer. */
  boughtTwiceAfterDelivery(): string[]
  /** In USD, for all charged calls. */
  charged(): number
  /** Calls with a waiting client. */
  inFlight(): number
  /** Resolves with call n once the call has come in. */
  called(n: number): Promise<Call>
  close(): Promise<void>
}

export async function openRouterServer(): Promise<OpenRouterServer> {
  const key = 'sk-or-v1-test-0a1b2c3d4e5f'
  const calls: Call[] = []
  const watchers: { n: number; seen: (call: Call) => void }[] = []
  let says: Script = () => ok()
  let usd = 0.0012

  const server = createServer(async (request, response) => {
    response.on('error', () => {})
    const body = await read(request).catch(() => undefined)
    if (body === undefined) return void response.destroy()
    if (request.method !== 'POST' || request.url !== '/api/v1/chat/completions') {
      const error = { code: 404, message: 'Not Found' }
      return void response.writeHead(404, { 'content-type': 'application/json' }).end(JSON.stringify({ error }))
    }
    const call = note(body, request.headers.authorization === `Bearer ${key}`)
    response.on('close', () => {
      call.over = true
      call.delivered = response.writableFinished && !response.errored
    })
    const behaviour = says({ n: call.n, nth: call.nth, document: call.document, model: call.model })
    call.answered = behaviour.name
    for (const each of watchers) if (each.n === call.n) each.seen(call)
    await answer(behaviour, call, response)
  })

  function note(text: string, authorized: boolean): Call {
    const body = JSON.parse(text) as Record<string, unknown>
    const asked = body.messages as Call['asked']
    const document = documentOf(asked.at(-1)?.content ?? '')
    const nth = calls.filter(each => each.document === document).length + 1
    const call: Call = {
      n: calls.length + 1,
      nth,
      document,
      model: String(body.model),
      authorized,
      asked,
      body,
      answered: '',
      cost: 0,
      useful: false,
      delivered: false,
      over: false,
    }
    calls.push(call)
    return call
  }

  async function answer(behaviour: Behaviour, call: Call, response: ServerResponse): Promise<void> {
    const { cost, useful } = await behaviour.answer({
      response,
      model: call.model,
      id: `gen-${call.n}`,
      cost: usd,
      document: call.document,
      categories: categoriesIn(call.asked[0]?.content ?? ''),
      text: call.asked.at(-1)?.content ?? '',
    })
    call.cost = cost
    call.useful = useful
  }

  const listen = (port: number) => new Promise<void>(resolve => server.listen(port, '127.0.0.1', resolve))
  const shut = async () => {
    server.closeAllConnections()
    await new Promise(resolve => server.close(resolve))
  }
  await listen(0)
  const { port } = server.address() as AddressInfo
  return {
    baseUrl: `http://127.0.0.1:${port}/api/v1`,
    key,
    calls,
    behave: (...given) => {
      says = script(...given)
    },
    charge: price => {
      usd = price
    },
    down: shut,
    up: () => listen(port),
    of: document => calls.filter(each => each.document === document),
    boughtTwiceAfterDelivery: () => [
      ...new Set(
        calls
          .filter((call, index) =>
            calls.slice(0, index).some(each => each.document === call.document && each.useful && each.delivered),
          )
          .map(call => call.document),
      ),
    ],
    charged: () => calls.reduce((sum, call) => sum + call.cost, 0),
    inFlight: () => calls.filter(call => !call.over).length,
    called: n => {
      const there = calls[n - 1]
      return there === undefined ? new Promise(seen => watchers.push({ n, seen })) : Promise.resolve(there)
    },
    close: () => (server.listening ? shut() : Promise.resolve()),
  }
}

const documentOf = (content: string): string =>
  /\bD-\d+\b/.exec(content)?.[0] ?? createHash('sha256').update(content).digest('hex').slice(0, 12)

/** The list is a JSON array of texts in the first message. */
function categoriesIn(content: string): string[] {
  const array = /\["(?:[^\\\]]|\\.)*"\]/.exec(content)?.[0]
  return array === undefined ? [] : (JSON.parse(array) as string[])
}

async function read(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(piece as Buffer)
  return Buffer.concat(pieces).toString('utf8')
}
