/**
 * Creates and joins syncs, erases the bank data of an item, and tidies up.
 *
 * Invariant: a sync answered with 202 runs. A sync and its job are written in one transaction. The job has a unique key for the user and
 * the item until its end, so that a second request joins the open sync. A request for an item also joins an open sync of all items that has
 * not read the item to the end. The syncs of a user have one groupKey, of which the queue
 * runs one job at a time, so that no item is read twice at once.
 */
import { createHash } from 'node:crypto'
import {
  defineJob,
  defineSchedule,
  type Engine,
  hours,
  isRetomaError,
  type JobTransaction,
  localized,
  minutes,
  RetomaError,
  type Schedule,
} from 'retoma'
import { clockOf, forgetResponses } from 'retoma/http'
import { firstId, newId } from '../document-id.ts'
import { type ItemRow, readItemIds, readItemRow, removeItem } from '../store/bank-data.ts'
import {
  ensureBankUser,
  insertSync,
  readOpenSync,
  readSyncOfJob,
  readSyncsOfItem,
  removeOldSyncs,
  removeSync,
} from '../store/bank-syncs.ts'
import { type SyncJob, syncQueue } from './sync-job.ts'
import type { BankProvider } from './types.ts'

export interface Syncs {
  job: SyncJob
  provider: BankProvider
}

/** The path of the request that begins a sync, for stored responses. */
const syncRequest = 'post /api/open-finance/sync'

/** Returns the id of the sync; `isJoined`: another request has begun the sync, and the sync is not over. */
export async function beginSync(
  engine: Engine,
  tx: JobTransaction,
  { job, provider }: Syncs,
  { user, item }: { user: string; item: string | null },
): Promise<{ id: string; isJoined: boolean }> {
  const { simulated } = provider
  if (item === null && provider.itemOf(user) === null && (await readItemIds(tx, user, { simulated })).length === 0)
    throw noItem()
  const groupKey = await ensureBankUser(tx, user)
  const covering = item === null ? undefined : await readOpenSync(tx, { user, item, simulated })
  if (covering !== undefined) return { id: covering.id, isJoined: true }
  const key = createHash('sha256')
    .update(`${groupKey}\0${simulated ? 'simulated' : ''}\0${item ?? ''}`)
    .digest('hex')
  const enqueued = await engine.enqueue(job, {}, { tx, key, keyUntil: 'final', groupKey })
  if (!enqueued.created) {
    const open = await readSyncOfJob(tx, enqueued.id)
    if (open !== undefined) return { id: open.id, isJoined: true }
  }
  const id = newId(clockOf(engine).now())
  await insertSync(engine, tx, { id, user, item, job: enqueued.id, simulated })
  return { id, isJoined: false }
}

const noItem = () =>
  new RetomaError('bad_request', {
    field: 'item_id',
    problem: localized(
      'you have no bank connection yet: give the item of Pluggy Connect',
      'você ainda não tem uma conexão bancária: informe o item do Pluggy Connect',
    ),
  })

/** Erases an item with its accounts, transactions and syncs; open syncs are cancelled first. false: the owner has no such item. */
export async function eraseItem(engine: Engine, id: string, owner: string | null): Promise<boolean> {
  const found = await readItemRow(engine, id, owner)
  if (found === undefined) return false
  await eraseData(engine, found)
  return true
}

/** After a crash in the middle the item is still there, and a second request erases the rest. */
async function eraseData(engine: Engine, { id, user }: ItemRow): Promise<void> {
  for (const { id: sync, job } of await readSyncsOfItem(engine, user, id)) {
    await engine.jobs.cancel(job).catch(unlessOver)
    await engine.jobs.erase(job)
    await forgetResponses(engine, syncRequest, sync)
    await removeSync(engine, sync)
  }
  await removeItem(engine, id, user)
}

function unlessOver(error: unknown): void {
  if (!isRetomaError(error, 'not_found') && !isRetomaError(error, 'wrong_state')) throw error
}

/** Removes syncs whose job the janitor has removed. */
export function createTidySchedule(engine: () => Engine): Schedule {
  const job = defineJob({
    kind: 'tidy_open_finance',
    internal: true,
    queue: syncQueue,
    timeout: minutes(10),
    run: async () => {
      for (let last: string | null = firstId; last !== null; ) last = await removeOldSyncs(engine(), last)
    },
  })
  return defineSchedule({
    name: 'tidy_open_finance',
    every: hours(1),
    job,
    input: undefined,
    catchUp: 'once',
    options: { key: 'tidy_open_finance', priority: 0 },
  })
}
