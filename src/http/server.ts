/**
 * Our own server around the fetch handler. `listen` resolves once it accepts connections; a taken port is an error that
 * names a free one.
 */
import { createServer as createProbe } from 'node:net'
import { createAdaptorServer } from '@hono/node-server'
import { RetomaError, say } from '../errors.ts'
import { withDeadline } from '../lib/deadline.ts'
import type { App } from './app.ts'

const answerMs = 3000

export interface Server {
  readonly port: number
  /** Answers what is under way, for three seconds at most; resolves when the port is free again. */
  close(): Promise<void>
}

export async function listen(app: App, host: string, port: number): Promise<Server> {
  const server = createAdaptorServer({
    async fetch(request, { incoming, outgoing }) {
      const cut = () => void outgoing.destroy()
      const response = await app.fetch(request, { address: incoming.socket.remoteAddress, cut })
      // What carried a stream is not kept for another request: it would keep a server that closes waiting.
      if (isStream(response) && 'shouldKeepAlive' in outgoing) outgoing.shouldKeepAlive = false
      return response
    },
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  }).catch(async (error: NodeJS.ErrnoException) => {
    if (error.code === 'EADDRINUSE')
      throw new RetomaError('port_taken', { host, port, free: await freePort(host, port + 1) })
    if (error.code === 'EACCES')
      throw new RetomaError('bad_setting', {
        name: 'PORT',
        problem: say(
          `this user may not listen on port ${port}; take one above 1023`,
          `este usuário não pode escutar na porta ${port}; use uma acima de 1023`,
        ),
      })
    if (error.code === 'EADDRNOTAVAIL' || error.code === 'ENOTFOUND')
      throw new RetomaError('bad_setting', {
        name: 'HOST',
        problem: say(`${host} is no address of this machine`, `${host} não é um endereço desta máquina`),
      })
    throw error
  })
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : port,
    async close() {
      const closed = new Promise<void>(resolve => server.close(() => resolve()))
      app.endStreams()
      if ('closeIdleConnections' in server) server.closeIdleConnections()
      const late = () => new Error('still answering')
      await withDeadline(closed, answerMs, late).catch(() => {
        if ('closeAllConnections' in server) server.closeAllConnections()
      })
      await closed
    },
  }
}

const isStream = ({ headers }: Response) => headers.get('content-type') === 'text/event-stream'

/** The first port from `from` on that nobody listens on. */
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
