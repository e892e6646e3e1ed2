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
import { bankProblem, unknownItem } from './pluggy.ts'
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
  mayRemove: boolean
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
    const items = await this.#itemsOf(sync)
    const problems: Error[] = []
    for (const item of items) {
      const of: SyncOfItem = { sync: sync.id, item, user: sync.user }
      const found = await this.#ask(signal => this.#options.provider.item(item, signal))
      await this.#save(`item ${nameOf(item)} ${this.#ctx.attempt}`, async tx => {
        const saved = await saveItem(this.#engine, tx, found, { user: sync.user, simulated: this.#isSimulated })
        return saved ? undefined : unknownItem()
      })
      const problem = problemOf(found)
      if (problem !== null) {
        problems.push(problem)
        continue
      }
      const age = clockOf(this.#engine).now().getTime() - sync.createdAt.getTime()
      if (found.status === 'UPDATING' && age < longestUpdate) return snooze(lookAgain)
      await this.#readItem(of, { mayRemove: found.status !== 'UPDATING' })
    }
    if (problems[0] !== undefined) throw problems[0]
    return { items: items.length }
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
    const known = await readItemIds(this.#ctx, user)
    return own === null || known.includes(own) ? known : [own, ...known]
  }

  async #readItem(of: SyncOfItem, { mayRemove }: { mayRemove: boolean }): Promise<void> {
    const accounts = await this.#ask(signal => this.#options.provider.accounts(of.item, signal))
    const options = { firstDay: this.#firstDay(), overlapDays, simulated: this.#isSimulated }
    await this.#save(`accounts ${nameOf(of.item)} ${this.#ctx.attempt}`, async tx =>
      (await saveAccounts(this.#engine, tx, of, accounts, options)) ? undefined : erased(),
    )
    const states = await readAccountStates(this.#ctx, of)
    for (const [index, state] of states.entries()) {
      const account = accounts.find(({ id }) => id === state.id)
      if (account !== undefined && !state.isRead) await this.#readAccount(of, account, state, mayRemove)
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

  async #readAccount(of: SyncOfItem, account: BankAccount, state: AccountState, mayRemove: boolean): Promise<void> {
    const { from } = state
    for (let position = state.position ?? beginning; ; ) {
      const before = position
      const request = { item: of.item, account: account.id, currency: account.currency, from, place: before.place }
      const page = await this.#ask(signal => this.#options.provider.transactions(request, signal))
      const after = await this.#ctx.transaction(`page ${nameOf(account.id)} ${before.pages + 1}`, tx =>
        this.#savePage(tx, of, { account: account.id, from, before, page, mayRemove }),
      )
      if (after === null) throw erased()
      if (after.isRead) return
      if (isEndless(after.position)) throw endless()
      position = after.position
    }
  }

  /** null: the account was erased. */
  async #savePage(tx: JobTransaction, of: SyncOfItem, { account, from, before, page, mayRemove }: PageToSave) {
    const home = this.#engine
    if (!(await lockAccount(tx, of, account))) return null
    const saved = await saveTransactions(home, tx, of, account, distinct(page.transactions))
    const { position, isRead, isWhole } = afterPage(before, page, saved.fresh)
    const removed = isRead && isWhole && mayRemove ? await markRemovedTransactions(home, tx, of, account, from) : 0
    const readTo = isRead ? await readNewest(home, tx, of.item, account) : null
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

const waitingForUser = /^(?:WAITING_USER_INPUT|WAITING_USER_ACTION|USER_AUTHORIZATION_PENDING|USER_INPUT_TIMEOUT)$/

/** A connection that only its user can mend; null: the data can be read. */
export function problemOf({ status, detail }: Pick<BankItem, 'status' | 'detail'>): Error | null {
  const facts = { detail: detail ?? status }
  if (status === 'LOGIN_ERROR') return bankProblem(new RetomaError(openFinanceErrors.bank_login_refused, facts))
  if (waitingForUser.test(status) || (status !== 'UPDATED' && waitingForUser.test(detail ?? '')))
    return bankProblem(new RetomaError(openFinanceErrors.bank_waits_for_user, facts))
  return null
}

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
