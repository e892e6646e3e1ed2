/** Traces as an application with an OpenTelemetry SDK sees them, and what one without pays. */
import { context, propagation, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { InMemorySpanExporter, type ReadableSpan, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { defineBatch, defineJob, seconds } from '../../src/index.ts'
import { jobIn } from '../isolation/jobs.ts'
import { workingOn } from '../isolation/support.ts'
import { engineOf, engineWith } from '../support/engine.ts'

/** An SDK for one test: what has ended is in `spans`. */
function registerSdk() {
  const exporter = new InMemorySpanExporter()
  trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] }))
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  onTestFinished(() => {
    for (const api of [trace, context, propagation]) api.disable()
  })
  return {
    spans: () => exporter.getFinishedSpans(),
    named: (name: string) => exporter.getFinishedSpans().filter(span => span.name === name),
    /** Runs it in a span of the application's; answers that. */
    async inside(work: () => Promise<unknown>) {
      const tracer = trace.getTracer('app')
      return tracer.startActiveSpan('request', async span => {
        await work()
        span.end()
        return span.spanContext()
      })
    },
  }
}

const parentOf = (span: ReadableSpan | undefined) => span?.parentSpanContext?.spanId
const traceOf = (span: ReadableSpan | undefined) => span?.spanContext().traceId

test('each attempt of a job is a span below the one that enqueued it, and each step a span below its attempt', async () => {
  const sdk = registerSdk()
  const job = defineJob({
    kind: 'k',
    queue: 'q',
    backoff: { first: seconds(1) },
    run: async ctx => {
      await ctx.step('paid', () => 1)
      await ctx.step('own', () => trace.getTracer('app').startActiveSpan('inside', span => span.end()))
      if (ctx.attempt === 1) throw new Error('not yet')
    },
  })
  const t = await engineWith(job)
  const request = await sdk.inside(() => t.engine.enqueue(job, undefined))
  await t.run()
  await t.clock.advance(seconds(5))
  await t.run()
  const attempts = sdk.named('job k')
  expect(attempts.map(span => [parentOf(span), traceOf(span), span.kind])).toEqual(
    attempts.map(() => [request.spanId, request.traceId, SpanKind.CONSUMER]),
  )
  const [failed, good] = attempts
  expect(failed).toMatchObject({
    attributes: {
      'retoma.job.kind': 'k',
      'retoma.job.attempt': 1,
      'retoma.job.outcome': 'waiting',
      'messaging.destination.name': 'q',
    },
    status: { code: SpanStatusCode.ERROR, message: 'not yet' },
    events: [{ name: 'exception' }],
  })
  expect(good).toMatchObject({
    attributes: { 'retoma.job.attempt': 2, 'retoma.job.outcome': 'succeeded' },
    status: { code: SpanStatusCode.UNSET },
  })
  // What the first attempt has saved does not run again, so it is no span of the second.
  expect(sdk.named('step paid').map(parentOf)).toEqual([failed!.spanContext().spanId])
  expect(parentOf(sdk.named('inside')[0])).toBe(sdk.named('step own')[0]!.spanContext().spanId)
})

test('a step that fails is shown as such', async () => {
  const sdk = registerSdk()
  const job = defineJob({
    kind: 'k',
    maxAttempts: 1,
    run: ctx => ctx.step('breaks', () => Promise.reject(new Error('broken'))),
  })
  const t = await engineWith(job)
  await t.engine.enqueue(job, undefined)
  await t.run()
  expect(sdk.named('step breaks')).toMatchObject([{ status: { code: SpanStatusCode.ERROR, message: 'broken' } }])
})

test('jobs of a list and of a batch are part of the trace they were enqueued in', async () => {
  const sdk = registerSdk()
  const job = defineJob({ kind: 'k', run: () => 1 })
  const many = defineBatch({ name: 'many', job })
  const t = await engineOf({ jobs: [job], batches: [many] })
  const request = await sdk.inside(async () => {
    await t.engine.enqueueMany(job, [undefined, undefined])
    await t.engine.enqueueMany(job, [undefined], { each: () => ({ key: 'a' }) })
    await t.engine.submit(many, [undefined, undefined])
    await t.engine.submit(many, [undefined], { each: () => ({ key: 'b' }) })
  })
  await t.run()
  expect(sdk.named('job k').map(parentOf)).toEqual(Array.from({ length: 6 }, () => request.spanId))
})

test('a handler in a thread has its span in the worker, with how it ended', async () => {
  const sdk = registerSdk()
  const job = jobIn('thread', { maxAttempts: 1 })
  const { ends, engine } = await workingOn(job)
  const request = await sdk.inside(() => ends(job, { do: 'answer' }))
  await engine.close()
  expect(sdk.named('job in-thread').map(parentOf)).toEqual([request.spanId])
  expect(sdk.named('job in-thread')[0]?.attributes).toMatchObject({ 'retoma.job.outcome': 'succeeded' })
})

test('a job that no trace enqueued begins one, and one with a broken trace too', async () => {
  const sdk = registerSdk()
  const job = defineJob({ kind: 'k', run: () => 1 })
  const t = await engineWith(job)
  await t.engine.enqueue(job, undefined)
  await t.engine.enqueue(job, undefined)
  const client = new pg.Client({ connectionString: t.databaseUrl })
  await client.connect()
  await client.query(`update retoma.job set trace = 'nonsense' where id = (select max(id) from retoma.job)`)
  await client.end()
  await t.run()
  expect(sdk.named('job k').map(parentOf)).toEqual([undefined, undefined])
})

test('a processor of the application that throws costs no job its outcome', async () => {
  const sdk = registerSdk()
  expect(sdk.spans()).toEqual([])
  trace.disable()
  const broken = () => {
    throw new Error('broken')
  }
  const processor = { onStart: broken, onEnd: broken, forceFlush: async () => {}, shutdown: async () => {} }
  trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [processor] }))
  const job = defineJob({ kind: 'k', run: ctx => ctx.step('s', () => 1) })
  const t = await engineWith(job)
  const { id } = await t.engine.enqueue(job, undefined)
  await t.run()
  expect(await t.engine.job(id)).toMatchObject({ state: 'succeeded' })
})

test('without an SDK nothing is kept of a trace', async () => {
  const job = defineJob({ kind: 'k', run: ctx => ctx.step('s', () => 1) })
  const t = await engineWith(job)
  const { id } = await t.engine.enqueue(job, undefined)
  await t.run()
  const client = new pg.Client({ connectionString: t.databaseUrl })
  await client.connect()
  const { rows } = await client.query(`select trace, state from retoma.job where id = $1`, [id])
  await client.end()
  expect(rows).toEqual([{ trace: null, state: 'succeeded' }])
})
