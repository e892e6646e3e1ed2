/**
 * The door for servers that hand over (req, res): Express, Fastify, Connect, node:http itself.
 *
 * Invariant: the app sees the whole path, wherever it is mounted; a body that a parser before it has taken is given back as
 * it was parsed; when the client goes, the request's signal aborts and a stream to it ends.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { AnswerBudget } from './answer-budget.ts'
import type { App } from './app.ts'

/** Of node:http, or what a framework makes of it; not said more exactly, for not every program has Node's types. */
export type NodeHandler = (request: object, response: object) => Promise<void>

/** What frameworks add to a request. */
interface Mounted extends IncomingMessage {
  originalUrl?: string
  body?: unknown
  rawBody?: unknown
}

export function toNodeHandler(app: App): NodeHandler {
  const answers = new AnswerBudget()
  const answer = getRequestListener(
    async (request, { incoming, outgoing }) => {
      const peer = { address: incoming.socket.remoteAddress, cut: () => void outgoing.destroy() }
      return answers.admit(await app.fetch(request, peer), request, outgoing as ServerResponse)
    },
    // It is somebody else's process: its globals stay as they are.
    { overrideGlobalObjects: false },
  )
  return (given, response) => {
    const request = given as Mounted
    const { url, originalUrl = url } = request
    if (isRead(request)) request.rawBody ??= bytesOf(request.body)
    // Read before the first await, and given back: others may come after us.
    request.url = originalUrl
    const answered = answer(request, response as ServerResponse)
    request.url = url
    return answered as Promise<void>
  }
}

/** A parser has been there, and nothing is left to be read. */
const isRead = ({ body, readableDidRead }: Mounted) => readableDidRead && body !== undefined

function bytesOf(body: unknown): Buffer {
  if (Buffer.isBuffer(body)) return body
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
}
