/** The sweep of the guard for an outside scheduler, with CRON_SECRET. The same sweep runs by itself in every process with a watchdog. */
import { cronRoutes, type Route } from 'retoma/http'
import { z } from 'zod'

export const watchdogRoutes = (guard: string): readonly Route[] =>
  cronRoutes({
    path: '/api/cron/watchdog-documents',
    name: 'watchdogDocuments',
    summary: 'Marks documents FAILED that are PROCESSING without progress for ten minutes',
    answer: z.object({
      marked: z.number().int(),
      ids: z.array(z.string()).meta({ description: 'the first 1,000 of them' }),
    }),
    async run({ engine }) {
      const { marked, rows } = await engine.guards.run(guard, { by: 'cron' })
      return { marked, ids: rows.map(({ key }) => String(key.id)) }
    },
  })
