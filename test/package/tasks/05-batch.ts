/** A batch of 5,000 documents with failures: causes, retry by cause, pause and resume. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createEngine, defineBatch, defineJob } from 'retoma'

test('5,000 items end, the failures are grouped by cause, and only the failed items run again', async () => {
  const isBroken = { scanner: true, reader: true }
  let runs = 0
  const scan = defineJob({
    kind: 'scan',
    maxAttempts: 1,
    run: (_, { page }: { page: number }) => {
      runs++
      if (page % 100 === 0 && isBroken.scanner) throw new Error('the scanner is jammed')
      if (page % 250 === 1 && isBroken.reader) throw new Error('the text cannot be read')
      return page
    },
  })
  const scans = defineBatch({ name: 'scans', job: scan })
  await using engine = await createEngine({ jobs: [scan], batches: [scans] })

  const pages = Array.from({ length: 5000 }, (_, index) => ({ page: index + 1 }))
  const { id } = await engine.submit(scans, pages, { key: 'may', ref: ({ page }) => `page ${page}` })
  await engine.batches.pause(id)
  await using worker = await engine.work({ queues: { default: 100 } })
  const paused = await engine.batch(id)
  assert.deepEqual([paused?.state, paused?.total, paused?.waiting], ['paused', 5000, 5000])
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
