/**
 * Defines the job of a sync: the item, its accounts, then the transactions of each account, page by page. The first window of an account is
 * twelve months; a later window begins some days before the newest known transaction.
 *
 * Invariant: a page and the position after the page are written in one transaction with the fence of the attempt. A process that dies in
 * the middle therefore repeats at most the request of one page, and a transaction is never there twice. Transactions that the bank does not
 * list any more are marked only after the last page, and only if no page was missed.
 */
import { createHash } from 'node:crypto'
import {
  defineJob,
  type Engine,
  hours,
  isNonRetryable,
  type Job,
  type JobContext,
  type JobTransaction,
  minutes,
  RetomaError,
  seconds,
  snooze,
} from 'retoma'
import { clockOf } from 'retoma/http'
import { z } from 'zod'
import {
  type AccountState,
  finishItem,
  lockAccount,
  markRemovedTransactions,
  readAccountStates,
  readItemIds,
  readNewest,
  type SyncOfItem,
  type SyncPosition,
  saveAccounts,
  saveItem,
  savePosition,
  saveTransactions,
} from '../store/bank-data.ts'
import { countPage, readSyncOfJob, type SyncOfJob } from '../store/bank-syncs.ts'
import { openFinanceErrors } from './errors.ts'
import { bankProblem, unknownItem } from './problem.ts'
import { afterPage, beginning, isEndless } from './sync-position.ts'
import type { BankAccount, BankItem, BankProvider, BankTransaction, TransactionPage } from './types.ts'

export const syncQueue = 'sync'
/** The name of the provider in the engine. */
const providerName = 'pluggy'

/** The window of the first sync. */
const firstMonths = 12
/** Days that a later window repeats: purchases by card change until the bill is closed. */
const overlapDays = 30
/** The bank is collecting data: the sync looks again. */
const lookAgain = seconds(15)
/** A sync reads the present data of a bank that collects data for longer. */
const longestUpdate = minutes(3)

/** The row of the sync has the user and the item: the input of a job is for every viewer of the engine. */
export type SyncJob = Job<Record<string, never>>

export interface SyncJobOptions {
  provider: BankProvider
  engine: () => Engine
}

export function createSyncJob(options: SyncJobOptions): SyncJob {
  return defineJob({
    kind: 'open-finance-sync',
    internal: true,
    private: true,
    queue: syncQueue,
    input: z.object({}),
    maxAttempts: 3,
    backoff: { first: seconds(5), factor: 2, max: minutes(10), jitter: 0.1 },
    timeout: hours(1),
    expect: minutes(1),
    maxAge: hours(24),
    stallAfter: minutes(10),
    onStall: 'fail',
    messages: { stalled: 'Processing timeout (watchdog)', overdue: 'a sincronização esperou por mais de 24 h' },
    run: ctx => new SyncRun(ctx, options).run(),
  })
}

interface PageToSave {
  account: string
  /** First day of the window. */
  from: string
  before: SyncPosition
  page: TransactionPage
  /** The bank has given all data to Pluggy. */
  isCollected: boolean
}

class SyncRun {
  readonly #ctx: JobContext
  readonly #options: SyncJobOptions

  constructor(ctx: JobContext, options: SyncJobOptions) {
    this.#ctx = ctx
    this.#options = options
  }

