/** Payments: never twice for a saved answer, never above the limit by more than the error of a price, never for a copy. */
import { type Engine, seconds } from 'retoma'
import { describe, expect, test, vi } from 'vitest'
import { until } from '../../../test/support/engine.ts'
import { linkLost } from '../../../test/support/faulty-db.ts'
import { faultyWorker } from '../../../test/support/faulty-worker.ts'
import { createJobs } from '../jobs.ts'
import { type Document, reserveCost, savePurchase } from '../store/answers.ts'
import { removeHiddenRun } from '../store/runs.ts'
import { content, eachDocument, errorBody, late, ok, refuses } from './behaviours.ts'
import { classifier, expectBooksToAdd, expectBooksToAgree, insertRun, serverForTest } from './executions.ts'

/** A document with a useless paid answer first, then an error, then a good answer. */
async function runThrough(behaviours = [content(null), refuses(500), ok()]) {
  const server = await serverForTest()
  server.behave(eachDocument(...behaviours))
  const { classify, attach } = createJobs({
    openRouter: { key: server.key, baseUrl: server.baseUrl, model: undefined },
  })
  // No limit of cost or of requests: nothing is written outside a step.
  attach({} as Engine)
  const w = await faultyWorker({ run: ctx => classify.run!(ctx, { document } as never) })
  const { run, documents } = await insertRun(w.sql, { documents: 1 })
  const document = documents[0]!.id
  // The virtual clock waits for an answer, as for the database.
  vi.stubGlobal('fetch', (...given: Parameters<typeof fetch>) => w.clock.during(realFetch(...given)))
  return { ...w, server, run }
}
const realFetch = globalThis.fetch

describe('with faults at every call of the store', () => {
  const statements = ['checkpoint_save', 'checkpoint_load', 'provider_read', 'settle']
  const inTransactions = ['lend', 'tx.begin', 'tx.query', 'tx.keep', 'tx.commit']
  const cases = [...statements, ...inTransactions].flatMap(name =>
    ['before', 'after'].map(when => [name, when] as const),
  )

  test.each(cases)('%s, %s it: nothing is bought again, and the books are right', async (name, when) => {
    const w = await runThrough()
    let calls = 0
    // The first, the fourth, the seventh call.
    w.db.fail(name, when as 'before' | 'after', linkLost(), { times: 100, matches: () => calls++ % 3 === 0 })
    const id = await w.enqueue()
    await w.begin()
    await w.settles(id)
    expect(calls).toBeGreaterThan(1)
    expect(await w.row(id)).toMatchObject({ state: 'succeeded', failures: 2 })
    expect(w.server.calls.map(call => call.answered)).toEqual(['content', '500', 'ok'])
    await expectBooksToAgree(w.sql, w.server, w.run)
  })
})

describe('killed at every instant from its question on', () => {
  // In the order of an attempt.
  const calls = 'provider_read checkpoint_save lend tx.begin tx.query tx.keep tx.commit settle'.split(' ')
  const isKept = (call: string, when: string) =>
    calls.indexOf(call) > 1 || (call === 'checkpoint_save' && when === 'after')
  const cases = calls.flatMap(call => ['before', 'after'].map(when => [call, when] as const))

  test.each(cases)('at %s, %s it: an answer that was kept is not bought again', async (call, when) => {
    const w = await runThrough([ok()])
    const id = await w.enqueue()
    // The two earlier reads lease connections, too.
    await w.beginAndDie(w.db.dieAtNext(call, when as 'before' | 'after', { after: 'provider_read' }))
    await until(() => w.server.inFlight() === 0)
    const asked = w.server.calls.length
    const kept = await w.sql(`select from retoma.checkpoint where name = 'answer 1'`)
    expect(kept).toHaveLength(isKept(call, when) ? 1 : 0)
    await w.takeOver()
    await w.recovers(id)
    expect(w.server.calls.length).toBe(asked + (kept.length === 1 ? 0 : 1))
    expect(await w.sql(`select cost_usd from classifier.run`)).toEqual([{ cost_usd: '0.001200' }])
    expect(await w.sql(`select usable from classifier.purchase`)).toEqual([{ usable: true }])
  })
})

