/** Runs one pass of the watchdog, the scheduler and the janitor, for hosts without a long-running process. */
import { z } from 'zod'
import { maintenanceReportWire } from '../../json-views.ts'
import { cronRoutes } from '../cron-routes.ts'
import type { Route } from '../route.ts'

const ids = z.array(z.string())

export const tickRoutes: readonly Route[] = cronRoutes({
  path: '/api/v1/cron/tick',
  name: 'cronTick',
  summary: 'One pass of watchdog, scheduler and janitor; takes ten seconds where a worker is silent',
  answer: z.object({
    dead: ids.meta({ description: 'workers that were declared dead' }),
    recovered: ids,
    timed_out: ids,
    stalled: ids,
    overdue: ids,
    batches: z.array(z.looseObject({ id: z.string() })),
    findings: z.array(z.looseObject({})),
  }),
  run: async ({ engine }) => maintenanceReportWire(await engine.watch({ once: true })),
})
