/** Two releases of an app beside each other: one policy holds for all, the newest, and each runs what it can. */
import { describe, expect, onTestFinished, test } from 'vitest'
import { openDb } from '../../src/database/db.ts'
import { type AnyJob, createEngine, defineBatch, defineJob, type JobContext, milliseconds } from '../../src/index.ts'
import { silentLog } from '../../src/lib/logging/log.ts'
import { type TestEngine, testEngine } from '../../src/testing/index.ts'
import { aborted, borrowDatabase, engineOf, engineWith, until } from '../support/engine.ts'

async function releases() {
  const { url, giveBack } = await borrowDatabase()
  const start = async (...jobs: AnyJob[]) => {
    await using _engine = await createEngine({ databaseUrl: url, jobs })
  }
  const db = openDb({ url, log: silentLog, connections: 1 })
  onTestFinished(async () => {
    await db.close()
    await giveBack()
  })
  const stored = async () => {
    const text = `select version, queue, (policy ->> 'maxAttempts')::int as attempts, xmin::text as written from retoma.kind`
    const [row] = await db.run<Record<string, unknown>>({ name: '', text }, [])
    return row!
  }
  return { start, stored }
}

const old = defineJob({ kind: 'bill', queue: 'old', maxAttempts: 3, run: () => 1 })
const next = defineJob({ kind: 'bill', queue: 'new', version: 2, maxAttempts: 5, run: () => 1 })

test('the newest version holds, whoever starts last, and its row is written once', async () => {
  const { start, stored } = await releases()
  await start(old)
  expect(await stored()).toMatchObject({ version: 1, queue: 'old', attempts: 3 })
  await start(next)
  const newest = await stored()
  expect(newest).toMatchObject({ version: 2, queue: 'new', attempts: 5 })
  for (const job of [old, next, old, next]) await start(job)
  expect(await stored()).toEqual(newest)
})

test('of one version, the definition that started last holds', async () => {
  const { start, stored } = await releases()
  await start(old)
  await start(defineJob({ kind: 'bill', queue: 'old', maxAttempts: 7, run: () => 1 }))
  expect(await stored()).toMatchObject({ version: 1, attempts: 7 })
})

