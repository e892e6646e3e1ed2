/**
 * Adapts the app to servers with (req, res): Express, Fastify, Connect, node:http itself.
 *
 * Invariant: the app sees the whole path, wherever the app is mounted. A body consumed by an earlier parser is rebuilt from the parsed
 * value. When the client disconnects, the signal of the request aborts and a stream to the client ends.
 */

import type { IncomingMessage, ServerResponse } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { refuseOption } from '../errors/invalid-option.ts'
import type { App } from './app.ts'
import { ResponseBudget } from './response/response-budget.ts'

/** For the objects of node:http or of a framework; typed loosely, because not every program has Node's types. */
export type NodeHandler = (request: object, response: object) => Promise<void>

/** The fields that frameworks add to a request. */
interface Mounted extends IncomingMessage {
  originalUrl?: string
  body?: unknown
  rawBody?: unknown
}

/**
 * Turns the app into a handler for `node:http`, Express and the like.
 *
 * @example
 * express().use('/retoma', toNodeHandler(createApp(engine, { basePath: '/retoma' })))
 */
export function toNodeHandler(app: App): NodeHandler {
  if (typeof app?.fetch !== 'function')
    refuseOption('app', 'it is made by createApp(engine)', 'é feito por createApp(engine)')
  const answers = new ResponseBudget()
  const answer = getRequestListener(
    async (request, { incoming, outgoing }) => {
      const peer = { address: incoming.socket.remoteAddress, cut: () => void outgoing.destroy() }
      return answers.admit(await app.fetch(request, peer), request, outgoing as ServerResponse)
    },
    // The process belongs to the host application: its globals stay unchanged.
    { overrideGlobalObjects: false },
  )
  return (given, response) => {
    const request = given as Mounted
    const { url, originalUrl = url } = request
    if (isRead(request)) request.rawBody ??= bytesOf(request.body)
    // The listener reads the URL before the first await. The URL is then restored, because other middleware may follow.
    request.url = originalUrl
    const answered = answer(request, response as ServerResponse)
    request.url = url
    return answered as Promise<void>
  }
}

/** A parser has consumed the body. */
const isRead = ({ body, readableDidRead }: Mounted) => readableDidRead && body !== undefined

function bytesOf(body: unknown): Buffer {
  if (Buffer.isBuffer(body)) return body
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
}
