/** While a provider waits, whatever is ready would be claimed and deferred for nothing: at a pace that costs nobody anything. */
import { describe, expect, test } from 'vitest'
import { type AnyJob, defineJob, seconds } from '../../src/index.ts'
import type { TestEngine } from '../../src/testing/index.ts'
import { engineOf, gate, timePasses, until } from '../support/engine.ts'
import { batchOf, items, jobAsking, service, sqlOf, wait } from '../support/providers.ts'

const slots = 5

const countOf = async ({ engine }: TestEngine, text: string) => (await engine.query<{ n: number }>(text)).rows[0]!.n

describe('while a provider waits', () => {
  /** A worker whose provider asks to wait for that long, and how many claims came to nothing. */
  async function storm(retryAfter: number, { limits = {}, count = 300 } = {}) {
    const outside = service(() => wait(retryAfter))
    const job = jobAsking(id => outside.ask(id))
    const batch = batchOf(job)
    const t = await engineOf({ batches: [batch], jobs: [other], limits })
    const { id } = await t.engine.submit(batch, items(count))
    const inVain = () => countOf(t, `select coalesce(sum(uncounted_attempts), 0)::int as n from retoma.job`)
    return { t, id, outside, inVain }
  }
  const other = defineJob({ kind: 'other', queue: 'q', run: () => 'ok' })

  test.each([{}, { q: { concurrency: 20 } }])(
    'a slot defers one job a second, however many are ready, under limits %o',
    async limits => {
      const { t, id, outside, inVain } = await storm(600, { limits })
      await using worker = await t.engine.work({ queues: { q: slots } })
      await until(async () => (await inVain()) === slots)
      const { calls } = outside
      expect(calls.length).toBeLessThanOrEqual(slots)
      for (let second = 1; second <= 4; second++) {
        await t.clock.advance(seconds(1))
        await until(async () => (await inVain()) === slots * (second + 1))
      }
      expect(await t.engine.batch(id)).toMatchObject({ waiting: 300 })
      void worker
    },
  )

  test('jobs of other kinds in the same queue have their turn, and one whose answer is saved ends', async () => {
    const { t, inVain } = await storm(600, { count: 30 })
    await using worker = await t.engine.work({ queues: { q: slots } })
    await until(async () => (await inVain()) === slots)
    const { id } = await t.engine.enqueue(other as AnyJob, undefined, { priority: 0 })
    const [saved] = await sqlOf<{ id: string }>(
      t,
      `select max(id)::text as id from retoma.job where kind = 'ask' and state = 'waiting'`,
    )
    await sqlOf(
      t,
      `with step as (insert into retoma.checkpoint (job_id, name, value, attempt, at) values (${saved!.id}, 'answer', '"ok"', 1, now()))
       update retoma.job set attempt = 1, claim_rank = claim_rank & ~1 where id = ${saved!.id}`,
    )
    await t.clock.advance(seconds(1))
    await until(async () => (await t.engine.job(id))!.state === 'succeeded')
    await timePasses(t.clock, async () => (await t.engine.job(saved!.id))!.state === 'succeeded')
    expect((await t.engine.providers.list())[0]!.state).toBe('waiting')
    void worker
  })

  test('a short wait is not made longer by it', async () => {
    const outside = service(call => (call <= slots ? wait() : 'ok'))
    const all = gate()
    let asked = 0
    const job = jobAsking(async id => {
      if (++asked === slots) all.open()
      if (asked <= slots) await all.passed
      return outside.ask(id)
    })
    const t = await engineOf({ jobs: [job] })
    const { ids } = await t.engine.enqueueMany(job, items(20))
    await using worker = await t.engine.work({ queues: { q: slots } })
    await until(async () => (await t.engine.providers.list())[0]?.state === 'waiting')
    // One second and its jitter.
    await t.clock.advance(seconds(1.2))
    await until(async () =>
      (await Promise.all(ids.map(id => t.engine.job(id)))).every(each => each!.state === 'succeeded'),
    )
    void worker
  })

  test('a worker that gets the signal to stop does not wait for it', async () => {
    const { t, inVain } = await storm(600)
    const worker = await t.engine.work({ queues: { q: slots } })
    await until(async () => (await inVain()) === slots)
    // The clock is stopped.
    await worker.stop()
  })
})
