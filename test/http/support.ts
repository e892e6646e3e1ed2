/** The HTTP door over an engine on the virtual clock, asked without a socket. Every answer is held against the OpenAPI document. */
import { type AppOptions, createApp, type FetchHandler, type Peer } from '../../src/http/index.ts'
import { type MarkedPeer, ownLoopback } from '../../src/http/security/client-address.ts'
import type { AnyJob, Engine } from '../../src/index.ts'
import type { TestEngine, TestEngineOptions } from '../../src/testing/index.ts'
import { engineOf } from '../support/engine.ts'
import { checkedAgainst } from './answers.ts'

interface Asked {
  body?: unknown
  headers?: Record<string, string>
  token?: string
  /** Where it comes from; default: this machine, through Retoma's own server. */
  peer?: Peer
}

export interface Answered {
  status: number
  headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever came back.
  body: any
}

interface Asking {
  app: FetchHandler
  ask(method: string, path: string, asked?: Asked): Promise<Answered>
  fetch(request: Request, peer?: Peer): Promise<Response>
}

/** As Retoma's own server on loopback hands over a request of this machine. */
export const thisMachine: MarkedPeer = { address: '127.0.0.1', [ownLoopback]: true }

export interface Door extends TestEngine, Asking {}

/** `given`: further options of its engine, and what the door is. */
export async function doorWith(
  jobs: AnyJob[] = [],
  given: Omit<TestEngineOptions, 'databaseUrl' | 'jobs'> & { app?: AppOptions } = {},
): Promise<Door> {
  const { app: options, ...others } = given
  const made = await engineOf({ jobs, ...others })
  return { ...made, ...doorOf(made.engine, options) }
}

/** Of an engine that is there. */
export function doorOf(engine: Engine, options?: AppOptions): Asking {
  const app = createApp(engine, options)
  const check = checkedAgainst(options)
  const fetch = async (request: Request, peer: Peer = thisMachine) => {
    const response = await app.fetch(request, peer)
    await check(request.method, request.url, response)
    return response
  }
  return {
    app,
    fetch,
    async ask(method, path, { body, headers = {}, token, peer } = {}) {
      const response = await fetch(
        new Request(`http://127.0.0.1:3000${path}`, {
          method,
          headers: {
            ...(body === undefined ? {} : { 'content-type': 'application/json' }),
            ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
            'accept-language': 'en',
            ...headers,
          },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        }),
        peer,
      )
      const text = await response.text()
      const isJson = text !== '' && response.headers.get('content-type')?.includes('json')
      return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text }
    },
  }
}
