/**
 * Submits a batch in chunks. Each chunk is one statement, hence one commit: the statement inserts the jobs and stores the range of ids
 * and the number of list items received.
 *
 * Invariant: an item of the list becomes exactly one job. The number of received items is checked behind the lock of the batch row. If a
 * chunk is sent twice, or by two processes that continue the same submit, only the first insert counts; the second process reads the
 * position and continues from there.
 */

import type { Db } from '../../database/db.ts'
import { freeOldKeys } from '../../enqueue/enqueue.sql.ts'
import { storedVersion } from '../../jobs/model/kind-version.ts'
import { limitKeyOf } from '../../jobs/sql/transition.ts'
import type { BatchPolicy } from '../model/batch.ts'
import type { BatchState } from '../model/batch-state.ts'

/** The engine's pool, or the transaction of the caller, which sends every value as text: the statements cast each value. */
type Runs = Pick<Db, 'run'>

/** The progress of a submit. */
export interface Submission {
  id: string
  state: BatchState
  itemsReceived: number
  total: number
  submitted: boolean
}

export interface NewBatch {
  name: string
  key: string | null
  kind: string
  queue: string
  policy: BatchPolicy
  priority: number
}

const columns = `id::text as id, state, items_received as "itemsReceived", total, submitted_at is not null as submitted`

const create = {
  name: 'batch_create',
  text: `
    insert into retoma.batch (id, name, key, key_reserved, kind, queue, policy, priority, created_at)
    values (nextval('retoma.job_id_seq'), $1, $2, $2::text is not null, $3, $4, $5::jsonb, $6::smallint, coalesce($7::timestamptz, now()))
    on conflict (name, key) where key_reserved do nothing
    returning ${columns}`,
}

const freeKey = {
  name: 'batch_free_key',
  text: `
    update retoma.batch set key_reserved = false
    where name = $1 and key = $2 and key_reserved and finished_at < coalesce($3::timestamptz, now()) - interval '24 hours'`,
}

const holder = {
  name: 'batch_by_key',
  text: `select ${columns} from retoma.batch where name = $1 and key = $2 and key_reserved`,
}

export async function hasBatch(on: Runs, name: string, key: string): Promise<boolean> {
  return (await on.run(holder, [name, key])).length > 0
}

/** Returns the batch with this key. Creates the batch if the key is free. */
export async function createBatch(
  on: Runs,
  batch: NewBatch,
  now: Date | null,
): Promise<Submission & { created: boolean }> {
  const { name, key, kind, queue, policy, priority } = batch
  for (;;) {
    const [made] = await on.run<Submission>(create, [name, key, kind, queue, JSON.stringify(policy), priority, now])
    if (made) return { ...made, created: true }
    await on.run(freeKey, [name, key, now])
    const [held] = await on.run<Submission>(holder, [name, key])
    if (held) return { ...held, created: false }
  }
}

const one = { name: 'batch_submission', text: `select ${columns} from retoma.batch where id = $1::bigint` }

export async function submissionOf(on: Runs, id: string): Promise<Submission | undefined> {
  const [row] = await on.run<Submission>(one, [id])
  return row
}

// Only while the batch accepts items, and only if no other caller has added the same items. The limits of the queue apply as in an
// enqueue.
const open = `
  open as materialized (
    select id, chunks, priority, kind, queue from retoma.batch
    where id = $1::bigint and items_received = $2::int and submitted_at is null and state in ('submitting', 'paused', 'stalled')
    for update
  )`
const runAt = `greatest(coalesce($3::timestamptz, coalesce($5::timestamptz, now())) + make_interval(secs => $4::float8 / 1000), coalesce($5::timestamptz, now()))`
const noted = `
  chunk as (
    insert into retoma.batch_chunk (batch_id, n, first_id, last_id, items)
    select o.id, o.chunks, min(m.id), max(m.id), count(*) from open o, made m group by 1, 2
  ), noted as (
    update retoma.batch b
    set items_received = b.items_received + $6::int, total = b.total + (select count(*) from made)::int,
      chunks = b.chunks + (exists (select from made))::int
    from open o
    where b.id = any (array[o.id])
    returning b.id, b.state, b.items_received, b.total, b.submitted_at
  )
  select ${columns} from noted`

