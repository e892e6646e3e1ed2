import { expect, inject, onTestFinished, test } from 'vitest'
import { createEngine, days, defineJob, hours, type Retention, skip } from '../../src/index.ts'
import { testEngine } from '../../src/testing/index.ts'
import { englishIn } from '../support/portuguese.ts'

const good = defineJob({ kind: 'good', run: () => 'done' })
const bad = defineJob({ kind: 'bad', attempts: 1, run: () => Promise.reject(new Error('no')) })
const none = defineJob({ kind: 'none', run: () => skip('nothing to do') })

async function ended(retention?: Retention) {
  const t = await testEngine({
    jobs: [good, bad, none],
    serverUrl: inject('serverUrl'),
    ...(retention ? { retention } : {}),
  })
  onTestFinished(() => t.close())
  const ids = { good: '', bad: '', none: '', waiting: '' }
  for (const job of [good, bad, none] as const) ids[job.kind as 'good'] = (await t.engine.enqueue(job, undefined)).id
  ids.waiting = (await t.engine.enqueue(good, undefined, { delay: days(400) })).id
  await t.run()
  const left = async () => (await t.engine.jobs()).items.map(job => job.id).sort()
  return { ...t, ids, left }
}

test('finished jobs are kept for 90 days and then go with their failures; what is not finished stays', async () => {
  const { clock, clean, left, ids } = await ended()
  await clock.advance(days(90))
  await clean()
  expect(await left()).toHaveLength(4)
  await clock.advance(hours(1))
  await clean()
  expect(await left()).toEqual([ids.waiting])
})

test('each way to end may be kept for another time', async () => {
  const { clock, clean, left, ids } = await ended({ succeeded: days(1), failed: days(30) })
  await clock.advance(days(2))
  await clean()
  expect(await left()).toEqual([ids.bad, ids.none, ids.waiting].sort())
  await clock.advance(days(30))
  await clean()
  expect(await left()).toEqual([ids.none, ids.waiting].sort())
})

test('more than one bite goes in one round, and two janitors at once do not disturb each other', async () => {
  const { engine, clock, clean, run, left, ids } = await ended()
  await engine.enqueueMany(
    good,
    Array.from({ length: 2500 }, () => undefined),
  )
  await run()
  await clock.advance(days(91))
  await Promise.all([clean(), clean()])
  expect(await left()).toEqual([ids.waiting])
})

test.each([[{ finished: days(1) }], [{ succeeded: -1 }], [0]])(
  'a retention that makes no sense is refused: %o',
  async retention => {
    const making = createEngine({ databaseUrl: inject('serverUrl'), retention: retention as never })
    const error = await making.catch((refusal: unknown) => refusal)
    expect(error).toMatchObject({ code: 'bad_option', facts: { option: 'retention' } })
    expect(englishIn(error)).toEqual([])
  },
)
