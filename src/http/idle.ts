/**
 * Connections on which nothing moves. Node cuts one after its time whoever is waited for: of two thousand small files the last
 * byte is here long before the last row, and who sent them would see the connection close, not the answer.
 *
 * Invariant: one is cut when its client is waited for, to send or to take something, or nobody is; never while we are at work on
 * what it asked. If this process was blocked, timers run before sockets are read: so a connection is judged once its socket was read.
 */
import type { Server as HttpServer, IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { systemClock } from '../lib/clock.ts'
import { afterThis } from '../lib/later.ts'

interface Asked {
  incoming: IncomingMessage
  outgoing: ServerResponse
}

/**
 * `most`: beyond so many connections, for each that comes one that carries no request is cut, the longest silent first. Whoever only
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
    // Answers leave in the order of their requests, so the last one is what is under way.
    outgoing.once('close', () => {
      if (underWay.get(socket) !== asked) return
      underWay.delete(socket)
      if (open.has(socket)) silent.add(socket)
    })
  })
  server.on('timeout', (socket: Socket) => {
    const before = movedOn(socket)
    afterThis(systemClock, () => {
      if (socket.destroyed) return
      const asked = underWay.get(socket)
      if (movedOn(socket) !== before || (asked !== undefined && isAtWork(asked))) socket.setTimeout(idleMs)
      else socket.destroy()
    })
  })
}

const movedOn = ({ bytesRead, bytesWritten }: Socket): number => bytesRead + bytesWritten

/** All that it sent is here, or waits for us to read it; and nothing that we sent waits for it. */
const isAtWork = ({ incoming, outgoing }: Asked): boolean =>
  (incoming.complete || incoming.readableLength > 0) && outgoing.writableLength === 0 && !outgoing.writableEnded
