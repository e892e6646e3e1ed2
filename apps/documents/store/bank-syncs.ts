/**
 * Stores syncs: created with the job, counted by the pages, erased with the item. The status of a sync is the state of its job, so that
 * both always agree.
 */
import type { Engine, JobTransaction } from 'retoma'
import { clockOf } from 'retoma/http'
import type { Status } from '../status.ts'

type Home = Pick<Engine, 'query'>

const ensure = `
  insert into documents.bank_user as u (user_id, group_key) values ($1, gen_random_uuid())
  on conflict (user_id) do update set user_id = u.user_id
  returning group_key::text as "groupKey"`

/** The name of the user in the engine. Concurrent calls for one user wait for each other. */
export async function ensureBankUser(tx: JobTransaction, user: string): Promise<string> {
  return (await tx.query<{ groupKey: string }>(ensure, [user])).rows[0]!.groupKey
}

const insert = `
  insert into documents.bank_sync (id, user_id, item_id, job_id, simulated, created_at)
  values ($1, $2, $3, $4, $5, coalesce($6::timestamptz, now()))`

export interface NewSync {
  id: string
  user: string
  /** null: all items of the user. */
  item: string | null
  job: string
  simulated: boolean
}

export async function insertSync(home: Engine, tx: JobTransaction, given: NewSync): Promise<void> {
  const { id, user, item, job, simulated } = given
  await tx.query(insert, [id, user, item, job, simulated, clockOf(home).instant()])
}

const ofJob = `
  select s.id, s.user_id as "user", s.item_id as item, s.simulated from documents.bank_sync s where s.job_id = $1`

export interface SyncOfJob {
  id: string
  user: string
  item: string | null
  simulated: boolean
}

/** undefined: the sync is erased. */
export async function readSyncOfJob(home: Pick<JobTransaction, 'query'>, job: string): Promise<SyncOfJob | undefined> {
  return (await home.query<SyncOfJob>(ofJob, [job])).rows[0]
}

// A sync of the item, or a sync of all items that has not read this item to the end.
const openOfItem = `
  select s.id from documents.bank_sync s join retoma.job j on j.id = any (array[s.job_id])
  where s.user_id = $1 and s.simulated = $3 and j.state in ('waiting', 'running', 'stalled')
    and (s.item_id = $2 or s.item_id is null and exists (
      select from documents.bank_item i left join documents.bank_account a on a.item_id = i.id and a.sync_id = s.id and a.removed_at is null
      where i.id = $2 and i.user_id = s.user_id and i.simulated = s.simulated and a.is_read is not true))
  order by s.item_id nulls last, s.id limit 1`

/** The open sync that will have read the item; undefined: none. The caller has the lock of the user (`ensureBankUser`). */
export async function readOpenSync(
  tx: JobTransaction,
  { user, item, simulated }: { user: string; item: string; simulated: boolean },
): Promise<{ id: string } | undefined> {
  return (await tx.query<{ id: string }>(openOfItem, [user, item, simulated])).rows[0]
}

export interface SyncRow {
  id: string
  user: string
  item_id: string | null
  status: Status
  error_code: string | null
  error_message: string | null
  /** The engine's word for the failure. */
  error_type: string | null
  /** Of a sync that is PENDING and not simulated: a simulated sync asks Pluggy nothing. */
  pluggy: 'waiting' | 'stopped' | null
  /** Of a sync that is PENDING after an attempt: the time of the next attempt. */
  waits_until: Date | null
  attempts: number
  accounts: number
  added: number
  changed: number
  removed: number
  simulated: boolean
  created_at: Date
  started_at: Date | null
  updated_at: Date
  completed_at: Date | null
  job: string
}

