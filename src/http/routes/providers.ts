/** Routes of providers: which providers wait or have stopped, until which instant, and the providers' own messages. */
import { z } from 'zod'
import { providerWire } from '../../json-views.ts'
import { paged } from '../response/page-of-list.ts'
import { type Route, route } from '../route.ts'
import { instant, pageOf, pageQuery } from '../shared-schemas.ts'

const provider = z.object({
  name: z.string(),
  state: z.enum(['open', 'waiting', 'stopped']),
  kinds: z.array(z.string()).meta({ description: 'kinds of the jobs that met the wait or the stop' }),
  wait_until: instant.nullable(),
  consecutive_waits: z.number().int().meta({ description: 'waits in a row, without an answer in between' }),
  waits_since: instant.nullable().meta({ description: 'the instant of the first of the consecutive waits' }),
  stopped_at: instant.nullable(),
  probe_at: instant.nullable().meta({ description: 'the instant of the next probe of a stopped provider' }),
  code: z.string().nullable(),
  message: z.string().nullable(),
  at: instant,
  probe_error: z.string().nullable().meta({
    description: 'the error of the last probe of a stopped provider',
  }),
  probe_error_at: instant.nullable(),
})

const cleared = z.object({ name: z.string(), state: z.literal('open'), changed: z.boolean() })

export const providerRoutes: readonly Route[] = [
  route({
    method: 'get',
    path: '/api/v1/providers',
    name: 'listProviders',
    tag: 'providers',
    summary: 'Lists the providers that asked jobs to wait or stopped, with their present state',
    role: 'viewer',
    query: z.strictObject(pageQuery),
    answer: pageOf(provider),
    async run({ engine, query }) {
      const { items, next } = paged(await engine.providers.list(), each => each.name, query)
      return { items: items.map(providerWire), next }
    },
  }),
  route({
    method: 'post',
    path: '/api/v1/providers/{name}/clear',
    name: 'clearProvider',
    tag: 'providers',
    summary: 'Ends the wait or the stop of a provider; the jobs and batches that wait for the provider continue',
    role: 'operator',
    params: z.object({ name: z.string() }),
    answer: cleared,
    errors: ['not_found'],
    run: ({ engine, params, who }) => engine.providers.clear(params.name, { by: who.user }),
  }),
]
