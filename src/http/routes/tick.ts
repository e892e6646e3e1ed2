/**
 * Runs one pass of the watchdog, the scheduler and the janitor, for hosts without a long-running process. With `work` the request also
 * runs ready jobs for a bounded time.
 */
import { z } from 'zod'
import type { Engine, RunUntilEmptyOptions, RunUntilEmptyResult } from '../../engine/create-engine.ts'
import { internalsOf } from '../../engine/internals.ts'
import { localized, RetomaError } from '../../errors/errors.ts'
import { maintenanceReportWire } from '../../json-views.ts'
import { type Duration, minutes, parseDuration, seconds } from '../../lib/values/duration.ts'
import { cronRoutes } from '../cron-routes.ts'
import type { Route } from '../route.ts'

const ids = z.array(z.string())
const count = z.int().min(0)

/** The longest time of a function on the hosts that limit the time. */
const longestWork = minutes(15)
/** After the pass, a second round of work begins only with at least this much time left. */
const leastWork = seconds(1)

export const tickRoutes: readonly Route[] = cronRoutes({
  path: '/api/v1/cron/tick',
  name: 'cronTick',
  summary:
    'One pass of watchdog, scheduler and janitor; with work, ready jobs run too; takes ten seconds where a worker is silent',
  query: {
    work: z.string().max(20).optional().meta({
      description: 'run ready jobs for at most this time, from 1s to 15m, such as 20s; default: no job runs',
    }),
    queues: z.string().max(2000).optional().meta({
      description:
        'with work: the queues and the jobs of each at a time, such as mail:10,bulk:5; default: the queues of the kinds of this process',
    }),
  },
  answer: z.object({
    dead: ids.meta({ description: 'workers declared dead' }),
    recovered: ids,
    timed_out: ids,
    stalled: ids,
    overdue: ids,
    batches: z.array(z.looseObject({ id: z.string() })),
    findings: z.array(z.looseObject({})),
    work: z
      .object({
        attempts: count,
        succeeded: count,
        skipped: count,
        failed: count,
        retried: count,
        deferred: count,
        released: count.meta({ description: 'jobs released because the time was up' }),
        empty: z.boolean().meta({
          description: 'no job was ready at the end; false: the time was up, or ready jobs wait for a rate',
        }),
      })
      .nullable()
      .meta({ description: 'the attempts of this request; null without work' }),
  }),
  errors: ['unknown_queue'],
  async run({ engine, query }) {
    const { work, queues } = query as { work?: string; queues?: string }
    const time = work === undefined ? undefined : workTime(work)
    return time === undefined
      ? { ...maintenanceReportWire(await engine.watch({ once: true })), work: null }
      : tickAndWork(engine, time, queues === undefined ? {} : { queues: await queuesOf(engine, queues) })
  },
})

function workTime(text: string): Duration {
  const time = parseDuration(text)
  if (time !== undefined && time >= leastWork && time <= longestWork) return time
  const problem = localized('it is a time from 1s to 15m, such as 20s', 'é um tempo de 1s a 15m, como 20s')
  throw new RetomaError('bad_request', { field: 'work', problem })
}

/** Reads `mail:10,bulk:5`. A queue that does not exist is refused, so that a typo does not look like an empty queue. */
async function queuesOf(engine: Engine, text: string): Promise<Record<string, number>> {
  const parts = text.split(',').map(part => /^([^:,]{1,100}):([1-9]\d{0,3})$/.exec(part.trim()))
  if (parts.some(part => part === null)) {
    const problem = localized(
      'it is queues with numbers, such as mail:10,bulk:5',
      'são filas com números, como mail:10,bulk:5',
    )
    throw new RetomaError('bad_request', { field: 'queues', problem })
  }
  const queues = Object.fromEntries(parts.map(part => [part![1]!, Number(part![2])]))
  for (const queue of Object.keys(queues)) await internalsOf(engine).findQueue(queue)
  return queues
}

/**
 * Works during the pass, which takes ten seconds if a worker is silent, and once more afterwards: the pass may have recovered jobs and
 * enqueued the jobs of schedules.
 */
async function tickAndWork(engine: Engine, time: Duration, ofWork: Pick<RunUntilEmptyOptions, 'queues'>) {
  const { clock } = internalsOf(engine)
  const end = clock.elapsed() + time
  // Both end before the answer, also if one fails: a host may stop the process after the answer.
  const [watched, worked] = await Promise.allSettled([
    engine.watch({ once: true }),
    engine.runUntilEmpty({ ...ofWork, maxMs: time }),
  ])
  if (watched.status === 'rejected') throw watched.reason
  if (worked.status === 'rejected') throw worked.reason
  const [report, first] = [watched.value, worked.value]
  const left = end - clock.elapsed()
  const second = left >= leastWork ? await engine.runUntilEmpty({ ...ofWork, maxMs: left }) : undefined
  return { ...maintenanceReportWire(report), work: second === undefined ? first : sumOf(first, second) }
}

function sumOf(first: RunUntilEmptyResult, second: RunUntilEmptyResult): RunUntilEmptyResult {
  const sum = { ...second }
  for (const name of ['attempts', 'succeeded', 'skipped', 'failed', 'retried', 'deferred', 'released'] as const)
    sum[name] += first[name]
  return sum
}
