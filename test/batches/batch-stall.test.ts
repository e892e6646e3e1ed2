/** The stall clock of a batch on the virtual clock: what runs it, what does not, and what a stall does. */

import { expect, onTestFinished, test } from 'vitest'
import { presets } from '../../apps/presets.ts'
import { stallBatch } from '../../src/batches/sql/batch-actions.ts'
import { readBatchClocks } from '../../src/batches/sql/batch-stall-clock.ts'
import { openDb } from '../../src/database/db.ts'
import { internalsOf } from '../../src/engine/internals.ts'
import {
  type BatchView,
  createEngine,
  type Duration,
  defineBatch,
  defineJob,
  doNotRetry,
  hours,
  milliseconds,
  minutes,
  type PolicyAction,
  seconds,
} from '../../src/index.ts'
import { silentLog } from '../../src/lib/logging/log.ts'
import type { TestEngine } from '../../src/testing/index.ts'
import { settleJobs } from '../../src/worker/sql/settle.ts'
import { auditBatches } from '../support/batches.ts'
import { aborted, engineOf, gate, timePasses, until } from '../support/engine.ts'

/** Never ends, unless the signal aborts; records the started attempts. */
function hanging(given: { onStall?: PolicyAction } = {}) {
  const begun: string[] = []
  const ended: string[] = []
  const job = defineJob<string>({
    kind: 'hang',
    queue: 'q',
    timeout: hours(2),
    run: async (ctx, name) => {
      begun.push(name)
      await aborted(ctx.signal)
      ended.push(name)
      throw ctx.signal.reason
    },
  })
  const batch = defineBatch({ ...presets.classification, name: 'b', job, onStall: given.onStall ?? 'stall' })
  return { job, batch, begun, ended }
}

type Driven = Pick<TestEngine, 'engine' | 'clock'>
const stateOf = async ({ engine }: Driven, id: string): Promise<BatchView['state']> => (await engine.batch(id))!.state
const now = ({ clock }: Driven) => clock.now().getTime()
const justOver = (duration: Duration) => milliseconds(duration + seconds(15))

/** How long from now it takes to come to that state: not as long as `atLeast`; from then on it is looked at every second. */
async function timeTo(t: Driven, id: string, state: BatchView['state'], atLeast = seconds(0)): Promise<number> {
  const begun = now(t)
  if (atLeast > 0) await t.clock.advance(atLeast)
  expect(await stateOf(t, id)).not.toBe(state)
  while ((await stateOf(t, id)) !== state) {
    if (now(t) - begun > minutes(30)) throw new Error(`it is ${await stateOf(t, id)}`)
    await t.clock.advance(seconds(1))
  }
  return now(t) - begun
}

test('a document that fails three times with its time-outs of two minutes does not stall the batch', async () => {
  const classify = defineJob<string>({
    ...presets.classifier,
    kind: 'classify',
    run: async (ctx, code) => {
      if (code === 'bad') throw await aborted(ctx.signal)
      return code
    },
  })
  const batch = defineBatch({ ...presets.classification, name: 'execution', job: classify })
  const t = await engineOf({ batches: [batch] })
  await t.engine.work({ queues: { default: 1 } })
  const { id } = await t.engine.submit(batch, ['good', 'bad'])
  const took = await timeTo(t, id, 'completed_with_failures', minutes(6))
  expect(took).toBeGreaterThanOrEqual(minutes(6) + seconds(15))
  expect(took).toBeLessThan(minutes(6.5))
  expect(await t.engine.batch(id)).toMatchObject({ succeeded: 1, failed: 1, resumes: 0 })
})

