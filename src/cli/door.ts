/**
 * The port of a server that is still starting: held from the beginning, so that nobody else takes it and its address is
 * known; until the app is there every request is told to come back.
 */
import { isIPv6 } from 'node:net'
import { type Language, RetomaError } from '../errors.ts'
import type { App } from '../http/index.ts'
import { listen, type Server } from '../http/server.ts'

export class Door {
  readonly address: string
  readonly #server: Server
  readonly #inside: { app?: App }

  static async at(host: string, port: number, publicUrl: string | undefined): Promise<Door> {
    const inside: { app?: App } = {}
    const server = await listen({ fetch: request => inside.app?.fetch(request) ?? comeBack(request) }, host, port)
    return new Door(server, publicUrl ?? `http://${isIPv6(host) ? `[${host}]` : host}:${server.port}`, inside)
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
  const language: Language = /^\s*en\b/i.test(request.headers.get('accept-language') ?? '') ? 'en' : 'pt'
  const error = new RetomaError('starting', {})
  const body = { error: { code: error.code, message: error.in(language) } }
  return Response.json(body, { status: error.status, headers: { 'retry-after': '1' } })
}
