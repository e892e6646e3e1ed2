/** Begins syncs, and lists syncs, connections, accounts, transactions and totals. Each user sees the rows of this user alone. */
import { type JobTransaction, localized, RetomaError } from 'retoma'
import { once, type Route, route } from 'retoma/http'
import { z } from 'zod'
import { isId } from '../document-id.ts'
import { syncLimit } from '../limits.ts'
import { ownerOf } from '../owner.ts'
import { emptyIsAbsent, idParams, pageOf, placeOf, pageQuery as shortPageQuery } from '../routes/shared.ts'
import { listAccounts, listItems, listTransactions, readTotals } from '../store/bank-data.ts'
import { listSyncs, readSync } from '../store/bank-syncs.ts'
import { problemOf } from './sync-job.ts'
import { beginSync, eraseItem, type Syncs } from './syncs.ts'
import {
  account,
  accountWire,
  item,
  itemWire,
  simulado,
  status,
  sync,
  syncWire,
  totals,
  totalsWire,
  transaction,
  transactionWire,
} from './wire.ts'

const tag = 'open finance'

const pageQuery = {
  ...shortPageQuery,
  after: emptyIsAbsent(z.string().max(400)).meta({ description: 'the `next` of the page before' }),
}

const itemId = z
  .string()
  .regex(/^[\w.:-]{1,100}$/)
  .meta({ description: 'the item of Pluggy Connect; omitted: all connections of the user' })

const dayQuery = z.iso.date().max(10)
const filterQuery = {
  from: emptyIsAbsent(dayQuery).meta({ description: 'first day' }),
  to: emptyIsAbsent(dayQuery).meta({ description: 'last day' }),
  account_id: emptyIsAbsent(z.string().max(100)),
  category: emptyIsAbsent(z.string().max(200)),
  type: emptyIsAbsent(z.enum(['CREDIT', 'DEBIT'])),
}

const [firstDay, lastDay] = ['1970-01-01', '2200-12-31']

/** The filter of a query. */
const filterOf = (given: z.output<z.ZodObject<typeof filterQuery>>) => ({
  from: given.from ?? firstDay,
  to: given.to ?? lastDay,
  account: given.account_id ?? null,
  category: given.category ?? null,
  type: given.type ?? null,
})

const badAfter = () =>
  new RetomaError('bad_request', {
    field: 'after',
    problem: localized('it is the next of an earlier list', 'é o next de uma lista anterior'),
  })

/** The parts of a cursor; undefined: the first page. */
function partsOf(after: string | undefined, form: RegExp): readonly string[] | undefined {
  if (after === undefined) return undefined
  if (!form.test(after)) throw badAfter()
  return after.split('~')
}

/** Splits `limit` + 1 rows into the page and the cursor of the next page. */
function pageFrom<T>(found: readonly T[], limit: number, cursorOf: (last: T) => string) {
  const items = found.slice(0, limit)
  return { items, next: found.length > limit ? cursorOf(items.at(-1)!) : null }
}

const transactionCursor = /^\d{4}-\d{2}-\d{2}(?:~[\w.:-]+){3}$/

const noSync = (id: string) => new RetomaError('not_found', { what: localized('sync', 'sincronização'), id })
const noConnection = (id: string) =>
  new RetomaError('not_found', { what: localized('bank connection', 'conexão bancária'), id })

