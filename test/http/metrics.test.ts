/** The responses for a scraper and for a load balancer. */

import { spawnSync } from 'node:child_process'
import { expect, onTestFinished, test } from 'vitest'
import { internalsOf, withInternals } from '../../src/engine/internals.ts'
import { createApp } from '../../src/http/index.ts'
import { prometheusText } from '../../src/http/response/prometheus-text.ts'
import { createEngine, defineJob, type MetricFamily, seconds } from '../../src/index.ts'
import { silentLog } from '../../src/lib/logging/log.ts'
import { processMetrics, systemMetrics } from '../../src/metrics/model/metric-table.ts'
import { migratedDatabase } from '../support/database.ts'
import { promtool } from '../support/promtool.ts'
import { doorWith, thisMachine } from './support.ts'

const hello = defineJob({ kind: 'hello', queue: 'greetings', run: () => 'ok' })

test('a scrape tells what waits by queue and state, how long, how attempts ended, who works', async () => {
  const { ask, engine, clock } = await doorWith([hello])
  await engine.work()
  await engine.enqueue(hello, undefined, { delay: seconds(3600) })
  const { id } = await engine.enqueue(hello, undefined)
  await engine.wait({ job: id })
  await clock.advance(seconds(21))
  const { status, headers, body } = await ask('GET', '/metrics')
  expect(status).toBe(200)
  expect(headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
  const lines = String(body).split('\n')
  for (const line of [
    'retoma_jobs{queue="greetings",state="waiting"} 1',
    'retoma_jobs{queue="greetings",state="running"} 0',
    'retoma_kind_jobs{queue="greetings",kind="hello",state="waiting"} 1',
    'retoma_queue_scheduled{queue="greetings"} 1',
    'retoma_queue_oldest_seconds{queue="greetings"} 0',
    'retoma_attempts_total{queue="greetings",kind="hello",outcome="succeeded"} 1',
    'retoma_job_duration_seconds_bucket{queue="greetings",kind="hello",le="+Inf"} 1',
    'retoma_job_duration_seconds_count{queue="greetings",kind="hello"} 1',
    'retoma_problems{verdict="stalled"} 0',
    'retoma_workers 1',
    'retoma_database_up 1',
    'retoma_sse_clients 0',
  ])
    expect(lines).toContain(line)
  expect(
    lines.find(line => /^retoma_worker_heartbeat_age_seconds\{worker="w-\w+",host="[^"]+"\} [0-4]/.test(line)),
  ).toBeDefined()
  expect(lines.find(line => /^retoma_watchdog_lag_seconds [0-4]/.test(line))).toBeDefined()
  expect(lines.find(line => /^retoma_build_info\{version="[^"]+",node="[^"]+"\} 1$/.test(line))).toBeDefined()
})

test('every metric there is has its help and its type in every scrape, with a value or without', async () => {
  const { ask } = await doorWith()
  const { body } = await ask('GET', '/metrics')
  for (const { name, type, help } of [...Object.values(systemMetrics), ...Object.values(processMetrics)])
    expect(body).toContain(`# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`)
  expect(body).toContain('retoma_workers 0\n')
})

test('an app tells metrics of its own with the rest', async () => {
  const { ask, engine } = await doorWith()
  const stuck = { name: 'retoma_quotes_stuck', type: 'gauge', help: 'Quotes that stand still' } as const
  engine.metrics.include(() => [{ ...stuck, samples: [{ value: 2 }] }])
  expect((await ask('GET', '/metrics')).body).toContain('\nretoma_quotes_stuck 2\n')
})

test('whatever a label holds, a line stays a line, and a name is reported once', () => {
  const nasty: MetricFamily = {
    name: 'nasty',
    type: 'gauge',
    help: 'two\nlines and a \\',
    samples: [{ labels: { queue: 'a"b\\c\nd' }, value: Number.POSITIVE_INFINITY }],
  }
  expect(prometheusText([nasty, nasty])).toBe(
    '# HELP nasty two\\nlines and a \\\\\n# TYPE nasty gauge\nnasty{queue="a\\"b\\\\c\\nd"} +Inf\n',
  )
})

test.skipIf(promtool === undefined)('promtool finds nothing wrong with a scrape', async () => {
  const { ask, engine, clock } = await doorWith([hello])
  await engine.work()
  await engine.wait({ job: (await engine.enqueue(hello, undefined)).id })
  await clock.advance(seconds(21))
  const { body } = await ask('GET', '/metrics')
  const { status, stderr, stdout } = spawnSync(promtool!, ['check', 'metrics'], { input: body, encoding: 'utf8' })
  expect(stdout + stderr).toBe('')
  expect(status).toBe(0)
})

test('a process is ready while somebody watches; nobody for a minute, and it is not', async () => {
  const failed: string[] = []
  const log = { ...silentLog, error: (_: object, message: string) => void failed.push(message) }
  const { ask, tick, clock } = await doorWith([], { app: { log } })
  // A fresh one, before the first check: not ready, and no failure.
  expect(await ask('GET', '/ready')).toMatchObject({ status: 503, body: { error: { code: 'watchdog_missing' } } })
  expect(failed).toEqual([])
  await tick()
  expect(await ask('GET', '/ready')).toMatchObject({ status: 200, body: { status: 'ok' } })
  await clock.advance(seconds(61))
  expect(await ask('GET', '/ready')).toMatchObject({
    status: 503,
    body: { error: { code: 'watchdog_late', seconds: 61 } },
  })
  expect(failed).toEqual(['a request failed'])
})

test('a process whose worker cannot ask for jobs is not ready, one that does not work is', async () => {
  const { ask, engine, clock } = await doorWith([hello])
  await engine.work()
  await clock.advance(seconds(60))
  expect((await ask('GET', '/ready')).status).toBe(200)
  const broken = withInternals({ ...engine }, { ...internalsOf(engine), claimLag: async () => 16 })
  const response = await createApp(broken).fetch(new Request('http://127.0.0.1:3000/ready'))
  expect(response.status).toBe(503)
  expect(await response.json()).toMatchObject({ error: { code: 'cannot_claim', seconds: 16 } })
})

test('without its database a process is alive, not ready, and tells what it knows of itself', async () => {
  const database = await migratedDatabase()
  const engine = await createEngine({ databaseUrl: database.url })
  onTestFinished(() => engine.close())
  const app = createApp(engine)
  const get = async (path: string) => app.fetch(new Request(`http://127.0.0.1:3000${path}`), thisMachine)
  await database.drop()
  expect((await get('/health')).status).toBe(200)
  expect((await get('/ready')).status).toBe(503)
  const scrape = await get('/metrics')
  const text = await scrape.text()
  expect(scrape.status).toBe(200)
  expect(text).toContain('\nretoma_database_up 0\n')
  expect(text).toContain('\nprocess_resident_memory_bytes ')
  expect(text).not.toContain('\nretoma_workers 0\n')
})