  async run() {
    const sync = await readSyncOfJob(this.#ctx, this.#ctx.id)
    if (sync === undefined) throw erased()
    if (sync.simulated !== this.#isSimulated) throw otherMode(sync.simulated)
    const items = await this.#itemsOf(sync)
    const problems: Error[] = []
    let isUpdating = false
    for (const item of items) {
      try {
        isUpdating = (await this.#syncItem({ sync: sync.id, item, user: sync.user })) === 'updating' || isUpdating
      } catch (error) {
        // The problem of an item does not hold up the other items. A wait, a stop and a lost lease concern all items.
        if (this.#ctx.signal.aborted || !isOfItem(error)) throw error
        problems.push(error)
      }
    }
    if (isUpdating) return snooze(lookAgain)
    const problem = problems.find(each => !isNonRetryable(each)) ?? problems[0]
    if (problem !== undefined) throw problem
    return { items: items.length }
  }

  /** `updating`: the bank is collecting data, and the sync looks again. */
  async #syncItem(of: SyncOfItem): Promise<'read' | 'updating'> {
    const { item, user } = of
    const found = await this.#ask(signal => this.#options.provider.item(item, user, signal))
    await this.#save(`item ${nameOf(item)} ${this.#ctx.attempt}`, async tx => {
      const saved = await saveItem(this.#engine, tx, found, { user, simulated: this.#isSimulated })
      return saved ? undefined : unknownItem()
    })
    const problem = problemOf(found)
    if (problem !== null) throw problem
    if (isBeingUpdated(found)) {
      const now = clockOf(this.#engine).now().getTime()
      const since = await this.#ctx.step(`updating ${nameOf(item)}`, () => now)
      if (now - since < longestUpdate) return 'updating'
    }
    await this.#readItem(of, { isWhole: isCollected(found) })
    return 'read'
  }

  get #engine(): Engine {
    return this.#options.engine()
  }

  get #isSimulated(): boolean {
    return this.#options.provider.simulated
  }

  /** The items of the sync; without an item: all items of the user. */
  async #itemsOf({ item, user }: SyncOfJob): Promise<string[]> {
    if (item !== null) return [item]
    const own = this.#options.provider.itemOf(user)
    const known = await readItemIds(this.#ctx, user, { simulated: this.#isSimulated })
    return own === null || known.includes(own) ? known : [own, ...known]
  }

  /** `isWhole`: the bank has given all data. Otherwise nothing counts as removed, and the next sync reads the same window again. */
  async #readItem(of: SyncOfItem, { isWhole }: { isWhole: boolean }): Promise<void> {
    const accounts = await this.#ask(signal => this.#options.provider.accounts(of.item, signal))
    const options = { firstDay: this.#firstDay(), overlapDays, simulated: this.#isSimulated, mayRemove: isWhole }
    await this.#save(`accounts ${nameOf(of.item)} ${this.#ctx.attempt}`, async tx =>
      (await saveAccounts(this.#engine, tx, of, accounts, options)) ? undefined : erased(),
    )
    const states = await readAccountStates(this.#ctx, of)
    for (const [index, state] of states.entries()) {
      const account = accounts.find(({ id }) => id === state.id)
      if (account !== undefined && !state.isRead) await this.#readAccount(of, account, state, isWhole)
      await this.#ctx.progress({ done: index + 1, total: states.length })
    }
    await this.#save(`read ${nameOf(of.item)} ${this.#ctx.attempt}`, async tx => {
      await finishItem(this.#engine, tx, of)
      return undefined
    })
  }

  #firstDay(): string {
    const now = clockOf(this.#engine).now()
    return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - firstMonths, now.getUTCDate()))
      .toISOString()
      .slice(0, 10)
  }

  async #readAccount(of: SyncOfItem, account: BankAccount, state: AccountState, isCollected: boolean): Promise<void> {
    const { from } = state
    for (let position = state.position ?? beginning; ; ) {
      const before = position
      const request = { item: of.item, account: account.id, currency: account.currency, from, place: before.place }
      const page = await this.#ask(signal => this.#options.provider.transactions(request, signal))
      const after = await this.#ctx.transaction(`page ${nameOf(account.id)} ${before.pages + 1}`, tx =>
        this.#savePage(tx, of, { account: account.id, from, before, page, isCollected }),
      )
      if (after === null) throw erased()
      if (after.isRead) return
      if (isEndless(after.position)) throw endless()
      position = after.position
    }
  }

  /** null: the account was erased. */
  async #savePage(tx: JobTransaction, of: SyncOfItem, { account, from, before, page, isCollected }: PageToSave) {
    const home = this.#engine
    if (!(await lockAccount(tx, of, account))) return null
    const saved = await saveTransactions(home, tx, of, account, distinct(page.transactions))
    const { position, isRead, isWhole } = afterPage(before, page, saved.fresh)
    const isEverything = isRead && isWhole && isCollected
    const removed = isEverything ? await markRemovedTransactions(home, tx, of, account, from) : 0
    const readTo = isEverything ? await readNewest(home, tx, of.item, account) : null
    await savePosition(tx, of, account, { position: isRead ? null : position, isRead, readTo })
    await countPage(tx, of.sync, { added: saved.added, changed: saved.changed, removed, accounts: isRead ? 1 : 0 })
    return { position, isRead }
  }

  /** Sends one request to Pluggy. A wait or a stop of Pluggy holds for all workers. */
  #ask<T>(request: (signal: AbortSignal) => Promise<T>): Promise<T> {
    if (this.#isSimulated) return request(this.#ctx.signal)
    return this.#ctx.provider(providerName, request)
  }

  /** Writes in a transaction; an error that `write` returns is thrown after the transaction. */
  async #save(name: string, write: (tx: JobTransaction) => Promise<Error | undefined>): Promise<void> {
    let problem: Error | undefined
    await this.#ctx.transaction(name, async tx => {
      problem = await write(tx)
    })
    if (problem !== undefined) throw problem
  }
}

