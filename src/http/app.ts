/**
 * The HTTP door as a fetch handler, Request to Response: runs under our own server and mounts in any framework, under any
 * base path.
 *
 * Invariant: an error leaves as `{ error: { code, message } }` in the reader's language and never with a stack.
 */
import { Hono } from 'hono'
import type { Engine } from '../engine.ts'
import { RetomaError } from '../errors.ts'
import { type Log, silentLog } from '../lib/log.ts'
import { answer } from './answer.ts'
import { createDoorkeeper } from './doorkeeper.ts'
import { languageOf } from './language.ts'
import { methodsAt } from './methods.ts'
import { openApiOf } from './openapi.ts'
import { refusal } from './refusal.ts'
import type { Peer, Route } from './route.ts'
import { documentRoutes } from './routes/document.ts'
import { engineRoutes } from './routes/index.ts'
import { Streams } from './streams.ts'
import { welcomePage } from './welcome.ts'

export interface AppOptions {
  log?: Log
  /** Where it is mounted, such as /retoma. */
  basePath?: string
  /** Routes of an app beside the engine's. */
  routes?: readonly Route[]
}

export interface App {
  /** `peer`: where the request came from, as the server knows. */
  fetch(request: Request, peer?: Peer): Promise<Response>
  /** Ends the streams of events, so that a server can close; whoever reads one comes back and goes on. */
  endStreams(): void
}

interface Bindings {
  Bindings: { peer: Peer }
}

/** All there are, the pages about them included. */
export function routesOf({ routes = [], basePath }: Pick<AppOptions, 'routes' | 'basePath'>): readonly Route[] {
  const all: Route[] = [...engineRoutes, ...routes]
  all.push(...documentRoutes(() => openApiOf(all, basePath)))
  return all
}

export function createApp(engine: Engine, options: AppOptions = {}): App {
  const { log = silentLog, basePath = '' } = options
  const doorkeeper = createDoorkeeper(engine)
  const streams = new Streams(engine.clock)
  const app = new Hono<Bindings>()
  const door = basePath === '' ? app : app.basePath(basePath)

  const routes = routesOf(options)
  for (const route of routes) {
    door.on(route.method.toUpperCase(), route.path.replace(/\{(\w+)\}/g, ':$1'), async context => {
      const { raw: request } = context.req
      const { peer } = context.env
      const who = await doorkeeper.admit(request, peer, route)
      const readmit = () => doorkeeper.admit(request, peer, route)
      return answer(route, { engine, log, streams, readmit, request, peer, who, params: context.req.param() })
    })
  }
  door.get('/', context => context.html(welcomePage(languageOf(context.req.raw))))

  app.notFound(context => {
    const { method, path } = context.req
    const allowed = methodsAt(routes, path.slice(basePath.length))
    if (allowed === '') return refusal(new RetomaError('no_such_route', { method, path }), context.req.raw, log)
    const answer = refusal(new RetomaError('method_not_allowed', { method, path, allowed }), context.req.raw, log)
    answer.headers.set('allow', allowed)
    return answer
  })
  app.onError((error, context) => refusal(error, context.req.raw, log))
  return { fetch: async (request, peer = {}) => app.fetch(request, { peer }), endStreams: () => streams.end() }
}
