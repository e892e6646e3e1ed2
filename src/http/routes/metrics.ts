/**
 * `GET /metrics`, for Prometheus. Metrics of the whole system are read from small tables, in any process; nothing is counted here.
 * While the database is away, the response still has the metrics of this process, and reports the database as down.
 */

import type { Engine } from '../../engine/create-engine.ts'
import { internalsOf } from '../../engine/internals.ts'
import type { Log } from '../../lib/logging/log.ts'
import { type MetricFamily, processMetrics } from '../../metrics/model/metric-table.ts'
import { prometheusText, prometheusType } from '../response/prometheus-text.ts'
import { type Route, route } from '../route.ts'

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
      const ofSystem = who.user === '' ? undefined : await systemFamilies(engine, log)
      const { databaseUp } = processMetrics
      const families = [
        ...(ofSystem ?? []),
        { ...databaseUp, samples: [{ value: Number(ofSystem !== undefined) }] },
        ...(await internalsOf(engine).meter.families(log, who.user === '' ? 'alone' : undefined)),
      ]
      headers.set('content-type', prometheusType)
      return new Response(prometheusText(families), { headers })
    },
  }),
]

/** Returns undefined if the database is away. */
async function systemFamilies(engine: Engine, log: Log): Promise<MetricFamily[] | undefined> {
  try {
    return await engine.metrics.read()
  } catch (error) {
    log.warn({ err: error }, 'cannot read the metrics of the system')
    return undefined
  }
}
