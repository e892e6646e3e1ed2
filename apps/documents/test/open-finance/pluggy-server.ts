/**
 * A stand-in for Pluggy: items, accounts and transactions with a ledger, an API key that expires, lists by cursor and by page number. The
 * balance of an account is the sum of its transactions. A call is about its path.
 */
import { type Asked, json, type Reply, type StandIn, standIn } from '../../../quotes/test/servers/stand-in.ts'

export interface LedgerEntry {
  id: string
  /** An instant, as Pluggy writes instants. */
  date: string
  cents: number
  description?: string
  category?: string | null
  /** Fields in place of the usual ones. */
  more?: Record<string, unknown>
}

interface LedgerAccount {
  id: string
  item: string
  name: string
  type: 'BANK' | 'CREDIT'
  entries: LedgerEntry[]
}

export interface PluggyServer extends StandIn {
  readonly baseUrl: string
  readonly clientId: string
  readonly clientSecret: string
  /** The keys that the server has given out. */
  readonly keys: readonly string[]
  /** Refuses the keys given out so far. */
  expireKeys(): void
  /** Gives out no key for these credentials. */
  refuseLogins(isRefused: boolean): void
  setItem(id: string, about?: { status?: string; executionStatus?: string }): void
  removeItem(id: string): void
  /** Adds an account with its transactions to an item. */
  addAccount(item: string, id: string, entries: LedgerEntry[], type?: 'BANK' | 'CREDIT'): LedgerAccount
  account(id: string): LedgerAccount
  /** The balance of an account, as a decimal text. */
  balanceOf(id: string): string
}

export interface PluggyServerOptions {
  /** false: only the list by page number exists. */
  hasCursors?: boolean
  pageSize?: number
}