export const openFinanceRoutes = (syncs: Syncs): readonly Route[] => [
  route({
    method: 'post',
    path: '/api/open-finance/sync',
    name: 'syncBankData',
    tag,
    summary: 'Starts a sync of accounts and transactions; a request during a sync joins the sync',
    role: 'operator',
    limit: syncLimit,
    body: z.strictObject({ item_id: itemId.nullable().optional() }).optional(),
    answer: z.object({
      id: z.string(),
      joined: z.boolean().meta({ description: 'an earlier request has begun this sync' }),
      simulado,
    }),
    status: 202,
    makes: 'exactly',
    errors: [],
    run: call =>
      once(call, async (tx: JobTransaction) => {
        const given = { user: call.who.user, item: call.body?.item_id ?? null }
        const { id, isJoined } = await beginSync(call.engine, tx, syncs, given)
        return { status: 202, value: { id, joined: isJoined, simulado: syncs.provider.simulated } }
      }),
  }),
  route({
    method: 'get',
    path: '/api/open-finance/syncs',
    name: 'listBankSyncs',
    tag,
    summary: 'Lists the syncs, the newest first',
    role: 'viewer',
    query: z.strictObject({ status: emptyIsAbsent(status), ...pageQuery }),
    answer: pageOf(sync),
    heavy: true,
    async run({ engine, who, language, query: { status = null, after, limit } }) {
      const found = await listSyncs(engine, ownerOf(who), { before: placeOf(after), status, limit: limit + 1 })
      const { items, next } = pageFrom(found, limit, ({ id }) => id)
      return { items: items.map(each => syncWire(each, language)), next }
    },
  }),
  route({
    method: 'get',
    path: '/api/open-finance/syncs/{id}',
    name: 'getBankSync',
    tag,
    summary: 'Gets a sync with status, counts and the reason of a wait',
    role: 'viewer',
    params: idParams,
    answer: sync,
    errors: ['not_found'],
    async run({ engine, who, language, params: { id } }) {
      const found = isId(id) ? await readSync(engine, id, ownerOf(who)) : undefined
      if (found === undefined) throw noSync(id)
      return syncWire(found, language)
    },
  }),
  route({
    method: 'get',
    path: '/api/open-finance/items',
    name: 'listBankItems',
    tag,
    summary: 'Lists the connections with banks, and whether a bank waits for its customer',
    role: 'viewer',
    query: z.strictObject(pageQuery),
    answer: pageOf(item),
    heavy: true,
    async run({ engine, who, query: { after = '', limit } }) {
      const found = await listItems(engine, ownerOf(who), { after, limit: limit + 1 })
      const { items, next } = pageFrom(found, limit, ({ id }) => id)
      const needsUser = (each: (typeof items)[number]) => problemOf({ ...each, detail: each.status_detail }) !== null
      return { items: items.map(each => itemWire(each, needsUser(each))), next }
    },
  }),
  route({
    method: 'delete',
    path: '/api/open-finance/items/{id}',
    name: 'eraseBankItem',
    tag,
    summary: 'Erases a connection with its accounts, transactions and syncs; the consent at Pluggy stays',
    role: 'operator',
    params: idParams,
    status: 204,
    errors: ['not_found'],
    async run({ engine, who, params: { id } }) {
      if (!(await eraseItem(engine, id, ownerOf(who)))) throw noConnection(id)
    },
  }),
  route({
    method: 'get',
    path: '/api/open-finance/accounts',
    name: 'listBankAccounts',
    tag,
    summary: 'Lists the accounts with their balances',
    role: 'viewer',
    query: z.strictObject({ item_id: emptyIsAbsent(z.string().max(100)), ...pageQuery }),
    answer: pageOf(account),
    heavy: true,
    async run({ engine, who, query: { item_id: of = null, after, limit } }) {
      const [item = '', id = ''] = partsOf(after, /^[\w.:-]+~[\w.:-]+$/) ?? []
      const found = await listAccounts(engine, ownerOf(who), { after: { item, id }, item: of, limit: limit + 1 })
      const { items, next } = pageFrom(found, limit, last => `${last.item_id}~${last.id}`)
      return { items: items.map(accountWire), next }
    },
  }),
  route({
    method: 'get',
    path: '/api/open-finance/transactions',
    name: 'listBankTransactions',
    tag,
    summary: 'Lists the transactions, the newest first',
    role: 'viewer',
    query: z.strictObject({
      ...filterQuery,
      removed: emptyIsAbsent(z.enum(['true', 'false'])).meta({
        description: 'true: also those that the bank does not list any more',
      }),
      ...pageQuery,
    }),
    answer: pageOf(transaction),
    heavy: true,
    async run({ engine, who, query: { after, limit, removed, ...given } }) {
      const [day = '9999-12-31', id = '', item = '', account = ''] = partsOf(after, transactionCursor) ?? []
      if (!dayQuery.safeParse(day).success) throw badAfter()
      const before = { day, id, item, account }
      const filter = { ...filterOf(given), withRemoved: removed === 'true', before, limit: limit + 1 }
      const found = await listTransactions(engine, ownerOf(who), filter)
      const { items, next } = pageFrom(found, limit, last =>
        [last.day, last.id, last.item_id, last.account_id].join('~'),
      )
      return { items: items.map(transactionWire), next }
    },
  }),
  route({
    method: 'get',
    path: '/api/open-finance/totals',
    name: 'bankTotals',
    tag,
    summary: 'Sums money in and money out by month and by category, without removed transactions',
    role: 'viewer',
    query: z.strictObject(filterQuery),
    answer: totals,
    heavy: true,
    async run({ engine, who, query }) {
      const filter = filterOf(query)
      const rows = await readTotals(engine, ownerOf(who), filter)
      return totalsWire(rows, { from: filter.from, to: filter.to }, syncs.provider.simulated)
    },
  }),
]
