/** Routes of liveness and readiness, for load balancers and process managers. */

import { z } from 'zod'
import { internalsOf } from '../../engine/internals.ts'
import { databaseTimeout } from '../../errors/database-unreachable.ts'
import { RetomaError } from '../../errors/errors.ts'
import { unclaimedAfter, unwatchedAfter } from '../../jobs/model/policy.ts'
import { withDeadline } from '../../lib/with-deadline.ts'
import { version } from '../../version.ts'
import { type Route, route } from '../route.ts'

/** The caller is a machine with a timeout of its own. */
const answerMs = 2000

export const healthRoutes: readonly Route[] = [
  route({
    method: 'get',
    path: '/health',
    name: 'health',
    tag: 'health',
    // Liveness, not readiness: responds as long as the process does, even without the database.
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
    summary: 'The database is there, the watchdog on time; in a process that works: it can claim',
    role: 'open',
    answer: z.object({ status: z.literal('ok') }),
    errors: ['database_unreachable', 'database_timeout', 'watchdog_missing', 'watchdog_late', 'cannot_claim'],
    async run({ engine }) {
      const late = () => databaseTimeout(answerMs, false)
      const asked = Promise.all([internalsOf(engine).watchdogLag(), internalsOf(engine).claimLag()])
      const [unwatched, unclaimed] = await withDeadline(asked, answerMs, late)
      if (unwatched === null) throw new RetomaError('watchdog_missing', {})
      if (unwatched * 1000 > unwatchedAfter) throw new RetomaError('watchdog_late', { seconds: Math.round(unwatched) })
      if (unclaimed !== null && unclaimed * 1000 > unclaimedAfter)
        throw new RetomaError('cannot_claim', { seconds: Math.round(unclaimed) })
      return { status: 'ok' }
    },
  }),
]