describe('a limit of cost', () => {
  test('pauses the execution before a document is asked that would pass it, and names the sum', async () => {
    const { server, execute, run, engine, sql, booksAgree } = await classifier({ concurrency: 1 })
    server.charge(0.03)
    const made = await execute({ documents: 10, costLimit: '0.105' })
    await run()
    expect(server.calls).toHaveLength(3)
    expect(await engine.batch(made.batch)).toMatchObject({
      state: 'paused',
      succeeded: 3,
      failed: 0,
      reason: {
        code: 'cost_limit',
        message:
          'o próximo documento passaria do limite de US$ 0,105 (US$ 0,09 gastos; seriam US$ 0,12 com o que está em andamento e ele)',
      },
    })
    await sql(`update classifier.run set cost_allowed_usd = cost_allowed_usd + 0.10`)
    await engine.batches.resume(made.batch)
    await run()
    expect(server.calls).toHaveLength(6)
    await sql(`update classifier.run set cost_allowed_usd = null`)
    await engine.batches.resume(made.batch)
    await run()
    expect(await engine.batch(made.batch)).toMatchObject({ state: 'succeeded', succeeded: 10 })
    await booksAgree(made.run)
  })

  test.each([
    ['good answers', late(20)],
    ['useless answers', late(20, content(null))],
  ])('is not passed by twenty who ask at once, for %s', async (_, behaviour) => {
    const { server, execute, run, engine, clock, booksAgree } = await classifier()
    server.behave(behaviour)
    server.charge(0.01)
    const made = await execute({ documents: 60, costLimit: '0.05' })
    let most = 0
    // A single document asks for the price, the others come back a second later.
    for (let round = 0; round < 20 && (await engine.batch(made.batch))?.state !== 'paused'; round++) {
      await run()
      most = Math.max(most, server.calls.length)
      await clock.advance(seconds(6))
    }
    expect(await engine.batch(made.batch)).toMatchObject({ state: 'paused', failed: 0, reason: { code: 'cost_limit' } })
    expect(server.calls).toHaveLength(5)
    expect(server.charged()).toBeCloseTo(0.05, 6)
    await booksAgree(made.run)
  })

  test('an attempt that died releases what it had reserved, one that runs does not', async () => {
    const { engine, execute, sql } = await classifier()
    const made = await execute({ documents: 3, costLimit: '0.05' })
    await sql(`update classifier.run set cost_expected_usd = 0.02`)
    const documents = await sql<{ id: string; job_id: string }>(`select id, job_id from classifier.document order by n`)
    const ask = (n: number, attempt = 1) =>
      reserveCost(engine, { id: documents[n]!.id, run: made.run } as Document, { id: documents[n]!.job_id, attempt })
    await sql(`update retoma.job set state = 'running', worker_id = 'w', attempt = 1`)
    expect(await ask(0)).toBe('reserved')
    expect(await ask(0)).toBe('reserved')
    expect(await ask(1)).toBe('reserved')
    expect(await ask(2)).toEqual({ cost: '0.000000', allowed: '0.050000', needed: '0.060000' })
    // The worker died, and the job is `waiting` again.
    await sql(`update retoma.job set state = 'waiting', worker_id = null where id = $1`, [documents[0]!.job_id])
    expect(await ask(2)).toBe('reserved')
    // The job runs again as the second attempt, which has reserved nothing.
    await sql(`update retoma.job set state = 'running', worker_id = 'w', attempt = 2 where id = $1`, [
      documents[0]!.job_id,
    ])
    expect(await ask(0, 2)).toMatchObject({ needed: '0.060000' })
    await sql(`update retoma.job set attempt = 2 where id = $1`, [documents[1]!.job_id])
    expect(await ask(0, 2)).toBe('reserved')
    expect(await sql(`select reserved from classifier.run`)).toEqual([
      { reserved: { [documents[0]!.id]: expect.anything(), [documents[2]!.id]: expect.anything() } },
    ])
  })

  test('twenty who reserve in the same moment are judged one after the other', async () => {
    const { engine, execute, sql } = await classifier()
    const made = await execute({ documents: 20, costLimit: '0.05' })
    await sql(`update retoma.job set state = 'running', worker_id = 'w', attempt = 1`)
    const documents = await sql<{ id: string; job_id: string }>(`select id, job_id from classifier.document`)
    const all = () =>
      Promise.all(
        documents.map(({ id, job_id }) =>
          reserveCost(engine, { id, run: made.run } as Document, { id: job_id, attempt: 1 }),
        ),
      )
    // The price is unknown: a single document asks.
    const first = await all()
    expect(first.filter(each => each === 'reserved')).toHaveLength(1)
    expect(first.filter(each => each === 'wait')).toHaveLength(19)
    await sql(`update classifier.run set cost_expected_usd = 0.01, reserved = '{}'`)
    expect((await all()).filter(each => each === 'reserved')).toHaveLength(5)
  })
})

describe('requests in a minute', () => {
  test('are never more than the limit in any minute, and the rest wait without a failure or a try', async () => {
    const { server, execute, run, engine, clock, seen } = await classifier({ requestsPerMinute: 7 })
    const made = await execute({ documents: 20 })
    const instants: number[] = []
    for (let round = 0; round < 60 && (await engine.batch(made.batch))?.finishedAt === null; round++) {
      await run()
      while (instants.length < server.calls.length) instants.push(clock.now().getTime())
      await clock.advance(seconds(5))
    }
    expect(instants).toHaveLength(20)
    for (const at of instants)
      expect(instants.filter(each => each >= at && each < at + 60_000).length).toBeLessThanOrEqual(7)
    expect(instants.filter(each => each === instants[0])).toHaveLength(7)
    expect((await seen(made.run)).every(each => each.starts === 1 && each.failures === 0)).toBe(true)
  })
})