type ItemStatus = Pick<BankItem, 'status' | 'detail'>

/** Statuses and execution statuses of Pluggy: the user must connect the bank again. */
const refusedLogins: readonly string[] = [
  'LOGIN_ERROR',
  'INVALID_CREDENTIALS',
  'INVALID_CREDENTIALS_MFA',
  'ACCOUNT_CREDENTIALS_RESET',
  'USER_AUTHORIZATION_NOT_GRANTED',
  'USER_AUTHORIZATION_REVOKED',
  'USER_NOT_SUPPORTED',
]

/** The user must do something at the bank. */
const waitsForUser: readonly string[] = [
  'WAITING_USER_INPUT',
  'WAITING_USER_ACTION',
  'USER_AUTHORIZATION_PENDING',
  'USER_INPUT_TIMEOUT',
  'ACCOUNT_LOCKED',
  'ACCOUNT_NEEDS_ACTION',
  'ALREADY_LOGGED_IN',
]

/** A connection that only its user can mend; null: the data can be read. The detail of an item that is UPDATED is of the past. */
export function problemOf({ status, detail }: ItemStatus): Error | null {
  const facts = { detail: detail ?? status }
  const words = status === 'UPDATED' ? [] : [status, detail ?? '']
  if (words.some(each => waitsForUser.includes(each)))
    return bankProblem(new RetomaError(openFinanceErrors.bank_waits_for_user, facts))
  if (words.some(each => refusedLogins.includes(each)))
    return bankProblem(new RetomaError(openFinanceErrors.bank_login_refused, facts))
  return null
}

const isBeingUpdated = ({ status }: ItemStatus): boolean => status === 'UPDATING' || status === 'MERGING'

/** The last collection at the bank has ended with all products. */
const isCollected = ({ status, detail }: ItemStatus): boolean => status === 'UPDATED' && detail !== 'PARTIAL_SUCCESS'

/** The failure is about one item: Pluggy does not know the item, the user must act, or an answer is of no use. */
const isOfItem = (error: unknown): error is Error =>
  error instanceof Error && (isNonRetryable(error) || error.name === 'ProviderError' || error.name === 'BankError')

const otherMode = (isSimulated: boolean) =>
  bankProblem(
    new RetomaError(
      isSimulated ? openFinanceErrors.bank_sync_simulated : openFinanceErrors.bank_worker_without_keys,
      {},
    ),
  )

const erased = () => bankProblem(new RetomaError(openFinanceErrors.bank_data_erased, {}))

const endless = () =>
  Object.assign(new Error('a resposta do Pluggy não serve: a lista de transações se repete e não termina'), {
    name: 'BankError',
    code: 'provider_useless',
  })

/** Each transaction once, with its last values. */
const distinct = (given: readonly BankTransaction[]): BankTransaction[] => [
  ...new Map(given.map(each => [each.id, each])).values(),
]

/** The name of an id in steps, which every viewer of the engine sees. */
const nameOf = (id: string): string => createHash('sha256').update(id).digest('hex').slice(0, 24)