// Values shared by all jobs are passed once, as in enqueueUniform.
const alike = {
  name: 'batch_chunk_uniform',
  text: `
    with ${open}, made as (
      insert into retoma.job (queue, kind, batch_id, ref, state, claim_rank, run_at, input, group_key, limited, limit_key, version, trace, created_at)
      select o.queue, o.kind, o.id, i.ref, 'waiting', o.priority * 2 + 1, ${runAt}, i.input, $7::text,
        coalesce((select limited from retoma.queue where name = o.queue), false),
        coalesce((select ${limitKeyOf('q', '$7::text', 'o.id')} from retoma.queue q where q.name = o.queue), ''), $10::int, $11::text,
        coalesce($5::timestamptz, now())
      from open o cross join rows from (jsonb_array_elements($8::jsonb), unnest($9::text[])) as i (input, ref)
      returning id
    ), ${noted}`,
}

// Rows are inserted in the order of the keys, as in every enqueue. Otherwise two callers with the same keys in opposite order would
// deadlock.
const different = {
  name: 'batch_chunk_mixed',
  text: `
    with ${open}, made as (
      insert into retoma.job (queue, kind, batch_id, key, unique_until, ref, state, claim_rank, run_at, input, group_key, limited, limit_key, version, trace, created_at)
      select o.queue, o.kind, o.id, i.key, i.unique_until, i.ref, 'waiting', coalesce(i.priority, o.priority) * 2 + 1,
        greatest(coalesce(i.run_at, coalesce($5::timestamptz, now())) + make_interval(secs => i.delay_ms / 1000), coalesce($5::timestamptz, now())),
        i.input, i.group_key, coalesce(q.limited, false), ${limitKeyOf('q', 'i.group_key', 'o.id')}, $13::int, $14::text,
        coalesce($5::timestamptz, now())
      from open o
        left join retoma.queue q on q.name = any (array[o.queue])
        cross join unnest($7::text[], $8::text[], $9::text[], $10::smallint[], $3::timestamptz[], $4::float8[], $11::text[], $12::jsonb[])
          with ordinality as i (key, unique_until, ref, priority, run_at, delay_ms, group_key, input, ord)
      order by o.kind, i.key, i.ord
      on conflict (kind, key) where unique_until is not null do nothing
      returning id
    ), ${noted}`,
}

/** An item to insert; `input` is JSON text. */
export interface NewItem {
  input: string
  ref: string | null
}

export interface VariedItem extends NewItem {
  key: string | null
  keyHold: 'day' | 'final' | null
  /** null: the priority of the batch. */
  priority: number | null
  runAt: Date | null
  delayMs: number
  groupKey: string | null
}

export interface Shared {
  runAt: Date | null
  delayMs: number
  groupKey: string | null
}

/**
 * Adds the items `from`, `from + 1` … of the list. Returns undefined if the items were added before, or if the batch accepts no more
 * items.
 */
export async function addUniformItems(
  on: Runs,
  id: string,
  from: number,
  shared: Shared,
  items: readonly NewItem[],
  now: Date | null,
  version = 1,
  trace: string | null = null,
): Promise<Submission | undefined> {
  const inputs = `[${items.map(item => item.input).join(',')}]`
  const refs = items.map(item => item.ref)
  const values = [
    id,
    from,
    shared.runAt,
    shared.delayMs,
    now,
    items.length,
    shared.groupKey,
    inputs,
    refs,
    storedVersion(version),
    trace,
  ]
  const [row] = await on.run<Submission>(alike, values)
  return row
}

/** Adds items that differ in more than input and ref. An item whose unique key another job has is left out. */
export async function addVariedItems(
  on: Runs,
  id: string,
  from: number,
  kind: string,
  items: readonly VariedItem[],
  now: Date | null,
  version = 1,
  trace: string | null = null,
): Promise<Submission | undefined> {
  const column = <K extends keyof VariedItem>(name: K) => items.map(item => item[name])
  const keys = column('key').filter(key => key !== null)
  if (keys.length > 0) await on.run(freeOldKeys, [keys.map(() => kind), keys, now])
  const [row] = await on.run<Submission>(different, [
    id, from, column('runAt'), column('delayMs'), now, items.length, column('key'), column('keyHold'), column('ref'),
    column('priority'), column('groupKey'), column('input'), storedVersion(version), trace,
  ]) // biome-ignore format: the columns in their order
  return row
}

// The list is complete. From here on the batch can end.
const close = {
  name: 'batch_close',
  text: `
    update retoma.batch b
    set submitted_at = coalesce($3::timestamptz, now()), state = case when state = 'submitting' then 'running' else state end
    where id = $1::bigint and items_received = $2::int and submitted_at is null and state in ('submitting', 'paused', 'stalled')
    returning ${columns}`,
}

export async function closeSubmit(
  on: Runs,
  id: string,
  received: number,
  now: Date | null,
): Promise<Submission | undefined> {
  const [row] = await on.run<Submission>(close, [id, received, now])
  return row
}
