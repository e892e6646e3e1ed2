/**
 * Our own server around the fetch handler. `listen` resolves once it accepts connections; a taken port is an error that
 * names a free one.
 */
import { createServer as createProbe } from 'node:net'
import { createAdaptorServer } from '@hono/node-server'
import { RetomaError } from '../errors.ts'
import type { App } from './app.ts'

export interface Server {
  readonly port: number
  /** Answers what is under way, cuts idle and lingering connections, and resolves when the port is free again. */
  close(): Promise<void>
}

export async function listen(app: App, host: string, port: number): Promise<Server> {
  const server = createAdaptorServer({ fetch: app.fetch })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  }).catch(async (error: NodeJS.ErrnoException) => {
    if (error.code === 'EADDRINUSE')
      throw new RetomaError('port_taken', { host, port, free: await freePort(host, port + 1) })
    if (error.code === 'EACCES')
      throw new RetomaError('bad_setting', {
        name: 'PORT',
        problem: `this user may not listen on port ${port}; take one above 1023`,
      })
    if (error.code === 'EADDRNOTAVAIL' || error.code === 'ENOTFOUND')
      throw new RetomaError('bad_setting', { name: 'HOST', problem: `${host} is no address of this machine` })
    throw error
  })
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : port,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        if ('closeAllConnections' in server) server.closeAllConnections()
      }),
  }
}

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
