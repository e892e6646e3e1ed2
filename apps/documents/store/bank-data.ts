/**
 * Stores items, accounts and transactions as a sync finds them, and erases them.
 *
 * Invariant: each write of a sync runs in a transaction with the fence of its attempt, together with the position of the sync. A page that
 * comes twice therefore changes nothing the second time, and a page is lost only together with its position. A row of another user, or of
 * an item that was erased meanwhile, is not written.
 */
import type { Engine, JobTransaction } from 'retoma'
import { clockOf } from 'retoma/http'
import type { BankAccount, BankItem, BankTransaction, PagePlace } from '../open-finance/types.ts'

type Home = Pick<Engine, 'query'>
type Reader = Pick<JobTransaction, 'query'>

// The owner is the user of the first insert. An item stays simulated, or real: simulated money never enters a real item.
const saveItemText = `
  insert into documents.bank_item as i (id, user_id, institution, status, status_detail, checked_at, simulated, created_at)
  values ($1, $2, $3, $4, $5, coalesce($7::timestamptz, now()), $6, coalesce($7::timestamptz, now()))
  on conflict (id) do update
    set institution = coalesce(excluded.institution, i.institution), status = excluded.status, status_detail = excluded.status_detail,
      checked_at = excluded.checked_at
    where i.user_id = excluded.user_id and i.simulated = excluded.simulated`

/** false: another user has the item, or the item is simulated and the sync is not, or the other way round. */
export async function saveItem(
  home: Engine,
  tx: JobTransaction,
  item: BankItem,
  { user, simulated }: { user: string; simulated: boolean },
): Promise<boolean> {
  const { id, institution, status, detail } = item
  const values = [id, user, institution, status, detail, simulated, clockOf(home).instant()]
  return ((await tx.query(saveItemText, values)).rowCount ?? 0) > 0
}

const itemIds = `select i.id from documents.bank_item i where i.user_id = $1 and i.simulated = $2 order by i.id`

export async function readItemIds(
  home: Reader,
  user: string,
  { simulated }: { simulated: boolean },
): Promise<string[]> {
  return (await home.query<{ id: string }>(itemIds, [user, simulated])).rows.map(({ id }) => id)
}

// A sync that begins with an account takes the window from the end of the last whole sync.
const saveAccountsText = `
  insert into documents.bank_account as a
    (item_id, id, user_id, name, type, subtype, last_digits, currency, balance, balance_at, simulated, created_at, window_from, sync_id,
      is_read)
  select $1, t.id, $2, t.name, t.type, t.subtype, t.last_digits, t.currency, t.balance, coalesce($14::timestamptz, now()), $3,
    coalesce($14::timestamptz, now()), $4::date, $5::uuid, false
  from unnest($7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::numeric[])
    as t (id, name, type, subtype, last_digits, currency, balance)
  order by t.id
  on conflict (item_id, id) do update
    set name = excluded.name, type = excluded.type, subtype = excluded.subtype, last_digits = excluded.last_digits,
      currency = excluded.currency, balance = excluded.balance, balance_at = excluded.balance_at,
      removed_at = null, sync_id = excluded.sync_id,
      window_from = case when a.sync_id = excluded.sync_id then a.window_from
        else coalesce((a.synced_to - make_interval(days => $6))::date, excluded.window_from) end,
      position = case when a.sync_id = excluded.sync_id then a.position end,
      is_read = a.sync_id = excluded.sync_id and a.is_read`

const removeAccountsText = `
  update documents.bank_account a set removed_at = coalesce($3::timestamptz, now())
  where a.item_id = $1 and a.removed_at is null and not (a.id = any ($2::text[]))`

const lockItem = `select i.id from documents.bank_item i where i.id = $1 and i.user_id = $2 and i.simulated = $3 for share`

export interface SyncOfItem {
  sync: string
  item: string
  user: string
}

export interface AccountOptions {
  /** The start of the first window. */
  firstDay: string
  /** Days that a later window repeats. */
  overlapDays: number
  simulated: boolean
  /** An account that is not in the list counts as removed. */
  mayRemove: boolean
}

