/** The time that counts for an attempt, during outages and in transactions; and handlers that never end. */
import { expect, onTestFinished, test } from 'vitest'
import { defineJob, minutes, seconds } from '../../src/index.ts'
import { crashReportFolderVariable } from '../../src/supervisor/suspected-job-file.ts'
import { engineWith, gate, until } from '../support/engine.ts'
import { databaseError } from '../support/faulty-db.ts'
import { faultyWorker } from '../support/faulty-worker.ts'

test('a step that waits out an outage longer than its timeout costs nothing, and its time goes on afterwards', async () => {
  const entered = gate()
  const { db, clock, begin, enqueue, row, settles } = await faultyWorker({
    run: async ctx => {
      await ctx.step('s', () => 1)
      entered.open()
      if (ctx.attempt === 1) await new Promise(() => {})
    },
  })
  db.fail('checkpoint_save', 'before', databaseError('57P03'), { times: 60 })
  const id = await enqueue()
  const asked = db.askedFor('checkpoint_save')
  await begin()
  await asked
  await clock.advance(minutes(3))
  expect(await row(id)).toMatchObject({ state: 'running', attempt: 1, failures: 0 })
  await until(async () => {
    await clock.advance(seconds(1))
    return db.asked.filter(name => name === 'checkpoint_save').length > 60
  })
  await entered.passed
  expect(await row(id)).toMatchObject({ state: 'running', failures: 0 })
  // The minute of the attempt counts from here, minus the time already used.
  await clock.advance(seconds(50))
  expect(await row(id)).toMatchObject({ state: 'running', failures: 0 })
  await settles(id)
  expect(await row(id)).toMatchObject({ state: 'succeeded', failures: 1 })
})

test.each(['lend', 'tx.begin', 'tx.commit'])(
  'a transaction that waits for the database (%s) is not out of time',
  async what => {
    const { db, clock, begin, enqueue, row } = await faultyWorker({
      run: ctx => ctx.transaction('t', async tx => void (await tx.query('select 1')), { timeout: seconds(20) }),
    })
    db.fail(what, 'before', databaseError('57P03'), { times: what === 'tx.commit' ? 1 : 40 })
    // The commit's fate is asked for as long.
    if (what === 'tx.commit') db.fail('fenced_read', 'before', databaseError('57P03'), { times: 40 })
    const id = await enqueue()
    const asked = db.askedFor(what)
    await begin()
    await asked
    await clock.advance(minutes(2))
    expect(await row(id)).toMatchObject({ state: 'running', failures: 0 })
    await until(async () => {
      await clock.advance(seconds(1))
      return (await row(id)).state === 'succeeded'
    })
    expect(await row(id)).toMatchObject({ attempt: 1, failures: 0 })
  },
)

test('a transaction whose function hears nothing uses up the time of its attempt, try after try', async () => {
  const { clock, begin, enqueue, row } = await faultyWorker({
    run: ctx =>
      ctx.transaction('t', () => new Promise(() => {}), {
        timeout: seconds(20),
        maxAttempts: 100,
        backoff: { first: seconds(1), factor: 1, jitter: 0 },
      }),
  })
  const id = await enqueue()
  await begin()
  let passed = 0
  await until(async () => {
    await clock.advance(seconds(1))
    return ++passed >= 90 || (await row(id)).failures > 0
  })
  expect(await row(id)).toMatchObject({ attempt: 1, failures: 1 })
})

/** Handlers that hear nothing until they are let go. */
async function deafWorker(size: number) {
  const release = gate()
  let starts = 0
  const deaf = defineJob({
    kind: 'deaf',
    maxAttempts: 1,
    timeout: minutes(1),
    run: async () => {
      if (++starts <= size) await release.passed
    },
  })
  const made = await engineWith(deaf)
  const worker = await made.engine.work({ queues: { default: size } })
  for (let n = 0; n < size; n++) await made.engine.enqueue(deaf, undefined)
  await until(() => starts === size)
  const abandoned = async () => (await made.engine.workers.list()).map(each => each.abandoned)
  return { ...made, worker, deaf, release, abandoned }
}

test('handlers that never end do not use up a worker: they are counted, and counted no more when they end after all', async () => {
  const { engine, clock, deaf, release, abandoned } = await deafWorker(4)
  await clock.advance(minutes(1))
  await clock.advance(seconds(5))
  expect(await abandoned()).toEqual([0])
  await clock.advance(seconds(10))
  expect(await abandoned()).toEqual([4])
  const { id } = await engine.enqueue(deaf, undefined)
  expect(await engine.wait({ job: id })).toMatchObject({ state: 'succeeded' })
  release.open()
  await clock.advance(seconds(10))
  expect(await abandoned()).toEqual([0])
})

test('a supervised worker with half of its slots abandoned stops by itself, for another to take its place', async () => {
  process.env[crashReportFolderVariable] = '/nowhere'
  onTestFinished(() => void delete process.env[crashReportFolderVariable])
  const { engine, clock, worker } = await deafWorker(3)
  await clock.advance(minutes(1))
  await clock.advance(seconds(9))
  expect(await engine.workers.list()).toHaveLength(1)
  await clock.advance(seconds(1))
  await worker.restartNeeded
  expect(await engine.workers.list()).toEqual([])
})
