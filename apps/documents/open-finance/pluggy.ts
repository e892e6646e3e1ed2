/**
 * Reads items, accounts and transactions from Pluggy. Transactions come from the list by cursor (`/v2/transactions`); where the list does
 * not exist, from the list by page number (`/transactions`). Only reads: a sync never forces an update at the bank, because updates have
 * monthly limits for each person and institution.
 *
 * Invariant: neither a value nor an error contains the client secret or the API key. No error names an item or an account: every viewer of
 * the engine sees the errors of jobs.
 */
import {
  callProvider,
  type Duration,
  type Engine,
  hours,
  type ProviderAnswer,
  type ProviderVerdict,
  unwrapVerdict,
} from 'retoma'
import { clockOf } from 'retoma/http'
import { type ApiKey, ApiKeys } from './api-key.ts'
import {
  type Fields,
  judgePluggy,
  readAccounts,
  readApiKey,
  readCursorPage,
  readItem,
  readNumberedPage,
} from './pluggy-answer.ts'
import { refusedItem, unknownItem } from './problem.ts'
import type { BankAccount, BankProvider, PageRequest, TransactionPage } from './types.ts'

export interface PluggyOptions {
  clientId: string
  clientSecret: string
  baseUrl: string
  engine: () => Engine
  /** Time limit of a request. Default: 60 s. */
  timeout?: Duration | undefined
}

const pageSize = 500
/** Pages of accounts of an item. */
const mostPages = 50
/** The list by cursor does not exist at this address. */
const noSuchList = [404, 405, 410, 501]
/** The list by cursor is asked again after this time: the missing list may have been a fault of a moment. */
const cursorsAgainAfter = hours(1)

export function pluggyProvider(options: PluggyOptions): BankProvider {
  return new PluggyProvider(options)
}

class PluggyProvider implements BankProvider {
  readonly simulated = false
  readonly #options: PluggyOptions
  readonly #keys: ApiKeys
  /** The list by cursor was not there: until this instant the other list is asked first. */
  #numberedUntil = 0

  constructor(options: PluggyOptions) {
    this.#options = options
    this.#keys = new ApiKeys({ ...options, logIn: signal => this.#logIn(signal) })
  }

  #now(): number {
    return clockOf(this.#options.engine()).now().getTime()
  }

  itemOf(): null {
    return null
  }

  async item(id: string, _user: string, signal: AbortSignal) {
    const { answer, secrets } = await this.#get(`/items/${encodeURIComponent(id)}`, [id], signal)
    if ('status' in answer && (answer.status === 404 || answer.status === 403)) throw unknownItem()
    return unwrap(chained(judgePluggy(answer, secrets), body => readItem(id, body)))
  }

  async accounts(item: string, signal: AbortSignal): Promise<BankAccount[]> {
    const found = new Map<string, BankAccount>()
    for (let page = 1; page <= mostPages; page++) {
      const query = new URLSearchParams({ itemId: item, ...(page === 1 ? {} : { page: String(page) }) })
      const { answer, secrets } = await this.#getData(`/accounts?${query}`, [item], signal)
      const read = unwrap(chained(judgePluggy(answer, secrets), readAccounts))
      for (const account of read.accounts) found.set(account.id, account)
      if (page >= read.pages) break
    }
    return [...found.values()]
  }

  async transactions(request: PageRequest, signal: AbortSignal): Promise<TransactionPage> {
    const { place } = request
    if (place?.by === 'page') return this.#numbered(request, place.page, signal)
    if (place === null && this.#now() < this.#numberedUntil) return this.#numbered(request, 1, signal)
    const { account, from } = request
    const query = place?.query ?? String(new URLSearchParams({ accountId: account, dateFrom: from }))
    const { answer, secrets } = await this.#getData(`/v2/transactions?${query}`, [request.item, account], signal)
    if (place === null && 'status' in answer && noSuchList.includes(answer.status)) {
      const page = await this.#numbered(request, 1, signal)
      this.#numberedUntil = this.#now() + cursorsAgainAfter
      return page
    }
    return unwrap(chained(judgePluggy(answer, secrets), body => readCursorPage(body, { ...request, query })))
  }

  async #numbered(request: PageRequest, page: number, signal: AbortSignal): Promise<TransactionPage> {
    const { account, from } = request
    const query = new URLSearchParams({ accountId: account, from, page: String(page), pageSize: String(pageSize) })
    const { answer, secrets } = await this.#getData(`/transactions?${query}`, [request.item, account], signal)
    return unwrap(chained(judgePluggy(answer, secrets), body => readNumberedPage(body, { ...request, page, pageSize })))
  }

  /**
   * Gets data of an item that Pluggy has shown before. A status 403 to a new key is therefore about this item, and not about our
   * credentials: the syncs of other users continue.
   */
  async #getData(path: string, ids: readonly string[], signal: AbortSignal) {
    const got = await this.#get(path, ids, signal)
    if ('status' in got.answer && got.answer.status === 403) throw refusedItem()
    return got
  }

  /** A refused key is replaced once: the key may have expired. `ids`: no error repeats them. */
  async #get(
    path: string,
    ids: readonly string[],
    signal: AbortSignal,
  ): Promise<{ answer: ProviderAnswer; secrets: string[] }> {
    const key = await this.#keys.get(signal)
    const answer = await this.#ask(path, key, signal)
    const isRefused = 'status' in answer && (answer.status === 401 || answer.status === 403)
    if (!isRefused) return { answer, secrets: this.#secrets(key.key, ...ids) }
    const renewed = await this.#keys.get(signal, key)
    return { answer: await this.#ask(path, renewed, signal), secrets: this.#secrets(key.key, renewed.key, ...ids) }
  }

  #ask(path: string, { key }: ApiKey, signal: AbortSignal): Promise<ProviderAnswer> {
    const { baseUrl, timeout } = this.#options
    return callProvider({ baseUrl, path, headers: { accept: 'application/json', 'x-api-key': key }, timeout }, signal)
  }

  async #logIn(signal: AbortSignal): Promise<string> {
    const { baseUrl, clientId, clientSecret, timeout } = this.#options
    const answer = await callProvider(
      {
        baseUrl,
        path: '/auth',
        headers: { accept: 'application/json', 'content-type': 'application/json' },
        body: JSON.stringify({ clientId, clientSecret }),
        timeout,
      },
      signal,
    )
    return unwrap(chained(judgePluggy(answer, this.#secrets(), { isLogin: true }), readApiKey))
  }

  #secrets(...more: string[]): string[] {
    const { clientId, clientSecret } = this.#options
    return [clientId, clientSecret, ...more]
  }
}

const chained = <T>(
  verdict: ProviderVerdict<Fields>,
  read: (body: Fields) => ProviderVerdict<T>,
): ProviderVerdict<T> => (verdict.is === 'ok' ? read(verdict.value) : verdict)

const unwrap = <T>(verdict: ProviderVerdict<T>): T => unwrapVerdict(verdict, 'pt')
