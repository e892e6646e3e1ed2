/**
 * A handler's own transaction, bound to its job: the checkpoint that says it was done is part of it.
 *
 * Invariant: it commits only with its checkpoint, and that only while the attempt holds the job. The job's row is locked FOR
 * SHARE by the last statement before the commit, not earlier: whatever else writes to that row, progress for one, would wait
 * for the handler. From that lock on, nobody can give the job to another attempt before this transaction has ended; so its
 * session is bounded until then, whatever the handler set in it.
 */
import { randomName } from '../lib/random.ts'
import type { Db } from './db.ts'
import type { Loan } from './loan.ts'
import { afterFence, beforeFence, beginMarked } from './session.ts'

const deadlineMs = 30_000

/** Answers the mark by which the transaction is known until its end. */
export async function beginFenced(loan: Loan): Promise<string> {
  const mark = randomName('t')
  await loan.query(beginMarked(mark), deadlineMs)
  return mark
}

export interface Kept {
  id: string
  attempt: number
  worker: string
  name: string
  /** JSON text. */
  value: string
  mark: string
}

// The mark is gone when somebody has ended the transaction that it was set in. The instant is the statement's own: now() is
// when the transaction began.
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
 * 'ended': this is not the transaction that was begun. 'lost': the attempt does not hold the job. 'there': the step was
 * committed before, by a transaction whose end nobody could tell; this one must not be.
 */
export async function keepIn(
  loan: Loan,
  { id, attempt, worker, name, value, mark }: Kept,
  now: Date | null,
): Promise<'kept' | 'ended' | 'lost' | 'there'> {
  const before = loan.query(beforeFence, deadlineMs)
  const answer = loan.query({ text: keep, values: [id, attempt, worker, name, value, now, mark] }, deadlineMs)
  const after = loan.query(afterFence, deadlineMs)
  await Promise.allSettled([before, answer, after])
  await before
  const [row] = (await answer).rows as { same: boolean; held: boolean; kept: boolean }[]
  await after
  const { same, held, kept } = row!
  if (!same) return 'ended'
  if (!held) return 'lost'
  return kept ? 'kept' : 'there'
}

export async function commitFenced(loan: Loan): Promise<void> {
  const { command } = await loan.query('commit', deadlineMs)
  if (command !== 'COMMIT') throw new Error(`PostgreSQL answered ${command} to a commit`)
}

/** Rolls it back, and gives its link back. On one that is gone PostgreSQL does it by itself. */
export async function undo(loan: Loan): Promise<void> {
  const ended =
    loan.trouble === undefined &&
    (await loan.query('rollback', deadlineMs).then(
      () => true,
      () => false,
    ))
  loan.giveBack(ended ? 'ended' : 'in doubt')
}

// A transaction that has reached its fence holds the job's row until it ends: whoever gets this lock knows that it has.
const wait = { name: 'fenced_wait', text: `select id from retoma.job where id = $1 for no key update` }

// A statement of its own: what was committed while the lock was waited for is in no snapshot taken before.
const read = {
  name: 'fenced_read',
  text: `select value, attempt from retoma.checkpoint where job_id = $1 and name = $2`,
}

/** Whether a transaction whose commit was not answered has happened: undefined, or what was kept, and by which attempt. */
export async function keptBy(
  db: Db,
  id: string,
  name: string,
): Promise<{ value: unknown; attempt: number } | undefined> {
  await db.run(wait, [id])
  const [row] = await db.run<{ value: unknown; attempt: number }>(read, [id, name])
  return row
}
