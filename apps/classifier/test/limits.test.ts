/** The limits of seed 000 in the classifier's own job and batch: two minutes, five minutes, three resumes. */
import { type JobContext, seconds } from 'retoma'
import { expect, test } from 'vitest'
import { sqlOn } from '../../../test/support/application.ts'
import { aborted, engineOf } from '../../../test/support/engine.ts'
import { createJobs } from '../jobs.ts'
import { ok, refuses } from './behaviours.ts'
import { classifier, execute } from './executions.ts'

test('a document has two minutes; then it is tried again after 5 s and 10 s, and fails after three tries', async () => {
  const begun: number[] = []
  const jobs = createJobs({ openRouter: { key: 'k', baseUrl: 'http://127.0.0.1:9', model: undefined } })
  const run = async (ctx: JobContext) => {
    begun.push(t.clock.elapsed())
    throw await aborted(ctx.signal)
  }
  // The real definitions, with a handler that never ends.
  const classify = { ...jobs.classify, run }
  const classification = { ...jobs.classification, job: classify } as typeof jobs.classification
  const t = await engineOf({ batches: [classification] })
  // For the job that tells the end of the execution.
  jobs.attach(t.engine)
  const sql = await sqlOn(t)
  const made = await execute(t.engine, { ...jobs, classify, classification } as typeof jobs, sql, { documents: 1 })
  await t.engine.work({ queues: { classifier: 1 } })
  while ((await t.engine.batch(made.batch))?.finishedAt === null) await t.clock.advance(seconds(2.5))
  expect(await t.engine.batch(made.batch)).toMatchObject({ failed: 1 })
  const failures = await sql<{ failure_type: string; second: number }>(
    `select failure_type, extract(epoch from at)::float8 as second from retoma.failure order by attempt`,
  )
  expect(failures.map(each => each.failure_type)).toEqual(['timeout', 'timeout', 'timeout'])
  for (const [n, { second }] of failures.entries()) {
    const took = second - begun[n]! / 1000
    expect(took).toBeGreaterThanOrEqual(120)
    expect(took).toBeLessThan(126)
  }
  const waits = begun.slice(1).map((each, n) => each / 1000 - failures[n]!.second)
  expect(waits[0]).toBeGreaterThanOrEqual(5)
  expect(waits[0]).toBeLessThan(10)
  expect(waits[1]).toBeGreaterThanOrEqual(10)
  expect(waits[1]).toBeLessThan(16)
})

test('an execution without progress for five minutes is TRAVADO at the next check, not before; resumed three times, the fourth time is ERRO', async () => {
  const t = await classifier()
  const { batch } = await t.execute({ documents: 3 })
  const state = async () => (await t.engine.batch(batch))!.state
  await t.tick()
  for (let resumes = 0; resumes <= 3; resumes++) {
    const from = t.clock.elapsed()
    let stalledMs = 0
    while (!['stalled', 'failed'].includes(await state())) {
      stalledMs = t.clock.elapsed() - from
      await t.clock.advance(seconds(5))
      await t.tick()
    }
    // No worker runs: the last check without a stall is five minutes after the last progress, or just before.
    expect(stalledMs).toBeGreaterThanOrEqual(295_000)
    expect(stalledMs).toBeLessThan(310_000)
    expect(await state()).toBe(resumes < 3 ? 'stalled' : 'failed')
    if (resumes < 3) await t.engine.batches.resume(batch)
    await t.tick()
  }
  expect(await t.engine.batch(batch)).toMatchObject({ state: 'failed', failed: 3, resumes: 3 })
})

test('while one model waits, an execution on another model without a worker is TRAVADO after five minutes', async () => {
  const t = await classifier()
  t.server.behave(({ model }) => (model === 'maker/busy' ? refuses(429, { headers: { 'retry-after': '600' } }) : ok()))
  const busy = await t.execute({ documents: 2, model: 'maker/busy' })
  await t.run()
  const free = await t.execute({ documents: 2, model: 'maker/free' })
  for (let passed = 0; passed < 320; passed += 5) {
    await t.clock.advance(seconds(5))
    await t.tick()
  }
  expect(await t.engine.batch(free.batch)).toMatchObject({ state: 'stalled' })
  expect(await t.engine.batch(busy.batch)).toMatchObject({ state: 'running' })
})