/** false: the item was erased. */
export async function saveAccounts(
  home: Engine,
  tx: JobTransaction,
  { sync, item, user }: SyncOfItem,
  accounts: readonly BankAccount[],
  { firstDay, overlapDays, simulated, mayRemove }: AccountOptions,
): Promise<boolean> {
  if ((await tx.query(lockItem, [item, user, simulated])).rowCount === 0) return false
  const of = (name: keyof BankAccount) => accounts.map(each => each[name])
  const now = clockOf(home).instant()
  await tx.query(saveAccountsText, [
    item,
    user,
    simulated,
    firstDay,
    sync,
    overlapDays,
    of('id'),
    of('name'),
    of('type'),
    of('subtype'),
    of('lastDigits'),
    of('currency'),
    of('balance'),
    now,
  ])
  if (mayRemove) await tx.query(removeAccountsText, [item, of('id'), now])
  return true
}

/** The place of a sync in the list of transactions of an account, after a page. */
export interface SyncPosition {
  /** null: the account is read anew from the first page. */
  place: PagePlace | null
  /** Saved pages. */
  pages: number
  /** Different transactions since the first page. */
  seen: number
  /** Pages without a transaction that was not seen before. */
  repeated: number
  /** How often the account was read anew. */
  restarts: number
  /** All transactions of the window, as the first page said; null: unknown. */
  total: number | null
}

export interface AccountState {
  id: string
  /** First day of the window. */
  from: string
  position: SyncPosition | null
  isRead: boolean
}

const accountStates = `
  select a.id, a.window_from::text as "from", a.position, a.is_read as "isRead"
  from documents.bank_account a where a.item_id = $1 and a.sync_id = $2 and a.removed_at is null order by a.id`

export async function readAccountStates(home: Reader, { item, sync }: SyncOfItem): Promise<AccountState[]> {
  return (await home.query<AccountState>(accountStates, [item, sync])).rows
}

const movePosition = `
  update documents.bank_account a
  set position = $4::jsonb, is_read = $5, synced_to = case when $5 then greatest(a.synced_to, $6::timestamptz) else a.synced_to end
  where a.item_id = $1 and a.id = $2 and a.sync_id = $3::uuid`

const lockAccountText = `
  select a.id from documents.bank_account a where a.item_id = $1 and a.id = $2 and a.sync_id = $3::uuid for update`

/** Locks the account, as the first of the writes of a page. false: the account was erased. */
export async function lockAccount(tx: JobTransaction, { sync, item }: SyncOfItem, account: string): Promise<boolean> {
  return ((await tx.query(lockAccountText, [item, account, sync])).rowCount ?? 0) > 0
}

// The rows as they were before this statement: a row that this sync has seen before is no new row.
const saveTransactionsText = `
  with given as materialized (
    select * from unnest($5::text[], $6::timestamptz[], $7::date[], $8::text[], $9::numeric[], $10::text[], $11::text[], $12::text[],
        $13::text[], $14::text[])
      as t (id, occurred_at, day, description, amount, currency, type, status, category, category_id)
  ), old as materialized (
    select b.id, b.sync_id,
      b.removed_at is not null or (b.occurred_at, b.description, b.amount, b.currency, b.type, b.status, b.category, b.category_id)
        is distinct from (g.occurred_at, g.description, g.amount, g.currency, g.type, g.status, g.category, g.category_id) as differs
    from given g join documents.bank_transaction b on b.item_id = $1 and b.account_id = $2 and b.id = g.id
  ), written as (
    insert into documents.bank_transaction as b
      (item_id, account_id, id, user_id, occurred_at, day, description, amount, currency, type, status, category, category_id, sync_id,
        created_at, updated_at)
    select $1, $2, g.id, $3, g.occurred_at, g.day, g.description, g.amount, g.currency, g.type, g.status, g.category, g.category_id,
      $4::uuid, coalesce($15::timestamptz, now()), coalesce($15::timestamptz, now())
    from given g order by g.id
    on conflict (item_id, account_id, id) do update
      set occurred_at = excluded.occurred_at, day = excluded.day, description = excluded.description, amount = excluded.amount,
        currency = excluded.currency, type = excluded.type, status = excluded.status, category = excluded.category,
        category_id = excluded.category_id, sync_id = excluded.sync_id, removed_at = null,
        updated_at = case
          when b.removed_at is not null or (b.occurred_at, b.description, b.amount, b.currency, b.type, b.status, b.category, b.category_id)
            is distinct from (excluded.occurred_at, excluded.description, excluded.amount, excluded.currency, excluded.type,
              excluded.status, excluded.category, excluded.category_id)
          then excluded.updated_at else b.updated_at end
    returning b.id
  )
  select count(*) filter (where o.id is null)::int as added, count(*) filter (where o.differs)::int as changed,
    count(*) filter (where o.id is null or o.sync_id <> $4::uuid)::int as fresh
  from written w left join old o on o.id = w.id`

