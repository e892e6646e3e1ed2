/** Two releases side by side: the old release leaves the jobs of the new release alone. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createEngine, defineJob } from 'retoma'

test('a job of version 2 waits for the new release, which also runs the jobs of version 1', async () => {
  const before = defineJob({ kind: 'invoice', run: (_, { total }: { total: number }) => `old: ${total}` })
  const after = defineJob({
    kind: 'invoice',
    version: 2,
    run: (ctx, input: { total: number } | { cents: number }) =>
      ctx.version === 1
        ? `new, from version 1: ${'total' in input && input.total}`
        : `new: ${'cents' in input && input.cents}`,
  })
  await using old = await createEngine({ jobs: [before] })
  await using release = await createEngine({ jobs: [after] })

  const ofNew = await release.enqueue(after, { cents: 1050 })
  const worker = await old.work()
  assert.equal(await (await old.enqueue(before, { total: 10.5 })).result(), 'old: 10.5')
  assert.equal((await release.job(ofNew.id))?.state, 'waiting')
  await worker.stop()

  const ofOld = await old.enqueue(before, { total: 7 })
  await using _worker = await release.work()
  assert.equal(await ofNew.result(), 'new: 1050')
  assert.equal(await ofOld.result(), 'new, from version 1: 7')
})