describe('an answer that is used again', () => {
  const text = 'D-1 um contrato'

  test('for the same bytes under the same settings, where that was asked for: it costs nothing, and names its origin', async () => {
    const { server, execute, run, seen } = await classifier()
    const first = await execute({ documents: [text] })
    await run()
    for (const [reuse, calls] of [
      [true, 1],
      [false, 2],
    ] as const) {
      const made = await execute({ documents: [text], reuse })
      await run()
      expect(server.calls).toHaveLength(calls)
      expect(await seen(made.run)).toMatchObject([
        reuse
          ? {
              state: 'succeeded',
              category: 'Contrato',
              confidence: '0.9300',
              cost_usd: '0.000000',
              reused_from: expect.any(String),
            }
          : { state: 'succeeded', category: 'Contrato', cost_usd: '0.001200', reused_from: null },
      ])
    }
    expect(await seen(first.run)).toMatchObject([{ cost_usd: '0.001200' }])
    await execute({ documents: [text], reuse: true, model: 'another/one' })
    await run()
    expect(server.calls).toHaveLength(3)
  })

  test('copies within one execution are bought once, although all begin together', async () => {
    const { server, execute, run, seen, engine, clock } = await classifier()
    server.behave(late(30))
    const made = await execute({ documents: [...Array(8).fill(text), 'D-2 outro contrato'], reuse: true })
    // The copies wait a second for the answer to the first.
    for (let round = 0; round < 20 && (await engine.batch(made.batch))?.finishedAt === null; round++) {
      await run()
      await clock.advance(seconds(6))
    }
    expect(server.of('D-1')).toHaveLength(1)
    const all = await seen(made.run)
    expect(all.map(({ state, starts }) => [state, starts])).toEqual(all.map(() => ['succeeded', 1]))
    expect(all.filter(each => each.reused_from !== null)).toHaveLength(7)
  })

  test('a played one is no answer for one that is paid for', async () => {
    const played = await classifier({ key: null })
    await played.execute({ documents: [text] })
    await played.run()
    const again = await played.execute({ documents: [text], reuse: true })
    await played.run()
    expect(await played.seen(again.run)).toMatchObject([{ simulated: true, reused_from: expect.any(String) }])
    await played.sql(`update classifier.document set simulated = false`)
    const third = await played.execute({ documents: [text], reuse: true })
    await played.run()
    expect(await played.seen(third.run)).toMatchObject([{ simulated: true, reused_from: null }])
  })
})

describe('an execution is locked before its documents, by all, so that nobody waits in a circle', () => {
  const bought = { id: null, model: null, tokensIn: 1, tokensOut: 1, cost: '0.010000' }
  const charge = `update classifier.run set cost_usd = cost_usd where id = $1`
  const touch = `update classifier.document set cost_usd = cost_usd where run_id = $1`

  /** `other` begins while the execution is locked and the documents are not locked yet. */
  async function meets(other: (engine: Engine, run: string, document: string) => Promise<unknown>) {
    const { engine, sql } = await classifier()
    const { run, documents } = await insertRun(sql, { documents: 3 })
    await sql(`update classifier.run set deleted_at = now()`)
    let theirs: Promise<unknown> = Promise.resolve()
    const waits = async () => {
      const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
      return (await sql(waiting)).length > 0
    }
    await engine.transaction(async tx => {
      await tx.query(charge, [run])
      theirs = other(engine, run, documents[0]!.id)
      await until(waits)
      await tx.query(touch, [run])
    })
    await theirs
    return { sql, run }
  }

  test('what is bought while its batch is still being noted', async () => {
    const { sql, run } = await meets((engine, run, id) =>
      engine.transaction(tx =>
        savePurchase(tx, { id, run } as Document, 'openrouter', {
          attempt: 1,
          bought,
          usable: true,
          settingsHash: new Uint8Array(),
        }),
      ),
    )
    await expectBooksToAdd(sql, run, 0.01)
  })

  test('what is erased while something of it is being bought', async () => {
    const { sql } = await meets((engine, run) => removeHiddenRun(engine, run))
    expect(await sql(`select from classifier.document`)).toEqual([])
  })
})

test.each([429, 402])(
  'an error %s after a charge counts in the cost, whether the document waits or the execution is paused',
  async code => {
    const { execute, run, server, sql, clock, booksAgree, seen } = await classifier()
    server.behave(eachDocument(errorBody(code, { charged: true }), ok()))
    const { run: id } = await execute({ documents: 1 })
    await run()
    expect(server.charged()).toBeGreaterThan(0)
    await booksAgree(id)
    await clock.advance(seconds(120))
    await run()
    await booksAgree(id)
    expect(await sql('select usable from classifier.purchase order by attempt')).toContainEqual({ usable: false })
    if (code === 429) expect(await seen(id)).toMatchObject([{ state: 'succeeded', failures: 0 }])
  },
)
