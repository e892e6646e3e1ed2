/** Somebody's code, checked against the packed types. */
import {
  createEngine,
  defineGuard,
  defineJob,
  defineSchedule,
  type Engine,
  type GuardRun,
  type GuardView,
  type JobDetail,
  minutes,
  now,
  RetomaError,
  type ScheduleView,
  seconds,
} from 'retoma'
import { createApp } from 'retoma/http'
import { testEngine, VirtualClock } from 'retoma/testing'

export const job = defineJob({
  kind: 'typed',
  timeout: minutes(2),
  backoff: { first: seconds(1) },
  run: async (ctx, input: { code: string }) => {
    ctx.signal.throwIfAborted()
    return { length: input.code.length }
  },
})

export const schedule = defineSchedule({
  name: 'typed-daily',
  job,
  cron: '0 4 * * *',
  timeZone: 'America/Sao_Paulo',
  input: slot => ({ code: slot.toISOString() }),
})
// @ts-expect-error: the input has a type here too
defineSchedule({ name: 'typed-wrong', job, every: minutes(5), input: { kode: 'A-17' } })

const watched = {
  name: 'typed-guard',
  table: 'documents',
  status: { column: 'status', running: ['PROCESSING'] },
  signal: 'updated_at',
  after: minutes(10),
}
export const guard = defineGuard({
  ...watched,
  set: { status: 'PENDING', updated_at: now },
  enqueue: { job, input: row => ({ code: String(row.code) }) },
})
// @ts-expect-error: the input has a type here too
defineGuard({ ...watched, enqueue: { job, input: row => ({ kode: String(row.code) }) } })

export async function guards(engine: Engine): Promise<[GuardView[], GuardRun]> {
  return [await engine.guards(), await engine.runGuard('typed-guard', { dryRun: true })]
}

export async function plans(engine: Engine): Promise<ScheduleView[]> {
  await engine.runSchedule('typed-daily')
  return engine.schedules()
}

export async function use(): Promise<JobDetail | null> {
  const engine: Engine = await createEngine({ jobs: [job], schedules: [schedule], guards: [guard] })
  const { id } = await engine.enqueue(job, { code: 'A-17' }, { key: 'A-17', delay: minutes(1) })
  // @ts-expect-error: the input has a type
  await engine.enqueue(job, { kode: 'A-17' })
  // @ts-expect-error: a duration is made by a function, so that its unit shows
  await engine.enqueue(job, { code: 'A-17' }, { delay: 60_000 })
  const response: Response = await createApp(engine).fetch(new Request('http://localhost/health'))
  await using t = await testEngine({ jobs: [job] })
  await t.clock.advance(minutes(5))
  if (response.status !== 200) throw new RetomaError('internal', {})
  return new VirtualClock().now() ? engine.job(id) : null
}