// The first day of the window is left out: the filter of the bank may begin in the middle of the day.
const markRemoved = `
  update documents.bank_transaction b set removed_at = coalesce($5::timestamptz, now()), updated_at = coalesce($5::timestamptz, now())
  where b.item_id = $1 and b.account_id = $2 and b.day > $4::date and b.removed_at is null and b.sync_id <> $3::uuid`

export interface SavedPage {
  added: number
  changed: number
  /** Transactions that this sync had not seen before. */
  fresh: number
}

/** Writes the transactions of a page; each id occurs once. */
export async function saveTransactions(
  home: Engine,
  tx: JobTransaction,
  { sync, item, user }: SyncOfItem,
  account: string,
  transactions: readonly BankTransaction[],
): Promise<SavedPage> {
  const of = (name: keyof BankTransaction) => transactions.map(each => each[name])
  const values = [
    item,
    account,
    user,
    sync,
    of('id'),
    of('occurredAt'),
    of('day'),
    of('description'),
    of('amount'),
    of('currency'),
    of('type'),
    of('status'),
    of('category'),
    of('categoryId'),
    clockOf(home).instant(),
  ]
  return (await tx.query<SavedPage>(saveTransactionsText, values)).rows[0]!
}

/** `readTo`: the newest transaction, after the last page. */
export async function savePosition(
  tx: JobTransaction,
  { sync, item }: SyncOfItem,
  account: string,
  { position, isRead, readTo }: { position: SyncPosition | null; isRead: boolean; readTo: Date | null },
): Promise<void> {
  const values = [item, account, sync, position === null ? null : JSON.stringify(position), isRead, readTo]
  await tx.query(movePosition, values)
}

/** Marks the transactions of the window that the sync has not seen. Returns the number. */
export async function markRemovedTransactions(
  home: Engine,
  tx: JobTransaction,
  { sync, item }: SyncOfItem,
  account: string,
  from: string,
): Promise<number> {
  return (await tx.query(markRemoved, [item, account, sync, from, clockOf(home).instant()])).rowCount ?? 0
}

const newest = `
  select max(b.occurred_at) as at from documents.bank_transaction b
  where b.item_id = $1 and b.account_id = $2 and b.occurred_at <= coalesce($3::timestamptz, now()) and b.removed_at is null`

/** The newest transaction that is not in the future; null: none. */
export async function readNewest(
  home: Engine,
  tx: JobTransaction,
  item: string,
  account: string,
): Promise<Date | null> {
  const values = [item, account, clockOf(home).instant()]
  return (await tx.query<{ at: Date | null }>(newest, values)).rows[0]!.at
}

const finishItemText = `
  update documents.bank_item i set synced_at = coalesce($3::timestamptz, now()) where i.id = $1 and i.user_id = $2`

export async function finishItem(home: Engine, tx: JobTransaction, { item, user }: SyncOfItem): Promise<void> {
  await tx.query(finishItemText, [item, user, clockOf(home).instant()])
}

export interface ItemRow {
  id: string
  user: string
  institution: string | null
  status: string
  status_detail: string | null
  checked_at: Date
  synced_at: Date | null
  simulated: boolean
}