test('five minutes without the end of any attempt stalls it, within one tick and not before, and after three resumes it is failed with all that is left', async () => {
  const { batch, begun, ended } = hanging()
  const t = await engineOf({ batches: [batch] })
  const { engine, clock } = t
  await engine.work({ queues: { q: 2 } })
  const { id } = await engine.submit(batch, ['a', 'b', 'c'])
  for (let resumes = 0; resumes < 3; resumes++) {
    await until(() => begun.length === 2 * (resumes + 1))
    const took = await timeTo(t, id, 'stalled', minutes(4.9))
    // Its clock begins at the first tick after the start, which is at most one later.
    expect(took).toBeGreaterThanOrEqual(minutes(5))
    expect(took).toBeLessThanOrEqual(minutes(5) + seconds(11))
    expect(await engine.batch(id)).toMatchObject({
      stalled: 2,
      running: 0,
      waiting: 1,
      resumes,
      reason: { code: 'no_progress' },
    })
    const { problems } = await engine.metrics.health()
    const stall = problems.filter(({ subject }) => subject === `batch:${id}`)
    expect(stall).toMatchObject([{ event: 'batch.stalled', action: 'batch.resume' }])
    expect(clock.now().getTime() - stall[0]!.since.getTime()).toBeLessThan(seconds(11))
    // The handlers hear of it within a heartbeat.
    await clock.advance(seconds(6))
    expect(ended).toHaveLength(2 * (resumes + 1))
    expect(await stateOf(t, id)).toBe('stalled')
    await Promise.all(Array.from({ length: 10 }, () => engine.batches.resume(id)))
    expect(await engine.batch(id)).toMatchObject({ resumes: resumes + 1 })
  }
  await timeTo(t, id, 'failed', minutes(4.9))
  await clock.advance(seconds(10))
  expect(await engine.batch(id)).toMatchObject({ failed: 3, resumes: 3, reason: { code: 'resumes_spent' } })
  const items = await engine.batches.items(id)
  expect(items.items.map(each => each.error?.message)).toEqual(
    Array.from({ length: 3 }, () => 'batch ended after 3 resumes; item not processed'),
  )
  expect(await auditBatches(t.databaseUrl)).toEqual([])
})

test('two watchdogs that judge at once, and ten callers of resume: one stall, one resume', async () => {
  const { batch, begun } = hanging()
  const t = await engineOf({ batches: [batch] })
  const { engine, clock } = t
  const rival = await createEngine({
    databaseUrl: t.databaseUrl,
    batches: [batch],
    clock,
    connections: 4,
  })
  onTestFinished(() => rival.close())
  await engine.work({ queues: { q: 1 } })
  const { id } = await engine.submit(batch, ['a'])
  await until(() => begun.length === 1)
  for (let round = 1; round <= 3; round++) {
    await clock.advance(minutes(4))
    expect(await stateOf(t, id)).toBe('running')
    while ((await stateOf(t, id)) === 'running') {
      await Promise.all([t.tick(), internalsOf(rival).tick(), t.tick(), internalsOf(rival).tick()])
      await clock.advance(seconds(1))
    }
    await Promise.all([
      t.tick(),
      internalsOf(rival).tick(),
      ...Array.from({ length: 10 }, (_, i) => (i % 2 ? engine : rival).batches.resume(id)),
      t.tick(),
      internalsOf(rival).tick(),
    ])
    await Promise.all([t.tick(), internalsOf(rival).tick()])
    await timePasses(clock, () => begun.length === round + 1)
    expect(await engine.batch(id)).toMatchObject({ state: 'running', resumes: round })
  }
  expect(await auditBatches(t.databaseUrl)).toEqual([])
})

test('a watchdog whose facts are old stalls nothing: another was first and a person resumed it, or an attempt has ended', async () => {
  const { batch, begun } = hanging()
  const t = await engineOf({ batches: [batch] })
  const db = openDb({ url: t.databaseUrl, log: silentLog, connections: 2 })
  onTestFinished(() => db.close())
  await t.engine.work({ queues: { q: 2 } })
  const { id } = await t.engine.submit(batch, ['a', 'b'])
  await until(() => begun.length === 2)
  await t.clock.advance(seconds(20))
  const seen = async () => {
    const [clock] = await readBatchClocks(db, [id], t.clock.instant())
    return { fromUs: clock!.fromUs!, progressUs: clock!.progressUs }
  }
  const stall = (judged: Awaited<ReturnType<typeof seen>>) =>
    stallBatch(db, id, { code: 'no_progress' }, t.clock.instant(), judged)
  const first = await seen()
  expect(await stall(first)).toBe('stalled')
  await t.engine.batches.resume(id)
  expect(await stall(first)).toBeUndefined()
  await timePasses(t.clock, () => begun.length === 4)
  await t.clock.advance(seconds(10))
  expect(await stall(first)).toBeUndefined()
  const second = await seen()
  const rows = await db.run<{ id: string; attempt: number; worker_id: string }>(
    { name: '', text: `select id, attempt, worker_id from retoma.job where batch_id = $1 limit 1` },
    [id],
  )
  const { id: item, attempt, worker_id: worker } = rows[0]!
  await settleJobs(db, worker, [{ id: item, attempt, outcome: { state: 'succeeded', result: '1' } }], t.clock.instant())
  expect(await stall(second)).toBeUndefined()
  expect(await stall(await seen())).toBe('stalled')
})