export async function pluggyServer({
  hasCursors = true,
  pageSize = 5,
}: PluggyServerOptions = {}): Promise<PluggyServer> {
  const clientId = 'client-0a1b2c3d-4e5f'
  const clientSecret = 'secret-9f8e7d6c-5b4a'
  const items = new Map<string, { status: string; executionStatus: string }>()
  const accounts = new Map<string, LedgerAccount>()
  const keys: string[] = []
  let expired = 0
  let isRefused = false

  const balanceOf = (id: string): string => {
    const cents = accounts.get(id)!.entries.reduce((sum, entry) => sum + entry.cents, 0)
    return (cents / 100).toFixed(2)
  }
  const problem = (status: number, message: string, codeDescription?: string): Reply =>
    json({ code: status, message, ...(codeDescription === undefined ? {} : { codeDescription }) }, false, status)

  const server = await standIn({
    about: ({ url }) => url.pathname,
    error: (code, message) => JSON.stringify({ code, message }),
    reply: asked => {
      const { url } = asked
      if (url.pathname === '/auth') return logIn(asked)
      const given = String(asked.headers['x-api-key'] ?? '')
      if (!keys.slice(expired).includes(given)) return problem(403, `Invalid api key ${given}`, 'FORBIDDEN')
      const item = /^\/items\/([^/]+)$/.exec(url.pathname)?.[1]
      if (item !== undefined) return itemReply(decodeURIComponent(item))
      if (url.pathname === '/accounts') return accountsReply(url.searchParams.get('itemId') ?? '')
      if (url.pathname === '/v2/transactions' && hasCursors) return cursorReply(url)
      if (url.pathname === '/transactions') return numberedReply(url)
      return problem(404, 'Not found')
    },
  })

  function logIn({ method, body }: Asked): Reply {
    const given = JSON.parse(body || '{}') as { clientId?: string; clientSecret?: string }
    const isRight = given.clientId === clientId && given.clientSecret === clientSecret
    if (method !== 'POST' || !isRight || isRefused)
      return problem(401, 'Client keys are invalid', 'CLIENT_KEYS_UNAUTHORIZED')
    keys.push(`key-${keys.length + 1}-a8b7c6d5e4f3`)
    return json({ apiKey: keys.at(-1) })
  }

  function itemReply(id: string): Reply {
    const found = items.get(id)
    if (found === undefined) return problem(404, 'Item not found', 'ITEM_NOT_FOUND')
    return json({ id, connector: { id: 201, name: 'Banco Teste' }, ...found, error: null, unknownField: { deep: 1 } })
  }

  function accountsReply(item: string): Reply {
    const results = [...accounts.values()]
      .filter(each => each.item === item)
      .map(({ id, name, type }) => ({
        id,
        itemId: item,
        name,
        type,
        subtype: type === 'BANK' ? 'CHECKING_ACCOUNT' : 'CREDIT_CARD',
        number: `0001/12345-${id.length}`,
        balance: Number(balanceOf(id)),
        currencyCode: 'BRL',
      }))
    return json({ total: results.length, totalPages: 1, page: 1, results })
  }

  const sorted = (account: LedgerAccount, from: string | null) =>
    account.entries
      .filter(({ date }) => from === null || date >= from)
      .sort((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1))

  function cursorReply({ searchParams }: URL): Reply {
    const account = accounts.get(searchParams.get('accountId') ?? '')
    if (account === undefined) return problem(404, 'Account not found')
    const from = searchParams.get('dateFrom')
    const after = Buffer.from(searchParams.get('after') ?? '', 'base64').toString()
    const rest = sorted(account, from).filter(entry => placeOf(entry) > after)
    const results = rest.slice(0, pageSize)
    const query = new URLSearchParams({
      accountId: account.id,
      ...(from === null ? {} : { dateFrom: from }),
      after: Buffer.from(results.length === 0 ? '' : placeOf(results.at(-1)!)).toString('base64'),
    })
    return json({
      results: results.map(entry => entryWire(account, entry)),
      next: rest.length > pageSize ? `?${query}` : null,
    })
  }

  function numberedReply({ searchParams }: URL): Reply {
    const account = accounts.get(searchParams.get('accountId') ?? '')
    if (account === undefined) return problem(404, 'Account not found')
    const page = Number(searchParams.get('page') ?? 1)
    const all = sorted(account, searchParams.get('from')).reverse()
    const results = all.slice((page - 1) * pageSize, page * pageSize).map(entry => entryWire(account, entry))
    return json({ total: all.length, totalPages: Math.ceil(all.length / pageSize), page, results })
  }

  return {
    ...server,
    baseUrl: server.origin,
    clientId,
    clientSecret,
    keys,
    expireKeys: () => {
      expired = keys.length
    },
    refuseLogins: given => {
      isRefused = given
    },
    setItem: (id, { status = 'UPDATED', executionStatus = 'SUCCESS' } = {}) => {
      items.set(id, { status, executionStatus })
    },
    removeItem: id => {
      items.delete(id)
      for (const account of [...accounts.values()]) if (account.item === id) accounts.delete(account.id)
    },
    addAccount: (item, id, entries, type = 'BANK') => {
      const account: LedgerAccount = { id, item, name: `Conta ${id}`, type, entries }
      if (!items.has(item)) items.set(item, { status: 'UPDATED', executionStatus: 'SUCCESS' })
      accounts.set(id, account)
      return account
    },
    account: id => accounts.get(id)!,
    balanceOf,
  }
}

const placeOf = ({ date, id }: LedgerEntry) => `${date}|${id}`

const entryWire = (account: LedgerAccount, { id, date, cents, description, category, more }: LedgerEntry) => ({
  id,
  accountId: account.id,
  date,
  description: description ?? `Compra ${id}`,
  amount: cents / 100,
  currencyCode: 'BRL',
  type: (account.type === 'CREDIT' ? cents > 0 : cents < 0) ? 'DEBIT' : 'CREDIT',
  status: 'POSTED',
  category: category === undefined ? 'Groceries' : category,
  categoryId: '10000000',
  ...more,
})

/** Entries with different ids, one for each day before `last`. */
export const entriesFor = (prefix: string, count: number, last: Date): LedgerEntry[] =>
  Array.from({ length: count }, (_, n) => ({
    id: `${prefix}-${String(n).padStart(4, '0')}`,
    date: new Date(last.getTime() - n * 86_400_000).toISOString(),
    cents: n % 7 === 0 ? 250_075 + n : -(1_010 + n * 37),
  }))
