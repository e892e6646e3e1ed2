/** A batch of 5,000 documents with failures: causes, retry by cause, pause and resume. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createEngine, defineBatch, defineJob } from 'retoma'

test('5,000 items end, the failures are grouped by cause, and only the failed items run again', async () => {
  const isBroken = { scanner: true, reader: true }
  let runs = 0
  let reached = () => {}
  const middle = new Promise<void>(resolve => {
    reached = resolve
  })
  let goOn = () => {}
  const gate = new Promise<void>(resolve => {
    goOn = resolve
  })
  const scan = defineJob({
    kind: 'scan',
    maxAttempts: 1,
    run: async (_, { page }: { page: number }) => {
      if (++runs > 1000) {
        reached()
        await gate
      }
      if (page % 100 === 0 && isBroken.scanner) throw new Error('the scanner is jammed')
      if (page % 250 === 1 && isBroken.reader) throw new Error('the text cannot be read')
      return page
    },
  })
  const scans = defineBatch({ name: 'scans', job: scan })
  const other = defineJob({ kind: 'other', run: () => 'done' })
  await using engine = await createEngine({ jobs: [scan, other], batches: [scans] })

  const pages = Array.from({ length: 5000 }, (_, index) => ({ page: index + 1 }))
  const { id } = await engine.submit(scans, pages, { key: 'may', ref: ({ page }) => `page ${page}` })
  await using worker = await engine.work({ queues: { default: 100 } })
  await middle
  await engine.batches.pause(id)
  goOn()
  // The running items end, and the worker has slots for other jobs alone.
  while ((await engine.batch(id))?.running !== 0) await new Promise(resolve => setTimeout(resolve, 20))
  const startsBefore = runs
  assert.equal(await (await engine.enqueue(other)).result(), 'done')
  assert.equal(runs, startsBefore)
  const paused = await engine.batch(id)
  assert.deepEqual([paused?.state, paused?.total, paused?.waiting], ['paused', 5000, 5000 - runs])
  assert.ok(runs > 1000 && runs < 2000, `${runs} items ran before the pause`)
  assert.match((await engine.explain({ batch: id })).sentence, /paused/)

  await engine.batches.resume(id)
  const ended = await engine.wait({ batch: id })
  assert.deepEqual([ended.state, ended.succeeded, ended.failed], ['completed_with_failures', 4930, 70])
  const causes = await engine.batches.failures(id)
  assert.deepEqual(
    causes.map(({ count, message }) => [count, message]),
    [
      [50, 'the scanner is jammed'],
      [20, 'the text cannot be read'],
    ],
  )
  assert.match(causes[0]?.refs[0] ?? '', /^page \d+$/)

  isBroken.scanner = false
  const before = runs
  await engine.batches.retryFailed(id, { cause: causes[0]!.cause })
  assert.equal((await engine.wait({ batch: id })).failed, 20)
  assert.equal(runs - before, 50)
  isBroken.reader = false
  await engine.batches.retryFailed(id)
  assert.deepEqual((await engine.wait({ batch: id })).state, 'succeeded')
  assert.equal(runs - before, 70)
  await worker.stop()
})
