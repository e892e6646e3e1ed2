/**
 * Cuts idle connections. Node's own timeout cuts a connection regardless of which side is idle: for 2,000 small files the last byte
 * arrives long before the last row is written, and the client would see a closed connection instead of the response.
 *
 * Invariant: a connection is cut only if the server waits for the client, to send or to read something, or if no request is under way;
 * never while the server works on a request. If this process was blocked, timers run before sockets are read; so a connection is checked
 * after its socket was read.
 */
import type { Server as HttpServer, IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { systemClock } from '../../lib/clock.ts'
import { yieldThen } from '../../lib/yield.ts'

interface Asked {
  incoming: IncomingMessage
  outgoing: ServerResponse
}

/**
 * `most`: beyond this number of connections, each new connection cuts the longest idle connection without a request. A client that only
 * opens connections does not keep others out.
 */
export function cutIdle(server: HttpServer, idleMs: number, most: number): void {
  const underWay = new WeakMap<Socket, Asked>()
  const open = new Set<Socket>()
  const silent = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    open.add(socket)
    silent.add(socket)
    socket.once('close', () => {
      open.delete(socket)
      silent.delete(socket)
    })
    const [longest] = silent
    if (open.size > most && longest !== undefined && longest !== socket) longest.destroy()
  })
  server.setTimeout(idleMs)
  server.on('request', (incoming, outgoing) => {
    const { socket } = incoming
    const asked = { incoming, outgoing }
    underWay.set(socket, asked)
    silent.delete(socket)
    // Responses leave in the order of the requests, so the last request is the request under way.
    outgoing.once('close', () => {
      if (underWay.get(socket) !== asked) return
      underWay.delete(socket)
      if (open.has(socket)) silent.add(socket)
    })
  })
  server.on('timeout', (socket: Socket) => {
    const before = movedOn(socket)
    yieldThen(systemClock, () => {
      if (socket.destroyed) return
      const asked = underWay.get(socket)
      if (movedOn(socket) !== before || (asked !== undefined && isAtWork(asked))) socket.setTimeout(idleMs)
      else socket.destroy()
    })
  })
}

const movedOn = ({ bytesRead, bytesWritten }: Socket): number => bytesRead + bytesWritten

/** The whole request has arrived or waits for the server to read, and the client has read everything the server sent. */
const isAtWork = ({ incoming, outgoing }: Asked): boolean =>
  (incoming.complete || incoming.readableLength > 0) && outgoing.writableLength === 0 && !outgoing.writableEnded