const shownItem = `
  i.id, i.user_id as "user", i.institution, i.status, i.status_detail, i.checked_at, i.synced_at, i.simulated`

const items = `select ${shownItem} from documents.bank_item i where i.id > $1 order by i.id limit $2`
const itemsOfUser = `
  select ${shownItem} from documents.bank_item i where i.user_id = $3 and i.id > $1 order by i.id limit $2`

export async function listItems(
  home: Home,
  owner: string | null,
  { after, limit }: { after: string; limit: number },
): Promise<ItemRow[]> {
  const found =
    owner === null
      ? home.query<ItemRow>(items, [after, limit])
      : home.query<ItemRow>(itemsOfUser, [after, limit, owner])
  return (await found).rows
}

const itemOf = `
  select ${shownItem} from documents.bank_item i where i.id = $1 and ($2::text is null or i.user_id = $2)`

/** undefined: the owner has no such item. */
export async function readItemRow(home: Home, id: string, owner: string | null): Promise<ItemRow | undefined> {
  return (await home.query<ItemRow>(itemOf, [id, owner])).rows[0]
}

export interface AccountRow {
  id: string
  item_id: string
  user: string
  institution: string | null
  name: string
  type: string
  subtype: string | null
  last_digits: string | null
  balance: string
  currency: string
  balance_at: Date
  synced_to: Date | null
  removed_at: Date | null
  simulated: boolean
}

const shownAccount = `
  a.id, a.item_id, a.user_id as "user", i.institution, a.name, a.type, a.subtype, a.last_digits, a.balance::text as balance, a.currency,
  a.balance_at, a.synced_to, a.removed_at, a.simulated`

const accounts = `
  select ${shownAccount} from documents.bank_account a join documents.bank_item i on i.id = a.item_id
  where (a.item_id, a.id) > ($1, $2) and ($3::text is null or a.item_id = $3)
  order by a.item_id, a.id limit $4`

const accountsOfUser = `
  select ${shownAccount} from documents.bank_account a join documents.bank_item i on i.id = a.item_id
  where a.user_id = $5 and (a.item_id, a.id) > ($1, $2) and ($3::text is null or a.item_id = $3)
  order by a.item_id, a.id limit $4`

export async function listAccounts(
  home: Home,
  owner: string | null,
  { after, item, limit }: { after: { item: string; id: string }; item: string | null; limit: number },
): Promise<AccountRow[]> {
  const values = [after.item, after.id, item, limit]
  const found =
    owner === null
      ? home.query<AccountRow>(accounts, values)
      : home.query<AccountRow>(accountsOfUser, [...values, owner])
  return (await found).rows
}

export interface TransactionRow {
  id: string
  item_id: string
  account_id: string
  user: string
  occurred_at: Date
  day: string
  description: string
  amount: string
  currency: string
  type: string
  status: string
  category: string | null
  category_id: string | null
  created_at: Date
  updated_at: Date
  removed_at: Date | null
  simulated: boolean
}

const shownTransaction = `
  b.id, b.item_id, b.account_id, b.user_id as "user", b.occurred_at, b.day::text as day, b.description, b.amount::text as amount,
  b.currency, b.type, b.status, b.category, b.category_id, b.created_at, b.updated_at, b.removed_at, a.simulated`

const withAccount = `
  documents.bank_transaction b join documents.bank_account a on a.item_id = b.item_id and a.id = b.account_id`

const chosen = `
  b.day between $1::date and $2::date and ($3::text is null or b.account_id = $3) and ($4::text is null or b.category = $4)
  and ($5::text is null or b.type = $5)`

const isBefore = `(b.day, b.id, b.item_id, b.account_id) < ($7::date, $8, $10, $11)`

const transactions = `
  select ${shownTransaction} from ${withAccount}
  where ${chosen} and ($6::boolean or b.removed_at is null) and ${isBefore}
  order by b.day desc, b.id desc, b.item_id desc, b.account_id desc limit $9`

const transactionsOfUser = `
  select ${shownTransaction} from ${withAccount}
  where b.user_id = $12 and ${chosen} and ($6::boolean or b.removed_at is null) and ${isBefore}
  order by b.day desc, b.id desc, b.item_id desc, b.account_id desc limit $9`

