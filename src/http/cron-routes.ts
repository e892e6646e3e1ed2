/**
 * Defines a route for an outside scheduler, such as the cron of a serverless host: GET and POST, opened by CRON_SECRET as a bearer token
 * or as `?secret=`. Without CRON_SECRET the route answers 503 and is never open.
 */
import { z } from 'zod'
import type { ErrorName } from '../errors/errors.ts'
import { refuseUnknownOptions } from '../errors/invalid-option.ts'
import { type Call, type Route, route } from './route.ts'

const secretQuery = z.strictObject({
  secret: z.string().max(1000).optional().meta({ description: 'CRON_SECRET, where no header can be sent' }),
})

/** Options of `cronRoutes`. */
export interface CronOptions {
  path: string
  /** The operation name; the GET operation gets the suffix Get. */
  name: string
  summary: string
  /** Query parameters besides `secret`. Default: none. */
  query?: Record<string, z.ZodType>
  answer: z.ZodType
  /** Errors of `run`. Default: none. */
  errors?: readonly ErrorName[]
  /** Runs with CRON_SECRET; returns a value for JSON. */
  run(call: Call): unknown
}

/** Defines a GET and a POST route that run with CRON_SECRET, for an external cron. */
export function cronRoutes(options: CronOptions): readonly Route[] {
  refuseUnknownOptions(options, ['path', 'name', 'summary', 'query', 'answer', 'errors', 'run'])
  const { path, name, summary, query = {}, answer, errors = [], run } = options
  return (['get', 'post'] as const).map(method =>
    route({
      method,
      path,
      name: method === 'get' ? `${name}Get` : name,
      tag: 'cron',
      summary,
      role: 'cron',
      query: secretQuery.extend(query),
      answer,
      errors: ['cron_unset', 'cron_refused', 'rate_limited', ...errors],
      run: call => run(call as Call),
    }),
  )
}