// A job that was skipped or cancelled has no result: the sync is FAILED. A job that the janitor has removed takes the sync with it.
const shown = `
  s.id, s.user_id as "user", s.item_id, st.status,
  case when st.status = 'FAILED' then j.error ->> 'code' end as error_code,
  case when st.status = 'FAILED' then j.error ->> 'message' end as error_message,
  case when st.status = 'FAILED' then j.error ->> 'type' end as error_type,
  case when st.status = 'PENDING' and p.stopped_at is not null then 'stopped' when st.status = 'PENDING' and p.name is not null then 'waiting'
  end as pluggy,
  case when st.status = 'PENDING' and j.attempt > 0 then j.run_at end as waits_until,
  j.failures + (j.state in ('running', 'succeeded'))::int as attempts,
  s.accounts, s.added, s.changed, s.removed, s.simulated, s.created_at, j.started_at,
  greatest(s.created_at, j.started_at, j.progress_at, j.finished_at) as updated_at, j.finished_at as completed_at, j.id::text as job`

const source = `
  documents.bank_sync s
  join retoma.job j on j.id = any (array[s.job_id])
  cross join lateral (
    select case j.state when 'waiting' then 'PENDING' when 'running' then 'PROCESSING' when 'stalled' then 'PROCESSING'
      when 'succeeded' then 'DONE' else 'FAILED' end as status
  ) st
  left join retoma.provider p on p.name = 'pluggy' and not s.simulated and (p.wait_until > coalesce($1::timestamptz, now()) or p.stopped_at is not null)`

const one = `
  select ${shown} from ${source} where s.id = $2 and ($3::text is null or s.user_id = $3)`

/** undefined: the owner has no such sync. */
export async function readSync(home: Engine, id: string, owner: string | null): Promise<SyncRow | undefined> {
  return (await home.query<SyncRow>(one, [clockOf(home).instant(), id, owner])).rows[0]
}

const list = `
  select ${shown} from ${source}
  where s.id < $2 and ($3::text is null or st.status = $3)
  order by s.id desc limit $4`

const listOfUser = `
  select ${shown} from ${source}
  where s.user_id = $5 and s.id < $2 and ($3::text is null or st.status = $3)
  order by s.id desc limit $4`

/** The newest first. */
export async function listSyncs(
  home: Engine,
  owner: string | null,
  { before, status, limit }: { before: string; status: string | null; limit: number },
): Promise<SyncRow[]> {
  const values = [clockOf(home).instant(), before, status, limit]
  const found = owner === null ? home.query<SyncRow>(list, values) : home.query<SyncRow>(listOfUser, [...values, owner])
  return (await found).rows
}

const count = `
  update documents.bank_sync
  set accounts = accounts + $2, added = added + $3, changed = changed + $4, removed = removed + $5
  where id = $1`

export async function countPage(
  tx: JobTransaction,
  sync: string,
  given: { accounts: number; added: number; changed: number; removed: number },
): Promise<void> {
  await tx.query(count, [sync, given.accounts, given.added, given.changed, given.removed])
}

const jobsOfItem = `
  select s.id, s.job_id::text as job from documents.bank_sync s where s.user_id = $1 and (s.item_id = $2 or s.item_id is null)
  order by s.id`

/** The syncs that read the item, or all items of the user. */
export async function readSyncsOfItem(home: Home, user: string, item: string): Promise<{ id: string; job: string }[]> {
  return (await home.query<{ id: string; job: string }>(jobsOfItem, [user, item])).rows
}

const remove = `delete from documents.bank_sync where id = $1`

export async function removeSync(home: Home, id: string): Promise<void> {
  await home.query(remove, [id])
}

// Every sync is looked at, by pages: a sync whose job stays says nothing about the syncs after it.
const removeOld = `
  with page as materialized (
    select s.id, s.job_id from documents.bank_sync s where s.id > $1 order by s.id limit 1000
  ), gone as materialized (
    select o.id from page o where (select j.id from retoma.job j where j.id = any (array[o.job_id])) is null
  ), removed as (
    delete from documents.bank_sync s where s.id = any (array(select id from gone))
  )
  select id as last from page order by id desc limit 1`

/** Removes the syncs of a page whose job the janitor has removed. Returns the last id of the page; null: there is no sync after `after`. */
export async function removeOldSyncs(home: Home, after: string): Promise<string | null> {
  return (await home.query<{ last: string }>(removeOld, [after])).rows[0]?.last ?? null
}
