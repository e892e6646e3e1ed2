/**
 * The HTTP API and the dashboard as a fetch handler, from Request to Response. Runs under Retoma's own server and mounts in any framework, under any base
 * path.
 *
 * Invariant: an error leaves as `{ error: { code, message } }` in the reader's language and never with a stack; every response carries
 * the headers of http/security/security-headers.ts.
 */

import { Hono, type Context as HonoContext } from 'hono'
import type { Engine } from '../engine/create-engine.ts'
import { internalsOf } from '../engine/internals.ts'
import { type Language, RetomaError } from '../errors/errors.ts'
import { refuseOption, refuseUnknownOptions } from '../errors/invalid-option.ts'
import { systemClock } from '../lib/clock.ts'
import { type Log, silentLog } from '../lib/logging/log.ts'
import { processMetrics } from '../metrics/model/metric-table.ts'
import { methodsAt } from './allowed-methods.ts'
import { checkedBasePath } from './base-path.ts'
import { createDashboard } from './dashboard/dashboard.ts'
import { sessionRoutes } from './dashboard/session.ts'
import { openApiOf } from './openapi.ts'
import { BodyBudget } from './request/body-budget.ts'
import { createReadWatch } from './request/frozen-database.ts'
import { handleRequest } from './request/handle-request.ts'
import { HeavyRequests } from './request/heavy-requests.ts'
import { errorResponse } from './response/error-response.ts'
import type { Peer, Route } from './route.ts'
import { refuseRouteConflicts } from './route-conflicts.ts'
import { documentRoutes } from './routes/api-document.ts'
import { engineRoutes } from './routes/index.ts'
import { type AuthenticateOptions, createAuthenticator } from './security/authenticate.ts'
import { type ClientAddress, clientAddressOf } from './security/client-address.ts'
import { withSecurityHeaders } from './security/security-headers.ts'
import { Streams } from './streaming/open-streams.ts'
import type { System } from './system.ts'

/** Options of `createApp`. */
export interface AppOptions extends AuthenticateOptions {
  /** The log of requests and failures. Default: none. */
  log?: Log | false
  /** The path at which the app is mounted, such as /retoma. Default: the root. */
  basePath?: string
  /** Routes of an application beside the engine's routes. Default: none. */
  routes?: readonly Route[]
  /** Systems beside the routes: the app answers their routes, and the dashboard shows their pages. Default: none. */
  systems?: readonly (Pick<System, 'name' | 'page' | 'simulated'> & Partial<Pick<System, 'routes'>>)[]
  /** Names of outside services whose responses are simulated; the dashboard shows the names. Default: none. */
  simulated?: readonly string[]
}

/** The HTTP API of an engine. */
export interface App {
  /** `peer`: the origin of the request, as the server knows the connection. */
  fetch(request: Request, peer?: Peer): Promise<Response>
  /** Ends the event streams, so that a server can close. The clients reconnect and continue. */
  endStreams(): void
}

/** The app is also a function of a request: the same as `fetch` without a `peer`. */
export type FetchHandler = App & ((request: Request) => Promise<Response>)

interface Bindings {
  Bindings: { client: ClientAddress }
  /** The language of the route, for an error of the route. */
  Variables: { language: Language }
}

/** Returns all routes, including the documentation pages. */
export function routesOf({
  routes = [],
  systems = [],
  simulated = [],
  basePath,
}: Pick<AppOptions, 'routes' | 'systems' | 'simulated' | 'basePath'>): readonly Route[] {
  // A caller may name a route of a system in `routes` too.
  const own = new Set([...routes, ...systems.flatMap(system => system.routes ?? [])])
  const all: Route[] = [...engineRoutes, ...sessionRoutes({ systems, simulated }), ...own]
  all.push(...documentRoutes(() => openApiOf(all, basePath)))
  return all
}

const known = Object.keys({
  log: true,
  basePath: true,
  routes: true,
  systems: true,
  simulated: true,
  open: true,
  who: true,
  cronSecret: true,
  publicUrl: true,
  trustProxy: true,
} satisfies Record<keyof AppOptions, true>)

/** The paths of the engine, below any base path. */
const enginePath = /\/(?:api\/(?:v1|docs|openapi\.json)|health|ready|metrics)(?:\/|$)/

/**
 * Returns the HTTP API of an engine as a fetch handler, for Next.js, Express, Hono or Fastify. Throws `bad_option`.
 *
 * @example
 * const app = createApp(engine, { basePath: '/retoma' })
 * const response = await app.fetch(new Request('http://localhost/retoma/health'))
 */
