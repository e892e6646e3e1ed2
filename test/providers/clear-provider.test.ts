/** A person who knows better than a provider's Retry-After: `engine.clearProvider`. */
import { describe, expect, test } from 'vitest'
import { hours, minutes, seconds } from '../../src/index.ts'
import { clearProvider, recallJobs } from '../../src/providers/sql/clear-provider.ts'
import { engineOf } from '../support/engine.ts'
import { faulty } from '../support/faulty-db.ts'
import { batchOf, items, jobAsking, jobsOf, passes, service, sqlOf, stop, wait } from '../support/providers.ts'
import { at, storeForFile } from '../support/store.ts'

/** A batch whose provider asked to wait for that long. */
async function waiting(retryAfter: number, { count = 4, limits = {} } = {}) {
  const outside = service(() => wait(retryAfter))
  const job = jobAsking(id => outside.ask(id))
  const batch = batchOf(job)
  const t = await engineOf({ batches: [batch], limits })
  const { id } = await t.engine.submit(batch, items(count))
  await t.run()
  outside.says = () => 'ok'
  return { t, id, outside, job }
}

const year = 365 * 24 * 3600

describe('a wait that a person ends', () => {
  test.each([{}, { q: { concurrency: 2 } }])(
    'ends for all that wait for it, at once, in a queue with limits %o',
    async limits => {
      const { t, id, outside } = await waiting(year, { limits })
      const [provider] = await t.engine.providers.list()
      // However long it asks for: a day.
      expect(provider!.waitUntil!.getTime() - t.clock.now().getTime()).toBe(hours(24))
      await passes(t, hours(1))
      expect(outside.calls.length).toBeLessThanOrEqual(4)
      const before = outside.calls.length
      expect(await t.engine.providers.clear('openrouter', { by: 'ana' })).toEqual({
        name: 'openrouter',
        state: 'open',
        changed: true,
      })
      expect(await t.engine.providers.clear('openrouter')).toEqual({
        name: 'openrouter',
        state: 'open',
        changed: false,
      })
      await t.run()
      expect(outside.calls).toHaveLength(before + 4)
      expect(await t.engine.batch(id)).toMatchObject({ state: 'succeeded' })
      for (const each of await jobsOf(t, id)) expect(each).toMatchObject({ starts: 1, failures: 0 })
      expect(await sqlOf(t, `select data from retoma.event where data ->> 'what' = 'clear provider'`)).toEqual([
        { data: { who: 'ana', what: 'clear provider', provider: 'openrouter' } },
      ])
    },
  )

  test('leaves alone what waits for another time', async () => {
    const { t, job, id } = await waiting(7200)
    const { id: scheduled } = await t.engine.enqueue(job, undefined, { delay: minutes(120) })
    const [snoozed] = await jobsOf(t, id)
    await sqlOf(t, `update retoma.job set run_at = run_at + interval '1 hour' where id = ${snoozed!.id}`)
    await t.engine.providers.clear('openrouter')
    await t.run()
    for (const each of [scheduled, snoozed!.id]) expect((await t.engine.job(each))!.state).toBe('waiting')
    expect(await t.engine.batch(id)).toMatchObject({ succeeded: 3, waiting: 1 })
  })

  test('is done by whoever ticks, where the process of the caller died, and for one that was being deferred meanwhile', async () => {
    const { t, id } = await waiting(7200)
    const [last] = await sqlOf<{ run_at: Date }>(t, `select max(run_at) as run_at from retoma.job`)
    // As one that has cleared it and no more.
    await t.engine.providers.clear('openrouter')
    await sqlOf(t, `update retoma.job set run_at = '${last!.run_at.toISOString()}'`)
    await passes(t, seconds(5))
    expect(await t.engine.batch(id)).toMatchObject({ state: 'succeeded' })
    // After that nobody checks any more.
    await passes(t, minutes(2))
    expect(await sqlOf(t, `select waited_until from retoma.provider`)).toEqual([{ waited_until: null }])
  })

  test('goes on as a person resumes a batch that its provider had stopped and had wait', async () => {
    const outside = service(call => (call === 1 ? wait(7200) : stop()))
    const batch = batchOf(jobAsking(id => outside.ask(id)))
    const t = await engineOf({ batches: [batch] })
    const { id } = await t.engine.submit(batch, items(2))
    await t.run()
    await sqlOf(t, `update retoma.provider set stopped_at = now(), probe_at = now()`)
    await sqlOf(
      t,
      `update retoma.batch set state = 'paused', claims_blocked = true, reason = '{"code": "provider", "provider": "openrouter"}'`,
    )
    outside.says = () => 'ok'
    await t.engine.batches.resume(id)
    await passes(t, seconds(5))
    expect(await t.engine.batch(id)).toMatchObject({ state: 'succeeded' })
  })
})

