/**
 * Routes of liveness and readiness, for load balancers and process managers, and of what is wrong, for people: the health in a sentence,
 * incidents, findings, failures by cause, and the checks of the doctor.
 */

import { z } from 'zod'
import { internalsOf } from '../../engine/internals.ts'
import { databaseTimeout } from '../../errors/database-unreachable.ts'
import { RetomaError } from '../../errors/errors.ts'
import { problemActions } from '../../incidents/model/problem.ts'
import { unclaimedAfter, unwatchedAfter } from '../../jobs/model/policy.ts'
import { failureCauseWire, findingWire, problemWire } from '../../json-views.ts'
import { withDeadline } from '../../lib/with-deadline.ts'
import { version } from '../../version.ts'
import { omitUndefined } from '../request/omit-undefined.ts'
import { paged } from '../response/page-of-list.ts'
import { type Route, route } from '../route.ts'
import { findingsFor, hiddenKinds, problemsFor } from '../security/private-kinds.ts'
import { redactForRole } from '../security/redact-for-role.ts'
import { instant, pageOf, pageQuery } from '../shared-schemas.ts'

/** The caller is a machine with a timeout of its own. */
const answerMs = 2000

export const healthRoutes: readonly Route[] = [
  route({
    method: 'get',
    path: '/health',
    name: 'health',
    tag: 'health',
    // Liveness, not readiness: responds as long as the process does, even without the database.
    summary: 'Answers while the process lives',
    role: 'open',
    answer: z.object({ status: z.literal('ok'), version: z.string() }),
    run: () => ({ status: 'ok', version }),
  }),
  route({
    method: 'get',
    path: '/ready',
    name: 'ready',
    tag: 'health',
    summary:
      'Answers 200 if the database responds, the watchdog is on time and, in a process with a worker, the worker can claim',
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

const severity = z.enum(['info', 'warning', 'critical'])
const problem = {
  event: z.string().meta({ description: 'such as batch.stalled, queue.paused, provider.stopped, watchdog.late' }),
  subject: z.string().meta({ description: 'such as batch:17 or queue:mail' }),
  severity,
  sentence: z.string(),
  since: instant,
  facts: z.record(z.string(), z.unknown()),
}

export const problemRoutes: readonly Route[] = [
  route({
    method: 'get',
    path: '/api/v1/stats/health',
    name: 'getHealth',
    tag: 'stats',
    summary: 'Gets the health in one sentence, with every present problem, the worst first',
    role: 'viewer',
    answer: z.object({
      severity: z.enum(['ok', ...severity.options]),
      sentence: z.string(),
      since: instant.nullable(),
      problems: z.array(
        z
          .object({
            ...problem,
            action: z
              .enum(problemActions)
              .nullable()
              .meta({ description: 'the action that helps, on the subject; null: no single action helps' }),
          })
          .meta({ id: 'Problem' }),
      ),
    }),
    async run({ engine, language, who }) {
      const except = await hiddenKinds(engine, who)
      const { sentence, problems, ...health } = await engine.metrics.health({ except })
      const shown = await problemsFor(engine, except, problems)
      return { ...health, sentence: sentence[language], problems: shown.map(each => problemWire(each, language)) }
    },
  }),
  route({
    method: 'get',
    path: '/api/v1/incidents',
    name: 'listIncidents',
    tag: 'stats',
    summary:
      'Lists the incidents of the last 30 days, the newest first. Incidents are stored if a webhook for notices is set',
    role: 'viewer',
    query: z.strictObject({
      open: z.enum(['true', 'false']).default('false').meta({ description: 'true: only open incidents' }),
      ...pageQuery,
    }),
    answer: pageOf(
      z
        .object({ id: z.string(), ...problem, found_at: instant, resolved_at: instant.nullable() })
        .meta({ id: 'Incident' }),
    ),
    errors: ['bad_option'],
    async run({ engine, query: { open, ...page }, language, who }) {
      const filter = { open: open === 'true', except: await hiddenKinds(engine, who) }
      const { items, next } = await engine.metrics.incidents(omitUndefined({ ...filter, ...page }))
      const shown = await problemsFor(engine, filter.except, items)
      return { items: shown.map(each => problemWire(each, language)), next }
    },
  }),
  route({
    method: 'get',
    path: '/api/v1/findings',
    name: 'listFindings',
    tag: 'stats',
    summary: 'Lists the findings of the watchdog that need a person: hung, slow and starved jobs, the oldest first',
    role: 'viewer',
    query: z.strictObject(pageQuery),
    answer: pageOf(
      z
        .object({
          verdict: z.string(),
          subject: z.string(),
          since: instant,
          seen_at: instant,
          facts: z.record(z.string(), z.unknown()),
        })
        .meta({ id: 'Finding' }),
    ),
    async run({ engine, query, who }) {
      const found = await findingsFor(engine, who)
      const { items, next } = paged(found, each => `${each.verdict} ${each.subject}`, query)
      return { items: redactForRole(who, items.map(findingWire)), next }
    },
  }),
  route({
    method: 'get',
    path: '/api/v1/failures/causes',
    name: 'listCauses',
    tag: 'jobs',
    summary: 'Groups the 1,000 newest failed jobs of all queues by cause, the most frequent cause first',
    role: 'viewer',
    heavy: true,
    query: z.strictObject(pageQuery),
    answer: pageOf(
      z
        .object({
          cause: z.string(),
          count: z.number().int(),
          code: z.string().nullable(),
          message: z.string().meta({ description: 'of the newest failure of the cause' }),
          job: z.string().meta({ description: 'the newest job of the cause' }),
          queues: z.array(z.string()),
          kinds: z.array(z.string()),
          last_at: instant,
        })
        .meta({ id: 'FailureCause' }),
    ),
    async run({ engine, query, who }) {
      const { items, next } = paged(
        await engine.jobs.failures({ except: await hiddenKinds(engine, who) }),
        each => each.cause,
        query,
      )
      return { items: items.map(failureCauseWire), next }
    },
  }),
  route({
    method: 'get',
    path: '/api/v1/doctor',
    name: 'examine',
    tag: 'stats',
    summary:
      'Runs the checks of `retoma doctor` on the database: version, clock, schema, rights, disk, workers and more',
    role: 'admin',
    heavy: true,
    answer: z.object({
      ok: z.boolean().meta({ description: 'no check failed' }),
      failures: z.number().int(),
      warnings: z.number().int(),
      checks: z.array(
        z.object({
          check: z.string(),
          verdict: z.enum(['ok', 'warning', 'failure', 'unseen']),
          sentence: z.string(),
          advice: z.string().nullable(),
        }),
      ),
    }),
    async run({ engine, language }) {
      const checks = await internalsOf(engine).doctor()
      const of = (verdict: string) => checks.filter(each => each.verdict === verdict).length
      return {
        ok: of('failure') === 0,
        failures: of('failure'),
        warnings: of('warning'),
        checks: checks.map(({ name, verdict, sentence, advice }) => ({
          check: name,
          verdict,
          sentence: sentence[language],
          advice: advice?.[language] ?? null,
        })),
      }
    },
  }),
]
