/** The route of the dashboard's shell: who is asking, and what this server runs. */
import { z } from 'zod'
import { roles } from '../../auth/model/token.ts'
import { version } from '../../version.ts'
import { clockOf } from '../engine-access.ts'
import { type Route, route } from '../route.ts'
import { instant } from '../shared-schemas.ts'
import type { System } from '../system.ts'

export interface DashboardFacts {
  systems: readonly Pick<System, 'name' | 'page' | 'simulated'>[]
  simulated: readonly string[]
}

export const sessionRoutes = ({ systems, simulated }: DashboardFacts): readonly Route[] => [
  route({
    method: 'get',
    path: '/api/v1/session',
    name: 'getSession',
    tag: 'log-in',
    summary: 'Gets the principal of the request, and the systems, the version and the time of the server',
    role: 'viewer',
    answer: z.object({
      user: z.string(),
      role: z.enum(roles),
      via: z.enum(['token', 'cookie', 'open', 'host']),
      language: z.enum(['en', 'pt']),
      version: z.string(),
      now: instant,
      systems: z.array(
        z.object({
          name: z.string(),
          page: z.string().nullable().meta({ description: 'the path of the page of the system, below the base path' }),
          simulated: z.array(z.string()),
        }),
      ),
      simulated: z
        .array(z.string())
        .meta({ description: 'outside services without a key, whose responses are simulated' }),
    }),
    run: ({ engine, who: { user, role, via }, language }) => ({
      user,
      role,
      via,
      language,
      version,
      now: clockOf(engine).now().toISOString(),
      systems: systems.map(each => ({ name: each.name, page: each.page ?? null, simulated: each.simulated ?? [] })),
      simulated,
    }),
  }),
]
