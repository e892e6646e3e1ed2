/** The HTTP door over an engine on the virtual clock, asked without a socket. */
import { type AppOptions, createApp, type Peer } from '../../src/http/index.ts'
import type { AnyJob } from '../../src/index.ts'
import type { TestEngine, TestEngineOptions } from '../../src/testing/index.ts'
import { engineOf } from '../support/engine.ts'

export interface Asked {
  body?: unknown
  headers?: Record<string, string>
  token?: string
  /** Where it comes from; default: this machine. */
  peer?: Peer
}

export interface Answered {
  status: number
  headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever came back.
  body: any
}

export interface Door extends TestEngine {
  ask(method: string, path: string, asked?: Asked): Promise<Answered>
  fetch(request: Request, peer?: Peer): Promise<Response>
}

/** `given`: what else its engine is told, and what the door is. */
export async function doorWith(
  jobs: AnyJob[] = [],
  given: Omit<TestEngineOptions, 'databaseUrl' | 'jobs'> & { app?: AppOptions } = {},
): Promise<Door> {
  const { app: options, ...others } = given
  const made = await engineOf({ jobs, ...others })
  const app = createApp(made.engine, options)
  const fetch = (request: Request, peer: Peer = { address: '127.0.0.1' }) => app.fetch(request, peer)
  return {
    ...made,
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
      const json = response.headers.get('content-type')?.includes('json') ? JSON.parse(text) : text
      return { status: response.status, headers: response.headers, body: json }
    },
  }
}
