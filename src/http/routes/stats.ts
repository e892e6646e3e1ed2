/**
 * Reports the state of the whole system: the numbers of unfinished jobs, from the last sample of a tick, and the history of the queues for
 * charts. The requests themselves count nothing.
 */
import { z } from 'zod'
import { historyWire, statsWire } from '../../json-views.ts'
import { type Route, route } from '../route.ts'
import { hiddenQueues, statsFor } from '../security/private-kinds.ts'
import { anyInstant, instant } from '../shared-schemas.ts'

const count = z.number().int()
const live = { ready: count, scheduled: count, running: count, stalled: count }
const hidden = count
  .nullable()
  .meta({ description: 'null: the queue has private kinds, and only an admin sees counts' })
const seconds = z.number().nullable().meta({ description: 'null: nothing was measured' })

const distribution = z
  .object({
    count,
    mean_seconds: seconds,
    p50_seconds: seconds,
    p95_seconds: seconds,
    buckets: z
      .array(count)
      .meta({ description: 'a count for each bound of bucket_seconds, then a count for larger values' }),
  })
  .meta({ id: 'HistoryDistribution' })

const point = z
  .object({
    at: instant.meta({ description: 'start of the step' }),
    started: count,
    succeeded: count,
    skipped: count,
    failed: count.meta({ description: 'the job failed for good' }),
    retried: count.meta({ description: 'the attempt failed, and the job waits for another' }),
    deferred: count.meta({ description: 'releases, snoozes and waits for a provider' }),
    duration: distribution.meta({ description: 'of handlers whose attempt ended' }),
    waiting: distribution.meta({ description: 'from ready to started' }),
  })
  .meta({ id: 'HistoryPoint' })

const points = z.array(point).meta({ description: 'oldest first; a step without any count has no point' })

const historyQuery = z.strictObject({
  queue: z.string().min(1).max(500).optional().meta({ description: 'default: every queue' }),
  from: anyInstant.optional().meta({ description: 'default: an hour before `to`; at most 90 days ago' }),
  to: anyInstant.optional().meta({ description: 'default: now' }),
  step: z.coerce
    .number()
    .int()
    .min(60)
    .max(86_400)
    .optional()
    .meta({ description: 'seconds: whole minutes, whole hours before the last 48 hours; at most 1,500 points' }),
})

export const statsRoutes: readonly Route[] = [
  route({
    method: 'get',
    path: '/api/v1/stats',
    name: 'getStats',
    tag: 'stats',
    summary:
      'Counts waiting, running and stalled jobs by queue and kind, and the workers. Only an admin sees the counts of queues with private kinds',
    role: 'viewer',
    heavy: true,
    answer: z.looseObject({
      queues: z.array(
        z.looseObject({
          queue: z.string(),
          ready: hidden,
          scheduled: hidden,
          running: hidden,
          stalled: hidden,
          oldest_ready_seconds: z
            .number()
            .nullable()
            .meta({ description: 'the waiting time of the oldest ready job; null: no job is ready' }),
        }),
      ),
      kinds: z.array(z.looseObject({ kind: z.string(), ...live })),
      oldest_ready_seconds: z.number().nullable(),
      workers: z.number().int(),
      in_flight: count.nullable().meta({
        description:
          'attempts with a running handler; null: there are private kinds, and only an admin sees the number',
      }),
      watchdog_lag_seconds: z.number().nullable(),
      schema_version: z.number().int().meta({ description: 'the number of the newest migration of the schema retoma' }),
      sampled_at: instant.nullable(),
    }),
    run: async ({ engine, who }) => statsWire(await statsFor(engine, who)),
  }),
  route({
    method: 'get',
    path: '/api/v1/stats/history',
    name: 'getHistory',
    tag: 'stats',
    summary:
      'Gets attempts, durations and waiting times by queue over time: by minute for 48 hours, by hour for 90 days. Only an admin sees queues with private kinds',
    role: 'viewer',
    heavy: true,
    query: historyQuery,
    answer: z.object({
      from: instant,
      to: instant,
      step_seconds: count,
      bucket_seconds: z.array(z.number()).meta({ description: 'upper bounds of the buckets' }),
      queues: z.array(z.object({ queue: z.string(), points })),
      total: points.meta({ description: 'the sum over these queues' }),
    }),
    errors: ['bad_option'],
    async run({ engine, query: { queue, from, to, step }, who }) {
      const instantOf = (text: string | undefined) => (text === undefined ? undefined : new Date(text))
      const span = { step, from: instantOf(from), to: instantOf(to) }
      return historyWire(
        await engine.metrics.history({ queue, ...span, exceptQueues: await hiddenQueues(engine, who) }),
      )
    },
  }),
]