describe('during a deploy', () => {
  const release = (version: number, more: { oldestVersion?: number; queue?: string } = {}) =>
    defineJob({ kind: 'bill', version, ...more, run: (ctx: JobContext) => `made by ${ctx.version}, run by ${version}` })

  /** Engines of several releases on one database, each worked by hand. */
  async function deploy(...jobs: AnyJob[]) {
    const { url, giveBack } = await borrowDatabase()
    const engines = await Promise.all(jobs.map(job => testEngine({ jobs: [job], databaseUrl: url })))
    onTestFinished(async () => {
      for (const each of engines) await each.close()
      await giveBack()
    })
    return engines
  }

  test('an old release leaves the jobs of a new one alone; the new one runs those of both, and is reported whose they are', async () => {
    const [v1, v2] = [release(1), release(2)]
    const [old, next] = await deploy(v1, v2)
    const first = await old!.engine.enqueue(v1, undefined)
    const second = await next!.engine.enqueue(v2, undefined)
    const many = await next!.engine.enqueueMany(v2, [undefined])
    expect(await next!.engine.job(second.id)).toMatchObject({ version: 2 })
    expect(await old!.run()).toBe(1)
    expect(await old!.engine.job(first.id)).toMatchObject({ result: 'made by 1, run by 1', version: 1 })
    const third = await old!.engine.enqueue(v1, undefined)
    expect(await next!.run()).toBe(3)
    for (const id of [second.id, ...many.ids])
      expect(await next!.engine.job(id)).toMatchObject({ result: 'made by 2, run by 2' })
    expect(await next!.engine.job(third.id)).toMatchObject({ result: 'made by 1, run by 2' })
  })

  test.each([
    ['a plain queue', {}],
    ['a limited queue', { limits: { default: { concurrency: 5 } } }],
  ])(
    'an old release of version 2 leaves the jobs of version 3 alone, and a version below its oldest too, in %s',
    async (_, limited) => {
      const { url, giveBack } = await borrowDatabase()
      const versions = [1, 2, 3].map(version => release(version, version === 2 ? { oldestVersion: 2 } : {}))
      const engines: TestEngine[] = []
      for (const job of versions) engines.push(await testEngine({ jobs: [job], databaseUrl: url, ...limited }))
      onTestFinished(async () => {
        for (const each of engines) await each.close()
        await giveBack()
      })
      const ids = []
      for (const [n, each] of engines.entries()) ids.push((await each.engine.enqueue(versions[n]!, undefined)).id)
      expect(await engines[1]!.run()).toBe(1)
      const states = await Promise.all(ids.map(async id => (await engines[0]!.engine.job(id))?.state))
      expect(states).toEqual(['waiting', 'succeeded', 'waiting'])
      expect(await engines[0]!.run()).toBe(1)
      expect(await engines[2]!.run()).toBe(1)
    },
  )

  test('a job that was begun by an old release goes on in the new one with what it saved', async () => {
    const ran: string[] = []
    const bill = (version: number) =>
      defineJob({
        kind: 'bill',
        version,
        backoff: { first: milliseconds(0), jitter: 0 },
        run: async ctx => {
          await ctx.step('paid', () => void ran.push(`paid in ${version}`))
          if (version === 1 && ctx.attempt === 1) throw new Error('the old release ends here')
          if (version === 1) throw await aborted(ctx.signal)
          if (ctx.version < 2) return 'finished the old way'
          return ctx.step('mailed', () => 'the new way')
        },
      })
    const [v1, v2] = [bill(1), bill(2)]
    const [old, next] = await deploy(v1, v2)
    const { id } = await old!.engine.enqueue(v1, undefined)
    const worker = await old!.engine.work()
    await until(async () => ((await old!.engine.job(id))?.failures ?? 0) > 0)
    await worker.stop()
    await next!.run()
    expect(await next!.engine.job(id)).toMatchObject({ state: 'succeeded', result: 'finished the old way' })
    expect(ran).toEqual(['paid in 1'])
  })

  test('what no release runs any more waits, and runs when one comes that does', async () => {
    const [v1, v3] = [release(1), release(3, { oldestVersion: 2 })]
    const [old, next] = await deploy(v1, v3)
    const { id } = await old!.engine.enqueue(v1, undefined)
    expect(await next!.run()).toBe(0)
    expect(await next!.engine.job(id)).toMatchObject({ state: 'waiting', failures: 0 })
    expect(await old!.run()).toBe(1)
  })

  test('explain says that no live worker takes this version, also where a live one knows the kind', async () => {
    const [v1, v3] = [release(1), release(3, { oldestVersion: 3 })]
    const batch = defineBatch({ name: 'bills', job: v1 })
    const [old, next] = await deploy(v1, v3)
    const { id } = await old!.engine.enqueue(v1, undefined)
    const { id: ofBatch } = await old!.engine.submit(batch, [undefined])
    await using worker = await next!.engine.work()
    expect(worker.id).not.toBe('')
    const nobody = 'no live worker of queue "default" runs version 1 of "bill" (they run 3)'
    expect(await next!.engine.explain({ job: id })).toMatchObject({
      verdict: 'starved',
      sentence: expect.stringContaining(nobody),
      advice: { action: 'deploy' },
    })
    expect(await next!.engine.explain({ batch: ofBatch })).toMatchObject({ sentence: expect.stringContaining(nobody) })
    expect(await next!.engine.explain({ queue: 'default' })).toMatchObject({
      verdict: 'starved',
      sentence: expect.stringContaining('ready jobs that none of its live workers takes: 2 of bill'),
    })
    const { id: newer } = await next!.engine.enqueue(v3, undefined)
    expect((await next!.engine.explain({ job: newer })).verdict).not.toBe('starved')
  })

  test('a limited queue holds to it as well', async () => {
    const [v1, v2] = [release(1), release(2)]
    const [old, next] = await deploy(v1, v2)
    await testEngine({ jobs: [], limits: { default: { concurrency: 5 } }, databaseUrl: next!.databaseUrl }).then(each =>
      each.close(),
    )
    const { id } = await next!.engine.enqueue(v2, undefined)
    expect(await old!.run()).toBe(0)
    expect(await next!.run()).toBe(1)
    expect(await next!.engine.job(id)).toMatchObject({ state: 'succeeded' })
  })

  test('items of a batch and what follows them are of the version that submitted them', async () => {
    const item = defineJob({ kind: 'item', version: 2, run: () => 1 })
    const after = defineJob({ kind: 'after', version: 3, run: () => 1 })
    const batch = defineBatch({ name: 'b', job: item, onComplete: after })
    const { engine, run } = await engineOf({ jobs: [item, after], batches: [batch] })
    const alike = await engine.submit(batch, [undefined])
    await engine.submit(batch, [undefined], { each: () => ({ key: 'A' }) })
    expect((await engine.jobs.list({ kind: 'item' })).items.map(each => each.version)).toEqual([2, 2])
    await run()
    expect(await engine.batch(alike.id)).toMatchObject({ state: 'succeeded' })
    expect((await engine.jobs.list({ kind: 'after' })).items.map(each => each.version)).toEqual([3, 3])
  })

  test('one key is one job, whatever the versions', async () => {
    const [v1, v2] = [release(1), release(2)]
    const [old, next] = await deploy(v1, v2)
    const { id } = await old!.engine.enqueue(v1, undefined, { key: 'A' })
    expect(await next!.engine.enqueue(v2, undefined, { key: 'A' })).toEqual({ id, created: false })
  })
})

test('saved steps that changed code asks for no more are ignored, and reported in the history of the job', async () => {
  let changed = false
  const job = defineJob({
    kind: 'k',
    backoff: { first: milliseconds(0), jitter: 0 },
    run: async ctx => {
      await ctx.step('a', () => 1)
      if (changed) return 'done'
      changed = true
      await ctx.step('b', () => 1)
      await ctx.each('list', ['x'], () => 1)
      throw new Error('cut')
    },
  })
  const { engine, run } = await engineWith(job)
  const { id } = await engine.enqueue(job, undefined)
  await run()
  const ended = await engine.job(id)
  expect(ended).toMatchObject({ state: 'succeeded', result: 'done' })
  const warnings = ended?.events.filter(each => each.type === 'warning')
  expect(warnings).toMatchObject([
    { data: { what: 'unused_steps', steps: ['b', 'list', 'list[0]'], count: 3, attempt: 2 } },
  ])
})