test('a stop that a person ends has every batch go on that is stopped for it', async () => {
  const outside = service(() => stop())
  const batch = batchOf(jobAsking(id => outside.ask(id)))
  const t = await engineOf({ batches: [batch] })
  const ids = [(await t.engine.submit(batch, items(2))).id, (await t.engine.submit(batch, items(2))).id]
  await t.run()
  outside.says = () => 'ok'
  await t.engine.providers.clear('openrouter')
  for (const id of ids) expect((await t.engine.batch(id))!.state).toBe('running')
  await t.run()
  for (const id of ids) expect(await t.engine.batch(id)).toMatchObject({ state: 'succeeded', failed: 0 })
})

test('a provider that nobody knows is not found, and the actor has a name', async () => {
  const t = await engineOf({ jobs: [jobAsking(() => 'ok')] })
  for (const name of ['nobody', '', 'a b', '\u0000'])
    await expect(t.engine.providers.clear(name)).rejects.toThrow(/not_found/)
  await expect(t.engine.providers.clear('nobody', { by: '' })).rejects.toThrow(/bad_option/)
})

test('explained: for a long wait the lever is named, for a short one it is not', async () => {
  for (const [retryAfter, command] of [
    [7200, 'retoma providers clear openrouter'],
    [20, null],
  ] as const) {
    const { t, id } = await waiting(retryAfter)
    await t.engine.work()
    const [item] = await jobsOf(t, id)
    for (const of of [{ batch: id }, { job: item!.id }])
      expect((await t.engine.explain(of)).advice).toMatchObject({ action: 'wait', command })
  }
})

describe('many at once', () => {
  const store = storeForFile()

  /** So many jobs that lie there, and a provider that has them wait until then. */
  async function lie(count: number, until: number, due: number): Promise<void> {
    await store.putMany(count, 'waiting')
    await store.sql(`insert into retoma.queue (name) values ('q') on conflict do nothing`)
    await store.sql(
      `insert into retoma.kind (name, queue, policy, updated_at) values ('k', 'q', '{}', now()) on conflict do nothing`,
    )
    await store.sql(`update retoma.job set run_at = $1, uncounted_attempts = 1, attempt = 1, deferred_by = 'p'`, [
      at(due),
    ])
    await store.sql(
      `insert into retoma.provider (name, kinds, wait_until, consecutive_waits, at) values ('p', '{k}', $1, 1, $2)`,
      [at(until), at(0)],
    )
  }

  test.each(['provider_clear', 'provider_recall_jobs'])(
    'the answer of %s is lost, or it is never sent: repeated, or at the next check, it is done',
    async name => {
      for (const when of ['before', 'after'] as const) {
        await store.sql(`truncate retoma.job, retoma.provider, retoma.event cascade`)
        await lie(20, 7200, 7201)
        const db = faulty(store.db)
        db.fail(name, when, Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }))
        const act = async (second: number) => {
          await clearProvider(db, 'p', 'ana', at(second))
          await recallJobs(db, at(second))
        }
        await expect(act(10)).rejects.toThrow('ECONNRESET')
        await act(11)
        expect(await store.sql(`select count(*)::int as n from retoma.job where run_at <= $1`, [at(11)])).toEqual([
          { n: 20 },
        ])
        expect(await store.sql(`select count(*)::int as n from retoma.event`)).toEqual([{ n: 1 }])
      }
    },
  )

  test('what is due by itself meanwhile is not called back again and again', async () => {
    await lie(1500, 30, 31)
    await clearProvider(store.db, 'p', undefined, at(10))
    expect(await recallJobs(store.db, at(32))).toEqual([])
    expect(await store.sql(`select distinct run_at from retoma.job`)).toEqual([{ run_at: at(31) }])
  })

  test('twenty callers at once clear once, and twenty who call back call each job back once', async () => {
    await lie(2500, 7200, 7202)
    const answers = await Promise.all(Array.from({ length: 20 }, () => clearProvider(store.db, 'p', 'ana', at(10))))
    expect(answers.filter(each => each!.changed)).toHaveLength(1)
    await Promise.all(Array.from({ length: 20 }, () => recallJobs(store.db, at(11))))
    await recallJobs(store.db, at(12))
    expect(await store.sql(`select count(*)::int as n from retoma.job where run_at <= $1`, [at(12)])).toEqual([
      { n: 2500 },
    ])
    expect(await store.sql(`select count(*)::int as n from retoma.event`)).toEqual([{ n: 1 }])
  })
})
