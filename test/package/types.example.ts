/** Somebody's code, checked against the packed types. */
import {
  type BatchEnd,
  type BatchView,
  createEngine,
  defineBatch,
  defineGuard,
  defineJob,
  defineSchedule,
  type Engine,
  type GuardRun,
  type GuardView,
  guardNow,
  handlerOf,
  type JobContext,
  type JobDetail,
  type JobHandle,
  minutes,
  RetomaError,
  type ScheduleView,
  seconds,
  skip,
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

export const cleanUp = defineJob({ kind: 'typed-clean-up', run: () => 'done' })

/** A module with a handler, as `typeof import('./extract.js')` describes one. */
interface ExtractModule {
  default: (ctx: JobContext, input: { code: string }) => Promise<{ pages: number }>
}
const handler = handlerOf<ExtractModule>(new URL('file:///extract.js'))
export const extract = defineJob({ kind: 'typed-extract', handler, isolation: 'process' })
export const pages = async (handle: JobHandle<{ pages: number }>): Promise<number> => (await handle.result()).pages
export const extracted = async (engine: Engine) => pages(await engine.enqueue(extract, { code: 'A-17' }))

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
  set: { status: 'PENDING', updated_at: guardNow },
  enqueue: { job, input: row => ({ code: String(row.code) }) },
})
// @ts-expect-error: the input has a type here too
defineGuard({ ...watched, enqueue: { job, input: row => ({ kode: String(row.code) }) } })

export async function guards(engine: Engine): Promise<[GuardView[], GuardRun]> {
  return [await engine.guards.list(), await engine.guards.run('typed-guard', { dryRun: true })]
}

export async function plans(engine: Engine): Promise<ScheduleView[]> {
  await engine.schedules.run('typed-daily')
  return engine.schedules.list()
}

export async function use(): Promise<JobDetail | null> {
  const engine: Engine = await createEngine({ jobs: [job], schedules: [schedule], guards: [guard] })
  const handle = await engine.enqueue(job, { code: 'A-17' }, { key: 'A-17', delay: minutes(1) })
  const { id } = handle
  const { length }: { length: number } = await handle.result({ signal: AbortSignal.timeout(1000) })
  const ended: { length: number } | null = (await engine.wait({ job: handle })).result
  const read: string | undefined = (await engine.job(id, job))?.input.code
  const cleaned: string = await (await engine.enqueue(cleanUp)).result()
  if (length !== ended?.length || read !== cleaned) throw new Error('something else')
  // @ts-expect-error: a job with an input needs its input
  await engine.enqueue(job)
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

const stepwise = defineJob({
  kind: 'typed-steps',
  run: async (ctx, { code }: { code: string }) => {
    const text = await ctx.step('extract', () => ({ pages: [code] }), { maxAttempts: 2, timeout: seconds(30) })
    if (text.pages.length === 0) return skip('nothing to read')
    const lengths: number[] = await ctx.each('pages', text.pages, page => page.length, { concurrency: 4 })
    const collected = await ctx.each('tries', text.pages, page => page.length, { collect: true, key: page => page })
    for (const each of collected) if (!each.ok) ctx.log.warn({ err: each.error }, 'left out')
    await ctx.progress({ done: 3, total: 10, note: 'page 3' })
    await ctx.checkpoint('place', { page: 3 }, { progress: { done: 3 } })
    await ctx.sleep('cool down', minutes(1))
    const id: string = await ctx.transaction('save', async tx => {
      const { rows } = await tx.query<{ id: string }>('insert into result (code) values ($1) returning id', [code])
      return rows[0]!.id
    })
    return { id, lengths, began: ctx.resumeData, version: ctx.version, attempt: ctx.attempt }
  },
})
const report = defineJob({ kind: 'typed-report', run: (_, { batch, failed }: BatchEnd) => `${batch}: ${failed}` })
const batch = defineBatch({
  name: 'typed-batch',
  job: stepwise,
  stallAfter: minutes(5),
  onStall: 'stall',
  maxResumes: 3,
  stopAfter: { failures: 100, percent: 50 },
  items: { maxAttempts: 3, timeout: minutes(2), stallAfter: null },
  onComplete: report,
})

defineBatch({
  name: 'typed-end-1',
  job,
  onComplete: defineJob({ kind: 'typed-e1', run: (_, end: { batch: string }) => end.batch }),
})
defineBatch({ name: 'typed-end-2', job, onComplete: defineJob({ kind: 'typed-e2', run: () => 1 }) })
defineBatch({ name: 'typed-end-3', job, onComplete: defineJob({ kind: 'typed-e3', run: (_, end: unknown) => end }) })
// @ts-expect-error: what a batch gives its onComplete job is a BatchEnd, which has no code
defineBatch({ name: 'typed-end-4', job, onComplete: job })
const wrongEnd = defineJob({ kind: 'typed-e5', run: (_, end: { total: string }) => end })
// @ts-expect-error: and whose total is a number
defineBatch({ name: 'typed-end-5', job, onComplete: wrongEnd })

export async function useBatch(engine: Engine, after: string | undefined): Promise<BatchView> {
  const items = [{ code: 'A-17' }]
  const { id } = await engine.submit(batch, items, { key: 'may', ref: item => item.code, priority: 2 })
  await engine.submit(batch, items, {
    maxResumes: 1,
    stallAfter: null,
    items: { maxAttempts: 9, backoff: { factor: 1 } },
  })
  // @ts-expect-error: where a handler runs is its kind's to say
  await engine.submit(batch, items, { items: { isolation: 'process' } })
  // @ts-expect-error: an item has the type of the job's input
  await engine.submit(batch, [{ kode: 'A-17' }])
  for (const { cause, count, refs } of await engine.batches.failures(id))
    if (count > refs.length) await engine.batches.retryFailed(id, { cause })
  await engine.batches.pause(id)
  await engine.batches.resume(id)
  await engine.batches.setPriority(id, 0)
  const { items: failed, next } = await engine.batches.items(id, { state: 'failed', limit: 10 })
  for (const each of failed) if (next !== null) await engine.jobs.skip(each.id, 'a duplicate')
  for await (const event of engine.events({ batch: id, after })) if (event.type === 'reset') break
  await engine.batches.resume(id)
  await engine.batches.cancel(id)
  const { state, total, waiting, running, stalled, succeeded, skipped, cancelled, rate, etaSeconds, lastRef } =
    await engine.wait({ batch: id })
  if (state === 'failed' && (rate ?? 0) > (etaSeconds ?? 0)) throw new Error(lastRef ?? '')
  if (total !== waiting + running + stalled + succeeded + skipped + cancelled) throw new Error('the rest has failed')
  return (await engine.batch(id))!
}
