/**
 * `GET /metrics`, for Prometheus. What is of the whole system is read from small tables, whichever process is asked; nothing is
 * counted here. When the database is away, what this process knows of itself is told all the same, and that it is away.
 */
import { type MetricFamily, processMetrics } from '../../core/metric.ts'
import type { Engine } from '../../engine.ts'
import type { Log } from '../../lib/log.ts'
import { prometheusText, prometheusType } from '../prometheus.ts'
import { type Route, route } from '../route.ts'

export const metricsRoutes: readonly Route[] = [
  route({
    method: 'get',
    path: '/metrics',
    name: 'metrics',
    tag: 'health',
    summary: 'Metrics of the whole system and of this process, for Prometheus',
    role: 'viewer',
    unasked: true,
    answers: 'text/plain',
    async run({ engine, who, log, headers }) {
      const ofSystem = who.user === '' ? undefined : await systemFamilies(engine, log)
      const { databaseUp } = processMetrics
      const families = [
        ...(ofSystem ?? []),
        { ...databaseUp, samples: [{ value: Number(ofSystem !== undefined) }] },
        ...(await engine.meter.families(log, who.user === '' ? 'alone' : undefined)),
      ]
      headers.set('content-type', prometheusType)
      return new Response(prometheusText(families), { headers })
    },
  }),
]

/** undefined: the database is away. */
async function systemFamilies(engine: Engine, log: Log): Promise<MetricFamily[] | undefined> {
  try {
    return await engine.metrics()
  } catch (error) {
    log.warn({ err: error }, 'the metrics of the system could not be read')
    return undefined
  }
}
