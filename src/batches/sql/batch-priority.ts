/**
 * Changes the priority of a batch: first the batch row, which later chunks of the submit read, then the waiting jobs in chunks. If the
 * process crashes in between, the same action again changes the rest.
 */

import type { Db } from '../../database/db.ts'
import { nowParameter } from '../../database/now-parameter.ts'
import { noteBatchActions } from '../../jobs/sql/transition.ts'

const set = {
  name: 'batch_priority',
  text: `
    with home as materialized (
      select id, priority from retoma.batch where id = $1 and finished_at is null for update
    ), updated as (
      update retoma.batch b
      set priority = $2
      from home h
      where b.id = any (array[h.id])
      returning b.id, b.state as was, b.state, b.chunks, h.priority <> b.priority as changed
    ), changed as (
      select * from updated where changed
    ), ${noteBatchActions('priority', 'changed', nowParameter(4), '$3::text')}
    select chunks from updated`,
}

// A job moved to another lane gets a `run_at` of now or later, and so lies after every claim cursor. A locked job is being claimed or
// settled, and is skipped.
const move = {
  name: 'batch_priority_chunk',
  text: `
    with chunk as materialized (
      select first_id, last_id from retoma.batch_chunk where batch_id = $1 and n >= $3 and n < $3 + $4::int order by n
    )
    update retoma.job j
    set claim_rank = $2::smallint * 2 + (claim_rank & 1), run_at = greatest(run_at, coalesce($5::timestamptz, now()))
    where j.id = any (array(
      select found.id
      from chunk c
        cross join lateral (
          select id from retoma.job
          where id between c.first_id and c.last_id and batch_id = $1 and state = 'waiting' and claim_rank / 2 <> $2::smallint
          order by id
          for update skip locked
        ) found
    ))
    returning j.id`,
}

const chunksPerStatement = 5

/** Returns the number of changed jobs. */
export async function changePriority(
  db: Db,
  id: string,
  priority: number,
  by: string | undefined,
  now: Date | null,
): Promise<number> {
  const [batch] = await db.run<{ chunks: number }>(set, [id, priority, by ?? null, now])
  let moved = 0
  for (let n = 0; n < (batch?.chunks ?? 0); n += chunksPerStatement) {
    moved += (await db.run(move, [id, priority, n, chunksPerStatement, now])).length
  }
  return moved
}
