/**
 * Retoma's own server around the fetch handler. `listen` resolves once the server accepts connections; a taken port is an error that
 * names a free port.
 *
 * Invariant: no client keeps a connection for longer than the timeouts of `Patience` without sending or reading anything, or enough;
 * bytes without HTTP are refused in the same form as every other error.
 */
import { createServer, type Server as HttpServer, type ServerResponse } from 'node:http'
import { createServer as createProbe } from 'node:net'
import { getRequestListener, RequestError } from '@hono/node-server'
import { localized, RetomaError } from '../errors/errors.ts'
import { afterAccepting, connectionAccepted } from '../lib/loop-turns.ts'
import { isLoopback } from '../lib/network-address.ts'
import { withDeadline } from '../lib/with-deadline.ts'
import type { App } from './app.ts'
import { cutIdle } from './connections/idle-timeout.ts'
import { largestHeaders, refuseOnSocket } from './connections/malformed-request.ts'
import { SlowBodyTimeout } from './connections/slow-body-timeout.ts'
import { errorResponse } from './response/error-response.ts'
import { ResponseBudget } from './response/response-budget.ts'
import { type MarkedPeer, ownLoopback } from './security/client-address.ts'
import { withSecurityHeaders } from './security/security-headers.ts'

const answerMs = 3000

/** Timeouts for a client, in milliseconds. */
export interface ServerTimeouts {
  /** Until the headers are complete. */
  headers: number
  /** Until the body is complete too, or enough has arrived to continue waiting for the rest (http/connections/slow-body-timeout.ts). */
  request: number
  /** While the client sends nothing and reads nothing (http/connections/idle-timeout.ts). */
  idle: number
  /** For another request on the same connection. */
  keepAlive: number
}

// Longer than the 60 s for which load balancers keep an unused connection: the load balancer should close first.
const patient: ServerTimeouts = { headers: 15_000, request: 120_000, idle: 75_000, keepAlive: 65_000 }
const mostConnections = 10_000
const spareConnections = 500
const mostRequestsOfOne = 100_000

export interface Server {
  readonly port: number
  /** Completes the requests under way, for at most 3 s; resolves when the port is free again. */
  close(): Promise<void>
}

export async function listen(
  app: App,
  host: string,
  port: number,
  waitLimit: ServerTimeouts = patient,
): Promise<Server> {
  const { server, slowBodyTimeout } = serverOf(app, isLoopback(host), waitLimit)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  }).catch(async (error: NodeJS.ErrnoException) => {
    slowBodyTimeout.end()
    throw (await refusalOf(error, host, port)) ?? error
  })
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : port,
    async close() {
      const closed = new Promise<void>(resolve => server.close(() => resolve()))
      app.endStreams()
      server.closeIdleConnections()
      const late = () => new Error('still answering')
      await withDeadline(closed, answerMs, late).catch(() => server.closeAllConnections())
      await closed
      slowBodyTimeout.end()
    },
  }
}

const isStream = ({ headers }: Response) => headers.get('content-type') === 'text/event-stream'

function serverOf(
  app: App,
  local: boolean,
  waitLimit: ServerTimeouts,
): { server: HttpServer; slowBodyTimeout: SlowBodyTimeout } {
  const answers = new ResponseBudget()
  const answer = getRequestListener(
    async (request, { incoming, outgoing }) => {
      const address = 'socket' in incoming ? incoming.socket.remoteAddress : undefined
      const peer: MarkedPeer = { address, cut: () => void outgoing.destroy(), [ownLoopback]: local }
      await afterAccepting()
      const response = await app.fetch(request, peer)
      // The connection of a stream is not kept alive: an open connection would delay the closing of the server.
      if (isStream(response) && 'shouldKeepAlive' in outgoing) outgoing.shouldKeepAlive = false
      return answers.admit(response, request, outgoing as ServerResponse)
    },
    // For input that cannot become a Request: no host, or an invalid URL.
    {
      errorHandler: error =>
        withSecurityHeaders(errorResponse(asRefusal(error), new Request('http://localhost/')), false),
    },
  )
  const server = createServer(
    {
      headersTimeout: waitLimit.headers,
      requestTimeout: 0, // a large body may take longer than any fixed timeout: see arrivals
      connectionsCheckingInterval: Math.min(waitLimit.headers / 4, 5000),
      keepAliveTimeout: waitLimit.keepAlive,
      maxHeaderSize: largestHeaders,
      // Otherwise Node refuses the request itself, without a body.
      requireHostHeader: false,
    },
    answer,
  )
  cutIdle(server, waitLimit.idle, mostConnections - spareConnections)
  server.on('connection', connectionAccepted)
  server.maxConnections = mostConnections
  server.maxRequestsPerSocket = mostRequestsOfOne
  server.on('clientError', refuseOnSocket)
  // Node answers both without a body, or not at all.
  server.on('checkExpectation', incoming => refuseOnSocket(badExpectation, incoming.socket))
  server.on('connect', (_, socket) => refuseOnSocket(noTunnel, socket))
  const slowBodyTimeout = new SlowBodyTimeout(waitLimit.request)
  server.on('request', (incoming, outgoing) => {
    slowBodyTimeout.add(incoming, () => {
      // If a response has begun, no second response is possible.
      if (outgoing.headersSent) incoming.socket.destroy()
      else refuseOnSocket(tooSlow, incoming.socket)
    })
    // No route reads these bodies: the bytes are discarded on arrival, and the connection is cut if a body is too slow or does not end.
    if (incoming.method === 'GET' || incoming.method === 'HEAD') incoming.resume()
  })
  return { server, slowBodyTimeout }
}

const badExpectation = new RetomaError('bad_expectation', {})
const noTunnel = new RetomaError('method_not_allowed', {
  method: 'CONNECT',
  path: '/',
  allowed: 'GET, POST, PUT, PATCH, DELETE',
})

/** With the code Node uses for slow headers. */
const tooSlow = Object.assign(new Error('too slow'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' })

const asRefusal = (error: unknown): unknown =>
  error instanceof RequestError
    ? new RetomaError('bad_http', { problem: localized('its address or its host', 'o endereço ou o host') })
    : error

async function refusalOf(error: NodeJS.ErrnoException, host: string, port: number): Promise<RetomaError | undefined> {
  if (error.code === 'EADDRINUSE')
    return new RetomaError('port_taken', { host, port, free: await freePort(host, port + 1) })
  if (error.code === 'EACCES')
    return new RetomaError('bad_setting', {
      name: 'PORT',
      problem: localized(
        `this user may not listen on port ${port}; take one above 1023`,
        `este usuário não pode escutar na porta ${port}; use uma acima de 1023`,
      ),
    })
  if (error.code === 'EADDRNOTAVAIL' || error.code === 'ENOTFOUND')
    return new RetomaError('bad_setting', {
      name: 'HOST',
      problem: localized(`${host} is no address of this machine`, `${host} não é um endereço desta máquina`),
    })
  return undefined
}

/** The first free port, beginning with `from`. */
async function freePort(host: string, from: number): Promise<number> {
  for (let port = from; port <= 65_535; port++) {
    const free = await new Promise<boolean>(resolve => {
      const probe = createProbe()
      probe.once('error', () => resolve(false))
      probe.listen(port, host, () => probe.close(() => resolve(true)))
    })
    if (free) return port
  }
  return 0
}