/** Days are texts: `2026-11-16`. */
export interface TransactionFilter {
  from: string
  to: string
  account: string | null
  category: string | null
  type: string | null
}

/** The place of a transaction in a list. */
export interface TransactionPlace {
  day: string
  id: string
  item: string
  account: string
}

/** The newest first. `before`: the last transaction of the page before. */
export async function listTransactions(
  home: Home,
  owner: string | null,
  filter: TransactionFilter & { withRemoved: boolean; before: TransactionPlace; limit: number },
): Promise<TransactionRow[]> {
  const { from, to, account, category, type, withRemoved, before, limit } = filter
  const place = [before.item, before.account]
  const values = [from, to, account, category, type, withRemoved, before.day, before.id, limit, ...place]
  const found =
    owner === null
      ? home.query<TransactionRow>(transactions, values)
      : home.query<TransactionRow>(transactionsOfUser, [...values, owner])
  return (await found).rows
}

export interface TotalRow {
  month: string
  category: string | null
  currency: string
  /** Sum of the money that came in, without a sign. */
  credit: string
  /** Sum of the money that went out, without a sign. */
  debit: string
  count: number
  simulated: boolean
}

const summed = `
  to_char(b.day, 'YYYY-MM') as month, b.category, b.currency,
  coalesce(sum(abs(b.amount)) filter (where b.type = 'CREDIT'), 0)::numeric(20, 2)::text as credit,
  coalesce(sum(abs(b.amount)) filter (where b.type = 'DEBIT'), 0)::numeric(20, 2)::text as debit, count(*)::int as count,
  a.simulated`

const grouped = `group by 1, b.category, b.currency, a.simulated order by 1, b.category nulls last, b.currency`

const totals = `
  select ${summed} from ${withAccount} where ${chosen} and b.removed_at is null ${grouped}`

const totalsOfUser = `
  select ${summed} from ${withAccount} where b.user_id = $6 and ${chosen} and b.removed_at is null ${grouped}`

/** By month and category, the oldest month first; without removed transactions. Simulated money has rows of its own. */
export async function readTotals(home: Home, owner: string | null, filter: TransactionFilter): Promise<TotalRow[]> {
  const { from, to, account, category, type } = filter
  const values = [from, to, account, category, type]
  const found =
    owner === null ? home.query<TotalRow>(totals, values) : home.query<TotalRow>(totalsOfUser, [...values, owner])
  return (await found).rows
}

const removeTransactions = `delete from documents.bank_transaction b where b.item_id = $1 and b.user_id = $2`
const removeAccounts = `delete from documents.bank_account a where a.item_id = $1 and a.user_id = $2`
const lockForRemoval = `select i.id from documents.bank_item i where i.id = $1 and i.user_id = $2 for update`
const lockAccounts = `select a.id from documents.bank_account a where a.item_id = $1 and a.user_id = $2 order by a.id for update`
const removeItemText = `delete from documents.bank_item i where i.id = $1 and i.user_id = $2`

const lockUser = `select from documents.bank_user u where u.user_id = $1 for update`

// A new sync locks the user first, too. This statement begins after the lock, and therefore sees the sync.
const removeUser = `
  delete from documents.bank_user u where u.user_id = $1
    and not exists (select from documents.bank_item i where i.user_id = u.user_id)
    and not exists (select from documents.bank_sync s where s.user_id = u.user_id)`

/** Removes an item with its accounts and transactions, and the user who has nothing else. */
export function removeItem(home: Pick<Engine, 'transaction'>, item: string, user: string): Promise<void> {
  return home.transaction(async tx => {
    await tx.query(lockForRemoval, [item, user])
    // A page of a sync locks the account first, too.
    await tx.query(lockAccounts, [item, user])
    await tx.query(removeTransactions, [item, user])
    await tx.query(removeAccounts, [item, user])
    await tx.query(removeItemText, [item, user])
    await tx.query(lockUser, [user])
    await tx.query(removeUser, [user])
  })
}
