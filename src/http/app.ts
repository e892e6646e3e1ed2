/**
 * The HTTP door as a fetch handler, Request to Response: runs under our own server and mounts in any framework.
 *
 * Invariant: an error leaves as `{ error: { code, message } }` in the reader's language and never with a stack.
 */
import { Hono } from 'hono'
import { unwatchedAfter } from '../core/policy.ts'
import type { Engine } from '../engine.ts'
import { isRetomaError, type Language, RetomaError } from '../errors.ts'
import { type Log, silentLog } from '../lib/log.ts'
import { version } from '../version.ts'
import { welcomePage } from './welcome.ts'

export interface AppOptions {
  log?: Log
}

export interface App {
  fetch(request: Request): Response | Promise<Response>
}

export function createApp(engine: Engine, options: AppOptions = {}): App {
  const log = options.log ?? silentLog
  const app = new Hono()

  // Live, not ready: it answers as long as the process does, whatever the database does.
  app.get('/health', context => context.json({ status: 'ok', version }))

  app.get('/ready', async context => {
    await engine.ping()
    const seconds = await engine.watchdogLag()
    if (seconds === null || seconds * 1000 > unwatchedAfter)
      throw new RetomaError('watchdog_late', { seconds: seconds ?? '∞' })
    return context.json({ status: 'ok' })
  })

  app.get('/', context => context.html(welcomePage(languageOf(context.req.raw))))

  app.notFound(context =>
    errorResponse(
      new RetomaError('no_such_route', { method: context.req.method, path: context.req.path }),
      context.req.raw,
    ),
  )
  app.onError((error, context) => {
    if (!isRetomaError(error)) log.error({ err: error, path: context.req.path }, 'a request failed')
    return errorResponse(isRetomaError(error) ? error : new RetomaError('internal', {}), context.req.raw)
  })
  return { fetch: request => app.fetch(request) }
}

function errorResponse(error: RetomaError, request: Request): Response {
  return Response.json(
    { error: { code: error.code, message: error.in(languageOf(request)) } },
    { status: error.status },
  )
}

/** Portuguese, unless English is asked for. */
function languageOf(request: Request): Language {
  return /^\s*en\b/i.test(request.headers.get('accept-language') ?? '') ? 'en' : 'pt'
}
