/** Is it there, and can it work: for load balancers and for whoever starts it. */
import { z } from 'zod'
import { unwatchedAfter } from '../../core/policy.ts'
import { RetomaError } from '../../errors.ts'
import { version } from '../../version.ts'
import { type Route, route } from '../route.ts'

export const healthRoutes: readonly Route[] = [
  route({
    method: 'get',
    path: '/health',
    name: 'health',
    tag: 'health',
    // Live, not ready: it answers as long as the process does, whatever the database does.
    summary: 'It lives',
    role: 'open',
    answer: z.object({ status: z.literal('ok'), version: z.string() }),
    run: () => ({ status: 'ok', version }),
  }),
  route({
    method: 'get',
    path: '/ready',
    name: 'ready',
    tag: 'health',
    summary: 'The database is there and the watchdog on time',
    role: 'open',
    answer: z.object({ status: z.literal('ok') }),
    errors: ['database_unreachable', 'database_timeout', 'watchdog_late'],
    async run({ engine }) {
      await engine.ping()
      const seconds = await engine.watchdogLag()
      if (seconds === null || seconds * 1000 > unwatchedAfter)
        throw new RetomaError('watchdog_late', { seconds: seconds ?? '∞' })
      return { status: 'ok' }
    },
  }),
]
