/**
 * `GET /metrics`, for Prometheus. Metrics of the whole system are read from small tables, in any process; nothing is counted here.
 * While the database is away, the response still has the metrics of this process, and reports the database as down.
 */

import type { Engine } from '../../engine/create-engine.ts'
import { internalsOf } from '../../engine/internals.ts'
import type { Log } from '../../lib/logging/log.ts'
import { type MetricFamily, processMetrics } from '../../metrics/model/metric-table.ts'
import { prometheusText, prometheusType } from '../response/prometheus-text.ts'
import { type Principal, type Route, route } from '../route.ts'
import { hiddenKinds, hiddenQueues, metricsFor } from '../security/private-kinds.ts'

export const metricsRoutes: readonly Route[] = [
  route({
    method: 'get',
    path: '/metrics',
    name: 'metrics',
    tag: 'health',
    summary: 'Gets the metrics of the whole system and of this process for Prometheus',
    role: 'viewer',
    unasked: true,
    answers: 'text/plain',
    async run({ engine, who, log, headers }) {
      const ofSystem = who.user === '' ? undefined : await systemFamilies(engine, who, log)
      const { databaseUp } = processMetrics
      const families = [
        ...(ofSystem?.families ?? []),
        { ...databaseUp, samples: [{ value: Number(ofSystem !== undefined) }] },
        ...(await internalsOf(engine).meter.families(log, who.user === '' ? 'alone' : undefined)),
      ]
      headers.set('content-type', prometheusType)
      return new Response(prometheusText(metricsFor(ofSystem?.hidden ?? [], families)), { headers })
    },
  }),
]

/** Returns undefined if the database is away. */
async function systemFamilies(
  engine: Engine,
  who: Principal,
  log: Log,
): Promise<{ families: MetricFamily[]; hidden: readonly string[] } | undefined> {
  try {
    const except = await hiddenKinds(engine, who)
    return { families: await engine.metrics.read({ except }), hidden: await hiddenQueues(engine, who) }
  } catch (error) {
    log.warn({ err: error }, 'cannot read the metrics of the system')
    return undefined
  }
}
