/** One batch in trouble, or used wrongly: it says so, and the others go on. */
import { expect, test } from 'vitest'
import { defineBatch, defineJob, doNotRetry } from '../../src/index.ts'
import { auditBatches } from '../support/batches.ts'
import { engineOf, until } from '../support/engine.ts'

/** 0 succeeds, 1 fails, 2 is for later. */
const work = defineJob<number>({
  kind: 'work',
  queue: 'q',
  run: (_, n) => {
    if (n === 1) throw doNotRetry('no')
    return n
  },
})
const ends: unknown[] = []
const report = defineJob<unknown>({ kind: 'report', run: (_, input) => void ends.push(input) })
const batch = defineBatch({ name: 'b', job: work, onComplete: report })
const ones = (length: number) => Array.from({ length }, () => 1)

test('two failed items with one key: one of them is retried, the other is held, and nobody waits for it', async () => {
  const { engine, run, tick, databaseUrl } = await engineOf({ batches: [batch] })
  async function* stream() {
    yield* ones(1001)
    // The first has failed, and its key is free, when the last comes in.
    await until(async () => (await engine.batches()).items[0]!.total === 1000)
    await run()
    yield 1
  }
  const key = (index: number) => ({ key: index === 1001 ? 'k0' : `k${index}`, keyUntil: 'final' as const })
  const { id, held } = await engine.submit(batch, stream(), { each: (_, index) => key(index) })
  await run()
  expect(held).toBe(0)
  expect(await engine.batch(id)).toMatchObject({ state: 'succeeded', failed: 1002 })
  expect(await engine.retryFailed(id)).toMatchObject({ retried: 1001, held: 1, state: 'running' })
  await tick()
  await run()
  expect(await engine.batch(id)).toMatchObject({ state: 'succeeded', failed: 1002, following: false })
  expect(await auditBatches(databaseUrl)).toEqual([])
})
