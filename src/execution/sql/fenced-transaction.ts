/**
 * Binds the transaction of a handler to its job: the checkpoint of the step is part of the transaction.
 *
 * Invariant: the transaction commits only with its checkpoint, and the checkpoint only while the attempt has the lease. The last
 * statement before the commit locks the job's row FOR SHARE, and no earlier statement does: other writes to the row, such as progress,
 * would wait for the handler. From this lock on no process can give the job to another attempt before the transaction ends. The session
 * therefore has time limits until the end, whatever the handler has set.
 */

import type { Db } from '../../database/db.ts'
import type { LeasedConnection } from '../../database/leased-connection.ts'
import { afterFence, afterFenceOfUser, beforeFence, beforeFenceOfUser } from '../../database/session-settings.ts'

const deadlineMs = 30_000

export interface TransactionCheckpoint {
  id: string
  attempt: number
  worker: string
  name: string
  /** JSON text. */
  value: string
  mark: string
}

// The setting is gone once the transaction it was set in has ended. `clock_timestamp()` is the instant of the statement; `now()` would be
// the start of the transaction.
const keep = `
  with held as materialized (
    select from retoma.job j where j.id = $1 and j.attempt = $2 and j.worker_id = $3 for share
  ), kept as (
    insert into retoma.checkpoint (job_id, name, attempt, value, at)
    select $1, $4, $2, $5::json, coalesce($6::timestamptz, clock_timestamp())
    from held
    where current_setting('retoma.transaction', true) = $7
    on conflict (job_id, name) do nothing
    returning 1
  )
  select coalesce(current_setting('retoma.transaction', true) = $7, false) as same,
    exists (select from held) as held, exists (select from kept) as kept`

/**
 * Saves the checkpoint. 'ended': this is not the transaction of `beginTransaction`. 'lease_lost': the attempt has lost the lease. 'there': an
 * earlier transaction with an unknown result has committed the step, so this transaction must not commit.
 */
export async function saveInTransaction(
  connection: LeasedConnection,
  { id, attempt, worker, name, value, mark }: TransactionCheckpoint,
  now: Date | null,
): Promise<'kept' | 'ended' | 'lease_lost' | 'there'> {
  const [toFence, fromFence] = connection.isOfUser ? [beforeFenceOfUser, afterFenceOfUser] : [beforeFence, afterFence]
  const before = connection.query(toFence, deadlineMs)
  if (connection.isOfUser) await before
  const answer = connection.query({ text: keep, values: [id, attempt, worker, name, value, now, mark] }, deadlineMs)
  if (connection.isOfUser) await answer
  const after = connection.query(fromFence, deadlineMs)
  await Promise.allSettled([before, answer, after])
  await before
  const [row] = (await answer).rows as { same: boolean; held: boolean; kept: boolean }[]
  await after
  const { same, held, kept } = row!
  if (!same) return 'ended'
  if (!held) return 'lease_lost'
  return kept ? 'kept' : 'there'
}

// A fenced transaction locks the job's row until its end: a process that gets this lock knows the transaction has ended.
const wait = { name: 'fenced_wait', text: `select id from retoma.job where id = $1 for no key update` }

// A separate statement: commits during the wait for the lock are in no earlier snapshot.
const read = {
  name: 'fenced_read',
  text: `select value, attempt from retoma.checkpoint where job_id = $1 and name = $2`,
}

/** Finds out whether a transaction with an unanswered commit has happened. Returns the saved value and its attempt, or undefined. */
export async function savedCheckpoint(
  db: Db,
  id: string,
  name: string,
): Promise<{ value: unknown; attempt: number } | undefined> {
  await db.run(wait, [id])
  const [row] = await db.run<{ value: unknown; attempt: number }>(read, [id, name])
  return row
}
