/**
 * Writes the costs that attempts report with `ctx.cost`, and adds the costs to the batch.
 *
 * Invariant: each call is counted once, for the job and for the batch in the same statement, and only while the attempt has the lease. The
 * calls of an attempt have numbers, and the calls are written one at a time in the order of their numbers: a number that is not above
 * `last_call` was counted before its answer was lost, and adds nothing. The locks are those of checkpoint.ts, and then, as the last locks,
 * the rows of `batch_cost` of a single shard in the order of batch and currency. No deadlock is possible.
 */
import { shardOf } from '../../batches/sql/batch-counters.ts'
import type { Db } from '../../database/db.ts'

export interface CostRow {
  id: string
  attempt: number
  /** Number of the call in the attempt, from 1. */
  call: number
  currency: string
  /** A decimal number as text. */
  amount: string
}

// A job has one row in `given` at most, so `added` names the rows of `held` that count.
const add = {
  name: 'cost_add',
  text: `
    with given as materialized (
      select g.*, row_number() over (order by g.id) as place
      from unnest((select $1::bigint[]), (select $2::int[]), (select $3::int[]), (select $4::text[]), (select $5::numeric[]))
        as g (id, attempt, call, currency, amount)
    ), held as materialized (
      select g.*, j.batch_id
      from (select * from given order by place) g
        cross join lateral (
          select j.batch_id from retoma.job j where j.id = g.id and j.attempt = g.attempt and j.worker_id = $6 for share
        ) j
    ), added as (
      insert into retoma.job_cost as c (job_id, attempt, currency, amount, last_call)
      select id, attempt, currency, amount, call from held
      on conflict (job_id, attempt, currency) do update
      set amount = c.amount + excluded.amount, last_call = excluded.last_call
      where c.last_call < excluded.last_call
      returning job_id
    ), counted as (
      insert into retoma.batch_cost as c (batch_id, shard, currency, amount)
      select h.batch_id, $7::smallint, h.currency, sum(h.amount)
      from held h
      where h.batch_id is not null and h.id in (select job_id from added)
      group by 1, 3
      order by 1, 3
      on conflict (batch_id, shard, currency) do update set amount = c.amount + excluded.amount
    )
    select id from held`,
}

/** Returns the costs in the database, counted by this call or by an earlier call whose answer was lost. At most one cost of a job. */
export async function addCosts<T extends CostRow>(db: Db, worker: string, given: readonly T[]): Promise<Set<T>> {
  const rows = await db.run<{ id: string }>(add, [
    given.map(each => each.id),
    given.map(each => each.attempt),
    given.map(each => each.call),
    given.map(each => each.currency),
    given.map(each => each.amount),
    worker,
    shardOf(worker),
  ])
  const held = new Set(rows.map(row => row.id))
  return new Set(given.filter(each => held.has(each.id)))
}
