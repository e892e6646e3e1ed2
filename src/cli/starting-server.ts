/**
 * Takes the port of a starting server from the beginning, so that no other process takes the port and the address is known. Until the app
 * is ready, every request gets 503 `starting` with Retry-After.
 */
import { isIPv6 } from 'node:net'
import { RetomaError } from '../errors/errors.ts'
import type { App } from '../http/index.ts'
import { errorResponse } from '../http/response/error-response.ts'
import { withSecurityHeaders } from '../http/security/security-headers.ts'
import { listen, type Server } from '../http/server.ts'

export class StartingServer {
  readonly address: string
  readonly #server: Server
  readonly #inside: { app?: App }

  static async at(host: string, port: number, publicUrl: string | undefined): Promise<StartingServer> {
    const inside: { app?: App } = {}
    const server = await listen(
      {
        fetch: async (request, peer) => inside.app?.fetch(request, peer) ?? comeBack(request),
        endStreams: () => inside.app?.endStreams(),
      },
      host,
      port,
    )
    return new StartingServer(server, publicUrl ?? `http://${isIPv6(host) ? `[${host}]` : host}:${server.port}`, inside)
  }

  private constructor(server: Server, address: string, inside: { app?: App }) {
    this.#server = server
    this.address = address
    this.#inside = inside
  }

  open(app: App): void {
    this.#inside.app = app
  }

  close(): Promise<void> {
    return this.#server.close()
  }
}

function comeBack(request: Request): Response {
  return withSecurityHeaders(errorResponse(new RetomaError('starting', {}, { retryAfterSeconds: 1 }), request), false)
}
