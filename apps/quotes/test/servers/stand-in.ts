/**
 * A stand-in for an outside service: a real HTTP server on loopback that answers each request as the service would, or misbehaves on
 * demand (behaviours.ts), and keeps a ledger of each call: the question, the answer, the sale, and the delivery.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Behaviour, Script } from './behaviours.ts'

/** The answer of a service that behaves. */
export interface Reply {
  status: number
  headers?: Record<string, string>
  body: string | Uint8Array
  /** True: the service charges for the answer. */
  isSold?: boolean
}

export interface Asked {
  method: string
  url: URL
  headers: IncomingMessage['headers']
  body: string
}

/** A call in the ledger. */
export interface Call {
  /** From 1 on, over all calls. */
  readonly n: number
  /** From 1 on, for calls about the same. */
  readonly nth: number
  /** The question in short: a description, a search, a path. */
  readonly about: string
  readonly asked: Asked
  /** The name of the behaviour. */
  answered: string
  isSold: boolean
  /** The whole answer was sent, and the client was still there. */
  isDelivered: boolean
  /** The client left, or the answer ended. */
  isOver: boolean
}

export interface StandIn {
  readonly origin: string
  readonly port: number
  readonly calls: readonly Call[]
  /** Sets the behaviour for later calls: a single behaviour, several in order (the last repeats), or a function. */
  behave(...given: [Script] | Behaviour[]): void
  of(about: string): Call[]
  sold(): Call[]
  /** Questions that were asked again after the delivery of a sold answer. */
  boughtTwice(): string[]
  inFlight(): number
  /** The largest number of calls at once. */
  mostAtOnce(): number
  /** Resolves with call n once the call has come in. */
  called(n: number): Promise<Call>
  /** Refuses connections until `up`. */
  down(): Promise<void>
  up(): Promise<void>
  close(): Promise<void>
}

export interface Service {
  about(asked: Asked): string
  reply(asked: Asked, call: Call): Reply
  /** The body of an error in the form of the service. */
  error(status: number, words: string): string
}

export async function standIn({ about, reply, error }: Service): Promise<StandIn> {
  const calls: Call[] = []
  const watchers: { n: number; seen: (call: Call) => void }[] = []
  let script: Script = () => null
  let most = 0

  const server = createServer(async (request, response) => {
    response.on('error', () => {})
    const body = await read(request).catch(() => undefined)
    if (body === undefined) return void response.destroy()
    const url = new URL(request.url ?? '/', 'http://stand-in')
    const call = note({ method: request.method ?? '', url, headers: request.headers, body })
    response.on('close', () => {
      call.isOver = true
      call.isDelivered = response.writableFinished && !response.errored
    })
    const usual = () => reply(call.asked, call)
    const behaviour = script(call) ?? { name: 'ok', answer: send }
    call.answered = behaviour.name
    for (const each of watchers) if (each.n === call.n) each.seen(call)
    const { isSold } = await behaviour.answer({ response, call, usual, error })
    call.isSold = isSold
  })

  function note(asked: Asked): Call {
    const what = about(asked)
    const nth = calls.filter(each => each.about === what).length + 1
    const facts = { n: calls.length + 1, nth, about: what, asked, answered: '' }
    const call: Call = { ...facts, isSold: false, isDelivered: false, isOver: false }
    calls.push(call)
    most = Math.max(most, calls.filter(each => !each.isOver).length)
    return call
  }

  const listen = (port: number) => new Promise<void>(resolve => server.listen(port, '127.0.0.1', resolve))
  const shut = async () => {
    server.closeAllConnections()
    await new Promise(resolve => server.close(resolve))
  }
  await listen(0)
  const { port } = server.address() as AddressInfo
  return {
    origin: `http://127.0.0.1:${port}`,
    port,
    calls,
    behave: (...given) => {
      const [first] = given
      const list = given as Behaviour[]
      const from = calls.length
      script = typeof first === 'function' ? first : ({ n }) => list[Math.min(n - from, list.length) - 1] ?? null
    },
    of: what => calls.filter(each => each.about === what),
    sold: () => calls.filter(each => each.isSold),
    boughtTwice: () => [
      ...new Set(
        calls
          .filter((call, index) =>
            calls.slice(0, index).some(each => each.about === call.about && each.isSold && each.isDelivered),
          )
          .map(call => call.about),
      ),
    ],
    inFlight: () => calls.filter(call => !call.isOver).length,
    mostAtOnce: () => most,
    called: n => {
      const there = calls[n - 1]
      return there === undefined ? new Promise(seen => watchers.push({ n, seen })) : Promise.resolve(there)
    },
    down: shut,
    up: () => listen(port),
    close: () => (server.listening ? shut() : Promise.resolve()),
  }
}

/** What a behaviour has in hand. `usual`: the answer of a service that behaves. */
export interface InHand {
  response: ServerResponse
  call: Call
  usual: () => Reply
  error: Service['error']
}

export function send({ response, usual }: InHand): { isSold: boolean } {
  const { status, headers = {}, body, isSold = false } = usual()
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body)
  return { isSold }
}

async function read(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(piece as Buffer)
  return Buffer.concat(pieces).toString('utf8')
}

export const json = (value: unknown, isSold = false, status = 200): Reply => ({
  status,
  body: JSON.stringify(value),
  isSold,
})