test('while every unfinished item waits for its run_at it does not stall, however long that is', async () => {
  let tries = 0
  const job = defineJob<string>({
    kind: 'later',
    maxAttempts: 2,
    backoff: { first: minutes(6), factor: 1, jitter: 0 },
    run: () => {
      tries++
      throw new Error('429')
    },
  })
  const batch = defineBatch({ ...presets.classification, name: 'b', job })
  const t = await engineOf({ batches: [batch] })
  await t.engine.work()
  const { id } = await t.engine.submit(batch, ['a', 'b'])
  expect(await timeTo(t, id, 'completed_with_failures', minutes(5.9))).toBeGreaterThanOrEqual(minutes(6))
  expect(tries).toBe(4)
  expect(await t.engine.batch(id)).toMatchObject({ failed: 2 })
})

test('while it is paused it does not stall; resumed its clock begins anew', async () => {
  const { batch, begun } = hanging()
  const t = await engineOf({ batches: [batch] })
  await t.engine.work()
  const { id } = await t.engine.submit(batch, ['a'])
  await until(() => begun.length === 1)
  await t.clock.advance(minutes(4))
  await t.engine.batches.pause(id)
  await t.clock.advance(minutes(6))
  expect(await t.engine.batch(id)).toMatchObject({ state: 'paused', running: 1 })
  await t.engine.batches.resume(id)
  expect(await timeTo(t, id, 'stalled', minutes(4.9))).toBeGreaterThanOrEqual(minutes(5))
})

test('a system that was switched off does not stall it: after a start its clock begins anew', async () => {
  const { batch, begun } = hanging()
  const t = await engineOf({ batches: [batch] })
  const worker = await t.engine.work()
  const { id } = await t.engine.submit(batch, ['a'])
  await until(() => begun.length === 1)
  await t.clock.advance(minutes(4))
  await worker.stop()
  await t.engine.close()
  await t.clock.advance(hours(10))
  const again = await createEngine({
    databaseUrl: t.databaseUrl,
    batches: [batch],
    clock: t.clock,
    connections: 4,
  })
  onTestFinished(() => again.close())
  await again.work()
  await until(() => begun.length === 2)
  await t.clock.advance(minutes(4))
  expect(await again.batch(id)).toMatchObject({ state: 'running' })
  expect(await timeTo({ ...t, engine: again }, id, 'stalled', minutes(0.9))).toBeGreaterThanOrEqual(minutes(1))
})

test('without any live worker it stalls, and says that', async () => {
  const { batch, begun } = hanging()
  const t = await engineOf({ batches: [batch] })
  t.engine.watch()
  const { id } = await t.engine.submit(batch, ['a', 'b'])
  const took = await timeTo(t, id, 'stalled', minutes(4.9))
  expect(took).toBeGreaterThanOrEqual(minutes(5))
  expect(took).toBeLessThanOrEqual(minutes(5) + seconds(11))
  expect(await t.engine.batch(id)).toMatchObject({ reason: { code: 'no_worker' }, waiting: 2 })
  expect(begun).toEqual([])
})

test('behind other work that takes all slots it does not stall, nor in a queue that is paused', async () => {
  const { batch, job, begun } = hanging()
  const t = await engineOf({ jobs: [job], batches: [batch] })
  await t.engine.work({ queues: { q: 1 } })
  await t.engine.enqueue(job, 'first')
  await until(() => begun.length === 1)
  const { id } = await t.engine.submit(batch, ['a'])
  await t.engine.queues.pause('q')
  await t.clock.advance(minutes(6))
  await t.engine.queues.resume('q')
  await t.clock.advance(minutes(6))
  expect(await stateOf(t, id)).toBe('waiting')
})