export function createApp(engine: Engine, options: AppOptions = {}): FetchHandler {
  if (typeof engine?.enqueue !== 'function' || internalsOf(engine) === undefined)
    refuseOption('engine', 'it is made by await createEngine(…)', 'é feito por await createEngine(…)')
  refuseUnknownOptions(options, known)
  checkTypes(options)
  const basePath = checkedBasePath(options.basePath)
  const log = options.log === false ? silentLog : (options.log ?? internalsOf(engine).log)
  const authenticator = createAuthenticator(engine, options)
  const streams = new Streams(internalsOf(engine).clock, more =>
    internalsOf(engine).meter.add(processMetrics.sseClients, more),
  )
  const bodies = new BodyBudget()
  const heavyBodies = new HeavyRequests()
  // At most one for each processor at a time: more would take processor time from GET /health, and end no sooner. A page of many widgets
  // must not be refused, so thousands may wait.
  const heavyReads = new HeavyRequests(undefined, 5000)
  const watchRead = createReadWatch(() => internalsOf(engine).ping())
  const app = new Hono<Bindings>()
  const door = basePath === '' ? app : app.basePath(basePath)

  const routes = routesOf({ ...options, basePath })
  refuseRouteConflicts(routes)
  // A path without a route is most likely a misspelled path of an application, except below the paths of the engine.
  const ofApplication = routes.find(each => each.language !== undefined)?.language ?? 'en'
  const languageAt = (path: string): Language => (enginePath.test(path) ? 'en' : ofApplication)
  for (const route of routes) {
    const respond = async (context: HonoContext<Bindings>) => {
      const { raw: request } = context.req
      const { client } = context.env
      const who = await authenticator.authenticate(request, client, route)
      const readmit = () => authenticator.authenticate(request, client, route)
      return handleRequest(route, {
        engine,
        log,
        streams,
        bodies,
        heavyWork: route.heavy ? heavyReads : heavyBodies,
        readmit,
        request,
        peer: client,
        who,
        params: context.req.param(),
      })
    }
    // The cron routes write.
    const reads = route.method === 'get' && route.role !== 'cron'
    door.on(route.method.toUpperCase(), route.path.replace(/\{(\w+)\}/g, ':$1'), context => {
      context.set('language', route.language ?? 'en')
      return reads ? watchRead(respond(context)) : respond(context)
    })
  }
  const dashboard = createDashboard({ basePath, systems: options.systems ?? [] })

  app.notFound(context => {
    const { method, path, raw } = context.req
    const shown = dashboard.respond(raw, path)
    if (shown !== undefined) return shown
    const allowed = methodsAt(routes, path.slice(basePath.length))
    const respond = (error: RetomaError) => errorResponse(error, context.req.raw, log, languageAt(path))
    if (allowed === '') return respond(new RetomaError('no_such_route', { method, path }))
    const answer = respond(new RetomaError('method_not_allowed', { method, path, allowed }))
    answer.headers.set('allow', allowed)
    return answer
  })
  app.onError((error, context) => errorResponse(error, context.req.raw, log, context.get('language')))

  /** Returns the response to a GET without the body. A streaming body is cancelled, because no client reads the body. */
  async function head(request: Request, client: ClientAddress): Promise<Response> {
    const whole = await app.fetch(new Request(request, { method: 'GET' }), { client })
    await whole.body?.cancel()
    return new Response(null, { status: whole.status, headers: whole.headers })
  }

  const fetch: App['fetch'] = async (request, peer = {}) => {
    const began = systemClock.elapsed()
    const client = clientAddressOf(request, peer, options)
    const response = await (request.method === 'HEAD' ? head(request, client) : app.fetch(request, { client }))
    const { status } = response
    log.debug({ ...asked(request), status, ms: Math.round(systemClock.elapsed() - began) }, 'request')
    return withSecurityHeaders(response, client.secure)
  }
  // The second argument that a framework passes is not a `peer`.
  return Object.assign((request: Request) => fetch(request), { fetch, endStreams: () => streams.end() })
}

function checkTypes({ who, routes, systems }: AppOptions): void {
  if (who !== undefined && typeof who !== 'function')
    refuseOption(
      'who',
      "it is a function of the request, such as request => ({ user: 'ana', role: 'viewer' })",
      "é uma função da requisição, como request => ({ user: 'ana', role: 'viewer' })",
    )
  if (routes !== undefined && !Array.isArray(routes))
    refuseOption('routes', 'it is a list of routes, made by route(…)', 'é uma lista de rotas, feitas por route(…)')
  if (systems !== undefined && !Array.isArray(systems))
    refuseOption('systems', 'it is a list of systems', 'é uma lista de sistemas')
}

/** For the log: only the names of the query parameters, because the values may be secrets. */
function asked(request: Request): { method: string; path: string; query?: string } {
  const { pathname: path, searchParams } = new URL(request.url)
  const query = [...new Set(searchParams.keys())].join(' ')
  return { method: request.method, path, ...(query === '' ? {} : { query }) }
}
