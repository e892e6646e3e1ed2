/** Claims of a paused batch are blocked: a worker claims no job of the batch, and returns the claimed jobs that have not started. */
import { describe, expect, test } from 'vitest'
import type { Statement } from '../../src/database/db.ts'
import { seconds } from '../../src/index.ts'
import { gate, until } from '../support/engine.ts'
import { faultyWorker } from '../support/faulty-worker.ts'

describe('of a batch', () => {
  const put = async (sql: <T>(text: string, values?: unknown[]) => Promise<T[]>, ids: string[]) => {
    await sql(
      `insert into retoma.batch (id, name, kind, queue, policy, state, priority, total, created_at, submitted_at)
       values (1000000, 'b', 'k', 'q', '{}', 'running', 4, $1, now(), now())`,
      [ids.length],
    )
    await sql(`insert into retoma.queue (name) values ('q') on conflict do nothing`)
    await sql(`update retoma.job set batch_id = 1000000 where id = any ($1)`, [ids])
  }

  test('that is no longer held what claims had passed by is found at once, without a sweep', async () => {
    const { begin, enqueueMany, sql, clock, asleep, runs } = await faultyWorker()
    const ids = await enqueueMany(3)
    await put(sql, ids)
    await sql(`update retoma.batch set claims_blocked = true, state = 'paused'`)
    const worker = await begin()
    await asleep()
    // A poll sees them all and passes them by; the sweep after it has just been.
    await clock.advance(seconds(5))
    await asleep()
    await sql(`update retoma.batch set claims_blocked = false, state = 'running'`)
    await sql(`update retoma.queue set unblock_seq = unblock_seq + 1`)
    worker.claimsUnblocked('q')
    await until(() => runs.length === 3)
  })

  test('that is no longer held, said during a claim, is claimed by one more claim', async () => {
    const { begin, enqueueMany, sql, clock, asleep, runs, db } = await faultyWorker()
    await put(sql, await enqueueMany(3))
    await sql(`update retoma.batch set claims_blocked = true, state = 'paused'`)
    const [checked, reported] = [gate(), gate()]
    let slow = false
    const worker = await begin({
      ...db,
      async run<Row>(statement: Statement, values: unknown[], deadlineMs?: number) {
        const rows = await db.run<Row>(statement, values, deadlineMs)
        if (slow && statement.name === 'claim_lookahead') {
          checked.open()
          await reported.passed
        }
        return rows
      },
    })
    await asleep()
    await clock.advance(seconds(5))
    await asleep()
    slow = true
    worker.claimsUnblocked('q')
    await checked.passed
    // Its answer is on its way, and knows nothing of this.
    await sql(`update retoma.batch set claims_blocked = false, state = 'running'`)
    await sql(`update retoma.queue set unblock_seq = unblock_seq + 1`)
    worker.claimsUnblocked('q')
    reported.open()
    await until(() => runs.length === 3)
  })

  test('of which nothing more may start, what is claimed ahead goes back unbegun', async () => {
    const open = gate()
    let blocked = false
    const { begin, enqueueMany, sql, clock, asleep, runs } = await faultyWorker({
      queues: { q: 2 },
      run: () => (blocked ? open.passed : undefined),
    })
    const worker = await begin()
    // Short ones first: then it claims ahead.
    await enqueueMany(300)
    worker.wake()
    await until(() => runs.length === 300)
    // The loop that releases prefetched jobs has run.
    await clock.advance(seconds(1))
    await asleep()
    blocked = true
    await put(sql, await enqueueMany(100))
    worker.wake()
    const running = async () =>
      (await sql<{ n: number }>(`select count(*)::int as n from retoma.job where state = 'running'`))[0]!.n
    await until(async () => runs.length === 302 && (await running()) > 2)
    await sql(`update retoma.batch set claims_blocked = true, state = 'paused'`)
    await worker.returnUnstarted('q', '1000000')
    expect(await running()).toBe(2)
    expect(
      await sql(`select distinct failures, restarts from retoma.job where batch_id is not null and state = 'waiting'`),
    ).toEqual([{ failures: 0, restarts: 0 }])
    open.open()
    await until(async () => (await running()) === 0)
    expect(runs).toHaveLength(302)
  })
})