test('behind other work that takes all places of its group it does not stall either', async () => {
  const { batch, job, begun } = hanging()
  const t = await engineOf({ jobs: [job], batches: [batch], limits: { q: { perGroup: { concurrency: 1 } } } })
  await t.engine.work({ queues: { q: 5 } })
  await t.engine.enqueue(job, 'first', { groupKey: 'ana' })
  await until(() => begun.length === 1)
  const { id } = await t.engine.submit(batch, ['a', 'b'], { groupKey: 'ana' })
  await t.clock.advance(minutes(6))
  expect(await stateOf(t, id)).toBe('waiting')
  const other = await t.engine.submit(batch, ['c'], { groupKey: 'rui' })
  expect(await timeTo(t, other.id, 'stalled', minutes(4.9))).toBeGreaterThanOrEqual(minutes(5))
})

test('in a queue that is paused it does not stall either while no worker is there', async () => {
  const { batch } = hanging()
  const t = await engineOf({ batches: [batch] })
  t.engine.watch()
  const { id } = await t.engine.submit(batch, ['a'])
  await t.engine.queues.pause('q')
  await t.clock.advance(minutes(6))
  expect(await stateOf(t, id)).toBe('waiting')
  await t.engine.queues.resume('q')
  expect(await timeTo(t, id, 'stalled', minutes(4.9))).toBeGreaterThanOrEqual(minutes(5))
})

test("with onStall 'retry' what runs of it runs again, at no charge, as often as it takes", async () => {
  const { batch, begun } = hanging({ onStall: 'retry' })
  const t = await engineOf({ batches: [batch] })
  await t.engine.work()
  const { id } = await t.engine.submit(batch, ['a'])
  await until(() => begun.length === 1)
  await t.clock.advance(justOver(minutes(5)))
  await until(() => begun.length === 2)
  await t.clock.advance(justOver(minutes(5)))
  await until(() => begun.length === 3)
  const [item] = (await t.engine.batches.items(id)).items
  const detail = await t.engine.job(item!.id)
  expect(detail).toMatchObject({ state: 'running', failures: 0, crashes: 0 })
  expect(detail!.history.map(each => each.type)).toEqual(['stalled', 'stalled'])
  expect(await t.engine.batch(id)).toMatchObject({ state: 'running', resumes: 0 })
  expect(await auditBatches(t.databaseUrl)).toEqual([])
})

test("with onStall 'fail' it is failed, and what had not ended says why", async () => {
  const { batch, begun } = hanging({ onStall: 'fail' })
  const t = await engineOf({ batches: [batch] })
  await t.engine.work({ queues: { q: 1 } })
  const { id } = await t.engine.submit(batch, ['a', 'b'])
  await until(() => begun.length === 1)
  await timeTo(t, id, 'failed', minutes(4.9))
  await t.clock.advance(seconds(10))
  expect(await t.engine.batch(id)).toMatchObject({ failed: 2, reason: { code: 'no_progress' } })
  const { items } = await t.engine.batches.items(id)
  expect(items.map(each => each.error?.code)).toEqual(['batch_stalled', 'batch_stalled'])
})

test('one that was over long ago and has an item run again begins a new clock', async () => {
  let bad = true
  const go = gate()
  const job = defineJob<string>({
    kind: 'again',
    timeout: hours(2),
    run: async ctx => {
      await go.passed
      if (bad) throw doNotRetry('no')
      await aborted(ctx.signal)
    },
  })
  const batch = defineBatch({ ...presets.classification, name: 'b', job })
  const t = await engineOf({ batches: [batch] })
  await t.engine.work()
  const { id } = await t.engine.submit(batch, ['a'])
  await t.clock.advance(seconds(12))
  go.open()
  await until(async () => (await stateOf(t, id)) === 'completed_with_failures')
  await t.clock.advance(minutes(6))
  bad = false
  await t.engine.batches.retryFailed(id)
  expect(await timeTo(t, id, 'stalled', minutes(4.9))).toBeGreaterThanOrEqual(minutes(5))
})
