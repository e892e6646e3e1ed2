import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineJob, minutes } from '../../src/index.ts'
import { engineWith } from '../support/engine.ts'

const double = defineJob({ kind: 'double', input: z.object({ n: z.number() }), run: (_, { n }) => n * 2 })

test('a list is enqueued in its order, however many chunks it takes, and every job runs once', async () => {
  const { engine, run } = await engineWith(double)
  const inputs = Array.from({ length: 2500 }, (_, n) => ({ n }))
  const { created, duplicates, ids } = await engine.enqueueMany(double, inputs)
  expect({ created, duplicates, ids: ids.length }).toEqual({ created: 2500, duplicates: 0, ids: 2500 })
  expect(new Set(ids).size).toBe(2500)
  expect(await run()).toBe(2500)
  for (const n of [0, 999, 1000, 2499]) {
    expect(await engine.job(ids[n]!)).toMatchObject({ input: { n }, result: n * 2, state: 'succeeded' })
  }
})

test('a stream is read as it is written, never whole', async () => {
  const { engine } = await engineWith(double)
  let read = 0
  async function* endless() {
    for (let n = 0; n < 5000; n++) {
      read++
      // Two chunks may be in memory: the one on its way and the one being filled.
      if (n === 4500) expect(await waiting()).toBeGreaterThanOrEqual(2000)
      yield { n }
    }
  }
  const waiting = async () => (await engine.queues.list())[0]!.ready
  expect((await engine.enqueueMany(double, endless())).created).toBe(5000)
  expect(read).toBe(5000)
})

test('what differs from item to item is said by each: keys make a second time harmless', async () => {
  const { engine } = await engineWith(double)
  const inputs = [{ n: 1 }, { n: 2 }, { n: 3 }]
  const options = { priority: 1, each: (input: { n: number }) => ({ key: `n${input.n}`, ref: `doc ${input.n}` }) }
  const first = await engine.enqueueMany(double, inputs, options)
  const second = await engine.enqueueMany(double, [...inputs, { n: 4 }], options)
  expect(second).toMatchObject({ created: 1, duplicates: 3 })
  expect(second.ids.slice(0, 3)).toEqual(first.ids)
  expect(await engine.job(first.ids[1]!)).toMatchObject({ key: 'n2', ref: 'doc 2', priority: 1 })
})

test('a key for all is refused, and how long keys are held may be said for all', async () => {
  const { engine } = await engineWith(double)
  const wrong = { key: 'x' } as object
  await expect(engine.enqueueMany(double, [{ n: 1 }], wrong)).rejects.toMatchObject({
    code: 'bad_option',
    facts: { option: 'key' },
  })
  await expect(engine.enqueueMany(double, [{ n: 1 }], { keyUntil: 'final' })).rejects.toMatchObject({
    code: 'bad_option',
  })
  const { ids } = await engine.enqueueMany(double, [{ n: 1 }], { keyUntil: 'final', each: () => ({ key: 'x' }) })
  await engine.jobs.cancel(ids[0]!)
  expect(await engine.enqueueMany(double, [{ n: 1 }], { each: () => ({ key: 'x' }) })).toMatchObject({ created: 1 })
})

test('what all share holds for all', async () => {
  const { engine, run, clock } = await engineWith(double)
  const { ids } = await engine.enqueueMany(double, [{ n: 1 }, { n: 2 }], {
    delay: minutes(5),
    groupKey: 'ana',
    priority: 0,
  })
  expect(await engine.job(ids[1]!)).toMatchObject({ groupKey: 'ana', priority: 0 })
  expect(await run()).toBe(0)
  await clock.advance(minutes(5))
  expect(await run()).toBe(2)
})

test('a bad item stops the list and is named; the chunks before it stay', async () => {
  const { engine } = await engineWith(double)
  const inputs = Array.from({ length: 1500 }, (_, n) => ({ n: n === 1200 ? ('x' as unknown as number) : n }))
  await expect(engine.enqueueMany(double, inputs)).rejects.toThrow(/bad_input: .*item 1200: n: /)
  expect((await engine.queues.list())[0]).toMatchObject({ ready: 1000 })
})
