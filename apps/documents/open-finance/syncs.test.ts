/** Syncs of bank data over HTTP, with a Pluggy on loopback: windows, changes, removals, waits, and a second request during a sync. */
import pg from 'pg'
import { type Duration, days, hours, minutes, seconds } from 'retoma'
import { expect, onTestFinished, test } from 'vitest'
import { createLog } from '../../../src/lib/logging/log.ts'
import { sqlOn } from '../../../test/support/application.ts'
import { until } from '../../../test/support/engine.ts'
import { errorBody, late, ok, refuses } from '../../quotes/test/servers/behaviours.ts'
import { bankDoor, openFinanceDoor } from '../test/open-finance/door.ts'
import { entriesFor } from '../test/open-finance/pluggy-server.ts'

const start = new Date('2026-11-16T15:00:00Z')

test('the first sync reads twelve months, and balances and sums are those of the bank', async () => {
  const t = await bankDoor({}, { start })
  t.server.addAccount('item-1', 'acc-1', entriesFor('a', 23, start))
  t.server.addAccount('item-1', 'acc-2', entriesFor('b', 7, start), 'CREDIT')
  t.server.account('acc-1').entries.push({ id: 'old', date: '2025-11-01T12:00:00.000Z', cents: 990_000 })
  const { status, body } = await t.ask('POST', '/api/open-finance/sync', { body: { item_id: 'item-1' } })
  expect(status).toBe(202)
  expect(body).toEqual({ id: expect.any(String), joined: false, simulado: false })
  expect(await t.sync(body.id)).toMatchObject({ status: 'PENDING', attempts: 0, accounts: 0, completed_at: null })
  await t.work()
  expect(await t.sync(body.id)).toMatchObject({
    status: 'DONE',
    item_id: 'item-1',
    error_message: null,
    needs_user: false,
    attempts: 1,
    accounts: 2,
    added: 30,
    changed: 0,
    removed: 0,
    user: 'local',
    simulado: false,
  })
  const accounts = await t.accounts()
  expect(accounts.map((each: { id: string; balance: string }) => [each.id, each.balance])).toEqual([
    ['acc-1', t.server.balanceOf('acc-1')],
    ['acc-2', t.server.balanceOf('acc-2')],
  ])
  expect(accounts[0]).toMatchObject({ institution: 'Banco Teste', last_digits: '5', currency: 'BRL', type: 'BANK' })
  const found = await t.transactions()
  expect(found).toHaveLength(30)
  expect(found[0]).toMatchObject({
    day: '2026-11-16',
    date: start.toISOString(),
    status: 'POSTED',
    category: 'Groceries',
  })
  for (const { id, amount } of found) expect(amount).toBe((entryOf(t.server, id)!.cents / 100).toFixed(2))
  const [asked] = t.server.of('/v2/transactions')
  expect(asked!.asked.url.searchParams.get('dateFrom')).toBe('2025-11-16')
})

const entryOf = (server: { account(id: string): { entries: { id: string; cents: number }[] } }, id: string) =>
  ['acc-1', 'acc-2'].flatMap(each => server.account(each).entries).find(each => each.id === id)

test('a later sync begins 30 days before the newest transaction, changes what changed and marks what is gone', async () => {
  const t = await bankDoor({}, { start })
  const { entries } = t.server.addAccount('item-1', 'acc-1', entriesFor('a', 60, start))
  await t.begin('item-1')
  await t.work()
  entries[3]!.cents = -777
  entries[4]!.description = 'Outra descrição'
  entries.splice(6, 1)
  entries.splice(44, 1)
  await t.clock.advance(days(1))
  entries.push({ id: 'new', date: '2026-11-17T10:00:00.000Z', cents: -5000, category: null })
  const second = await t.begin('item-1')
  await t.work()
  expect(await t.sync(second)).toMatchObject({ status: 'DONE', added: 1, changed: 2, removed: 1 })
  expect(t.server.of('/v2/transactions').at(-1)!.asked.url.searchParams.get('dateFrom')).toBe('2026-10-17')
  expect(await t.transactions()).toHaveLength(60)
  const all = await t.transactions('&removed=true')
  expect(all.filter((each: { removed_at: string | null }) => each.removed_at !== null)).toMatchObject([
    { id: 'a-0006' },
  ])
  expect(all.find((each: { id: string }) => each.id === 'a-0003')).toMatchObject({ amount: '-7.77' })
  const [account] = await t.accounts()
  expect(account.balance).toBe(t.server.balanceOf('acc-1'))
  // The bank lists the transaction again.
  entries.push({ id: 'a-0006', date: '2026-11-10T15:00:00.000Z', cents: -1232 })
  await t.begin('item-1')
  await t.work()
  expect(await t.transactions('&removed=true')).toHaveLength(61)
  expect((await t.transactions()).map((each: { id: string }) => each.id)).toContain('a-0006')
})

test.each([true, false])(
  'a page that comes twice makes no transaction twice (list by cursor: %s)',
  async hasCursors => {
    const t = await bankDoor({ hasCursors }, { start })
    t.server.addAccount('item-1', 'acc-1', entriesFor('a', 12, start))
    // The answer to the second page is the first page, once.
    const path = hasCursors ? '/v2/transactions' : '/transactions'
    t.server.behave(({ about, nth }) =>
      about === path && nth === 2
        ? {
            name: 'again',
            answer: ({ response, call, usual }) => {
              call.asked.url.searchParams.delete('after')
              call.asked.url.searchParams.set('page', '1')
              const { body } = usual()
              response.writeHead(200, { 'content-type': 'application/json' }).end(body)
              return { isSold: false }
            },
          }
        : null,
    )
    const id = await t.begin('item-1')
    await t.work()
    await t.clock.advance(seconds(6))
    await t.work()
    expect(await t.sync(id)).toMatchObject({ status: 'DONE', added: 12, removed: 0 })
    const found = await t.transactions()
    expect(new Set(found.map((each: { id: string }) => each.id)).size).toBe(12)
    expect(found).toHaveLength(12)
  },
)

test('without a list by cursor the list by page number is read, and read again if it shifts between two pages', async () => {
  const t = await bankDoor({ hasCursors: false }, { start })
  const { entries } = t.server.addAccount('item-1', 'acc-1', entriesFor('a', 14, start))
  await t.begin('item-1')
  await t.work()
  expect(t.server.of('/v2/transactions')).toHaveLength(1)
  expect(t.server.of('/transactions')).toHaveLength(3)
  expect(t.server.calls.at(-1)!.asked.url.search).toBe('?accountId=acc-1&from=2025-11-16&page=3&pageSize=500')
  // The newest transaction disappears after the first page: the sixth is on no page.
  const before = t.server.calls.length
  t.server.behave(({ about, asked, n }) => {
    if (about === '/transactions' && asked.url.searchParams.get('page') === '2' && n < before + 6) {
      const gone = entries.findIndex(each => each.id === 'a-0000')
      if (gone >= 0) entries.splice(gone, 1)
    }
    return null
  })
  const second = await t.begin('item-1')
  await t.work()
  expect(await t.sync(second)).toMatchObject({ status: 'DONE', added: 0, removed: 0 })
  expect((await t.transactions()).map((each: { id: string }) => each.id)).toContain('a-0005')
  // This sync has still seen the transaction that is gone; the next sync has not.
  const third = await t.begin('item-1')
  await t.work()
  expect(await t.sync(third)).toMatchObject({ status: 'DONE', added: 0, removed: 1 })
  expect(await t.transactions()).toHaveLength(13)
})

test('a bank that waits for its customer is a clear state, and no request is repeated', async () => {
  const t = await bankDoor({}, { start })
  t.server.addAccount('item-1', 'acc-1', entriesFor('a', 3, start))
  const words: string[] = []
  for (const [status, executionStatus] of [
    ['LOGIN_ERROR', 'INVALID_CREDENTIALS'],
    ['WAITING_USER_INPUT', 'WAITING_USER_INPUT'],
    ['OUTDATED', 'USER_AUTHORIZATION_PENDING'],
  ] as const) {
    t.server.setItem('item-1', { status, executionStatus })
    const calls = t.server.of('/items/item-1').length
    const id = await t.begin('item-1')
    await t.work()
    const sync = await t.sync(id)
    expect(sync).toMatchObject({ status: 'FAILED', needs_user: true, attempts: 1 })
    words.push(sync.error_message)
    expect(t.server.of('/items/item-1')).toHaveLength(calls + 1)
    expect((await t.ask('GET', '/api/open-finance/items')).body.items).toMatchObject([
      { id: 'item-1', status, status_detail: executionStatus, needs_user: true, synced_at: null },
    ])
  }
  expect(words[0]).toBe(
    'o banco recusa o login desta conexão (INVALID_CREDENTIALS): conecte o banco de novo com as credenciais certas e sincronize outra vez',
  )
  expect(words[1]).toMatch(/^o banco espera por você \(WAITING_USER_INPUT\)/)
  t.server.setItem('item-1')
  const id = await t.begin('item-1')
  await t.work()
  expect(await t.sync(id)).toMatchObject({ status: 'DONE', added: 3 })
})

test('an item that is being updated is awaited; after three minutes the present data is read, and nothing is marked as gone', async () => {
  const t = await bankDoor({}, { start })
  const { entries } = t.server.addAccount('item-1', 'acc-1', entriesFor('a', 8, start))
  await t.begin('item-1')
  await t.work()
  entries.length = 2
  t.server.setItem('item-1', { status: 'UPDATING', executionStatus: 'LOGIN_IN_PROGRESS' })
  const id = await t.begin('item-1')
  const looks = t.server.of('/items/item-1').length
  for (let passed = 0; (await t.sync(id)).status !== 'DONE'; passed += 15) {
    expect(passed).toBeLessThan(300)
    await t.work()
    await t.clock.advance(seconds(15))
  }
  expect(t.server.of('/items/item-1').length - looks).toBeGreaterThan(8)
  expect(await t.sync(id)).toMatchObject({ attempts: 1, removed: 0 })
  expect(await t.transactions()).toHaveLength(8)
})

test('an item that Pluggy does not know ends the sync at once', async () => {
  const t = await bankDoor({}, { start })
  const id = await t.begin('nobody-s-item')
  await t.work()
  expect(await t.sync(id)).toMatchObject({
    status: 'FAILED',
    attempts: 1,
    error_code: 'bank_item_unknown',
    error_message: 'não existe essa conexão bancária: conecte o banco de novo',
  })
})

test('a status 429 makes all syncs wait until RateLimit-Reset, without an attempt', async () => {
  const t = await bankDoor({}, { start })
  t.server.addAccount('item-1', 'acc-1', entriesFor('a', 12, start))
  t.server.addAccount('item-2', 'acc-2', entriesFor('b', 3, start))
  t.server.behave(({ about, nth }) =>
    about === '/v2/transactions' && nth === 2
      ? {
          name: '429',
          answer: ({ response }) => {
            response
              .writeHead(429, { 'ratelimit-reset': '17', 'retry-after': '60' })
              .end('{"code":429,"message":"Too many"}')
            return { isSold: false }
          },
        }
      : null,
  )
  const first = await t.begin('item-1')
  await t.run()
  const calls = t.server.calls.length
  const second = await t.begin('item-2', 'ana')
  await t.run()
  expect(t.server.calls).toHaveLength(calls)
  expect(await t.sync(first)).toMatchObject({
    status: 'PENDING',
    attempts: 0,
    error_message: 'Pluggy asks for a wait; the sync continues by itself',
    added: 5,
  })
  const { retry_at } = await t.sync(first)
  expect(Date.parse(retry_at) - t.clock.now().getTime()).toBeGreaterThan(15_000)
  expect(Date.parse(retry_at) - t.clock.now().getTime()).toBeLessThan(20_000)
  await t.clock.advance(seconds(20))
  await t.work()
  expect(await t.sync(first)).toMatchObject({ status: 'DONE', attempts: 1, added: 12 })
  expect(await t.sync(second, 'ana')).toMatchObject({ status: 'DONE', added: 3 })
})

test('refused credentials stop all syncs with words for the user, and the syncs continue after the correction', async () => {
  const t = await bankDoor({}, { start })
  t.server.addAccount('item-1', 'acc-1', entriesFor('a', 3, start))
  t.server.refuseLogins(true)
  const id = await t.begin('item-1')
  await t.run()
  expect(await t.sync(id)).toMatchObject({
    status: 'PENDING',
    attempts: 0,
    error_message: expect.stringContaining('Pluggy refuses the credentials of this server'),
  })
  t.server.refuseLogins(false)
  await t.clock.advance(minutes(2))
  await t.work()
  expect(await t.sync(id)).toMatchObject({ status: 'DONE', added: 3 })
})

test('a failure is repeated after 5 s and 10 s, three times in all, and continues at the page of the failure', async () => {
  const t = await bankDoor({}, { start })
  t.server.addAccount('item-1', 'acc-1', entriesFor('a', 12, start))
  t.server.behave(({ about, nth }) => (about === '/v2/transactions' && nth === 2 ? refuses(500) : null))
  const id = await t.begin('item-1')
  await t.work()
  await t.clock.advance(seconds(6))
  await t.work()
  expect(await t.sync(id)).toMatchObject({ status: 'DONE', attempts: 2, added: 12 })
  // The first page is not read again.
  expect(t.server.of('/v2/transactions')).toHaveLength(4)
  t.server.behave(({ about }) => (about === '/accounts' ? errorBody(500) : null))
  const failing = await t.begin('item-1')
  for (const wait of [0, 6, 12, 60]) {
    await t.clock.advance(seconds(wait))
    await t.work()
  }
  expect(await t.sync(failing)).toMatchObject({ status: 'FAILED', attempts: 3, error_code: 'provider_error' })
})

test('neither the API key nor the secret is in a line of the log, also if Pluggy repeats them in its errors', async () => {
  const lines: string[] = []
  const log = createLog({ level: 'debug', format: 'json', write: line => void lines.push(line) })
  const t = await bankDoor({}, { start, log })
  t.server.addAccount('item-1', 'acc-1', entriesFor('a', 3, start))
  t.server.refuseLogins(true)
  const id = await t.begin('item-1')
  await t.run()
  t.server.refuseLogins(false)
  await t.clock.advance(minutes(2))
  await t.work()
  expect(await t.sync(id)).toMatchObject({ status: 'DONE' })
  // Pluggy names the refused key in its answer.
  t.server.expireKeys()
  await t.begin('item-1')
  await t.work()
  const echo = () => `failed for ${t.server.keys.at(-1)} of ${t.server.clientId}, ${t.server.clientSecret}`
  for (const behaviour of [refuses, errorBody]) {
    t.server.behave(({ about }) =>
      about !== '/accounts' ? null : behaviour === refuses ? refuses(500, { message: echo() }) : errorBody(500, echo()),
    )
    const failing = await t.begin('item-1')
    for (const wait of [0, 6, 12, 60]) {
      await t.clock.advance(seconds(wait))
      await t.work()
    }
    expect(await t.sync(failing)).toMatchObject({ status: 'FAILED', attempts: 3 })
  }
  expect(t.server.keys.length).toBeGreaterThan(1)
  expect(lines.length).toBeGreaterThan(10)
  for (const secret of [t.server.clientId, t.server.clientSecret, ...t.server.keys])
    expect(lines.filter(line => line.includes(secret))).toEqual([])
})

test('a list that repeats itself for ever ends the sync', async () => {
  const t = await bankDoor({}, { start })
  t.server.addAccount('item-1', 'acc-1', entriesFor('a', 3, start))
  t.server.behave(({ about, nth, asked }) =>
    about === '/v2/transactions'
      ? {
          name: 'endless',
          answer: ({ response, usual }) => {
            asked.url.searchParams.delete('after')
            const body = { ...JSON.parse(String(usual().body)), next: `?accountId=acc-1&after=n${nth % 2}` }
            response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
            return { isSold: false }
          },
        }
      : null,
  )
  const id = await t.begin('item-1')
  for (const wait of [0, 6, 12, 60]) {
    await t.clock.advance(seconds(wait))
    await t.work()
  }
  expect(await t.sync(id)).toMatchObject({ status: 'FAILED', added: 3, error_code: 'provider_useless' })
  expect(t.server.calls.length).toBeLessThan(60)
})

test('a second request while a sync is open joins the sync; the syncs of a user never run at the same time', async () => {
  const t = await bankDoor({}, { start })
  for (const n of [1, 2, 3]) t.server.addAccount(`item-${n}`, `acc-${n}`, entriesFor(`e${n}`, 8, start))
  t.server.behave(late(20, ok()))
  const first = await t.begin('item-1')
  const worker = t.engine.work({ queues: { sync: 10 } })
  await until(async () => (await t.sync(first)).status === 'PROCESSING')
  const joined = (await t.ask('POST', '/api/open-finance/sync', { body: { item_id: 'item-1' } })).body
  expect(joined).toMatchObject({ id: first, joined: true })
  const [second, third] = [await t.begin('item-2'), await t.begin('item-3')]
  const stranger = await t.begin('item-4', 'ana')
  const ids = [first, second, third]
  while ((await Promise.all(ids.map(id => t.sync(id)))).some(({ status }) => status !== 'DONE')) {
    const running = (await Promise.all(ids.map(id => t.sync(id)))).filter(({ status }) => status === 'PROCESSING')
    expect(running.length).toBeLessThanOrEqual(1)
    await t.clock.advance(seconds(0.2))
  }
  while ((await t.sync(stranger, 'ana')).status !== 'FAILED') await t.clock.advance(seconds(0.2))
  await (await worker).stop()
  const again = (await t.ask('POST', '/api/open-finance/sync', { body: { item_id: 'item-1' } })).body
  expect(again).toMatchObject({ joined: false })
  expect(again.id).not.toBe(first)
})

test('without an item all connections of the user are synced, and one that waits for its user does not hold up the others', async () => {
  const t = await bankDoor({}, { start })
  const { status, body } = await t.ask('POST', '/api/open-finance/sync')
  expect([status, body.error.field]).toEqual([400, 'item_id'])
  for (const n of [1, 2]) {
    t.server.addAccount(`item-${n}`, `acc-${n}`, entriesFor(`e${n}`, 4, start))
    await t.begin(`item-${n}`)
  }
  await t.work()
  for (const n of [1, 2])
    t.server.account(`acc-${n}`).entries.push({ id: `new-${n}`, date: start.toISOString(), cents: 1 })
  t.server.setItem('item-1', { status: 'LOGIN_ERROR' })
  const id = await t.begin()
  await t.work()
  expect(await t.sync(id)).toMatchObject({ status: 'FAILED', needs_user: true, item_id: null, added: 1 })
  expect((await t.transactions()).map((each: { id: string }) => each.id)).toContain('new-2')
})

test('a user begins at most ten syncs in any minute; lists are free', async () => {
  const t = await openFinanceDoor({}, { start })
  const answers: number[] = []
  for (let n = 0; n < 20; n++) {
    const { status, headers, body } = await t.ask('POST', '/api/open-finance/sync', {
      body: {},
      headers: { 'accept-language': 'pt' },
    })
    answers.push(status)
    if (status === 429) {
      expect(headers.get('retry-after')).toBe('60')
      expect(body.error.message).toMatch(/são permitidas 10 em 1 min; tente de novo em 60 s/)
    }
    expect((await t.ask('GET', '/api/open-finance/syncs')).status).toBe(200)
  }
  expect(answers.filter(each => each === 202)).toHaveLength(10)
  expect(answers.slice(10).every(each => each === 429)).toBe(true)
  expect((await t.ask('POST', '/api/open-finance/sync', { body: {}, headers: { 'x-user-id': 'ana' } })).status).toBe(
    202,
  )
  await t.clock.advance(seconds(61))
  expect((await t.ask('POST', '/api/open-finance/sync', { body: {} })).status).toBe(202)
})

test('the same Idempotency-Key gives the same answer', async () => {
  const t = await openFinanceDoor({}, { start })
  const post = (key: string, body: object) =>
    t.ask('POST', '/api/open-finance/sync', { body, headers: { 'idempotency-key': key } })
  const first = await post('k', {})
  await t.work()
  expect((await post('k', {})).body).toEqual(first.body)
  expect((await post('k', { item_id: 'x' })).status).toBe(409)
  expect((await post('other', {})).body.id).not.toBe(first.body.id)
})

test('without keys three accounts and twelve months are simulated and marked, and a second sync finds nothing new', async () => {
  const t = await openFinanceDoor({}, { start })
  const id = await t.begin()
  await t.work()
  const sync = await t.sync(id)
  expect(sync).toMatchObject({ status: 'DONE', accounts: 3, simulado: true })
  expect(sync.added).toBeGreaterThan(450)
  expect(await t.accounts()).toMatchObject([{ simulado: true }, { simulado: true }, { simulado: true }])
  const { items, next } = (await t.ask('GET', '/api/open-finance/transactions?limit=500')).body
  expect(items).toHaveLength(500)
  const rest = (await t.ask('GET', `/api/open-finance/transactions?limit=500&after=${next}`)).body
  expect(rest.next).toBeNull()
  expect(new Set([...items, ...rest.items].map((each: { id: string }) => each.id)).size).toBe(sync.added)
  await t.clock.advance(hours(1))
  const second = await t.begin()
  await t.work()
  expect(await t.sync(second)).toMatchObject({ status: 'DONE', changed: 0, removed: 0 })
})

test('parameters of the lists and of the totals without a value are as absent', async () => {
  const t = await openFinanceDoor({}, { start })
  await t.begin()
  await t.work()
  const filters = 'from=&to=&account_id=&category=&type='
  for (const [list, empty] of [
    ['syncs', 'status=&limit=&after='],
    ['items', 'limit=&after='],
    ['accounts', 'item_id=&limit=&after='],
    ['transactions', `${filters}&removed=&limit=&after=`],
    ['totals', filters],
  ]) {
    const read = async (query: string) => (await t.ask('GET', `/api/open-finance/${list}${query}`)).body
    const all = await read('')
    expect(all.items.length, list).toBeGreaterThan(0)
    expect(await read(`?${empty}`), list).toEqual(all)
  }
})

test('totals by month and category are the sums of the transactions', async () => {
  const t = await bankDoor({}, { start })
  const entry = (id: string, date: string, cents: number, category: string | null) => ({ id, date, cents, category })
  t.server.addAccount('item-1', 'acc-1', [
    entry('1', '2026-10-05T12:00:00Z', 500_010, 'Salary'),
    entry('2', '2026-10-06T12:00:00Z', -10_005, 'Groceries'),
    entry('3', '2026-11-01T02:00:00Z', -20, 'Groceries'),
    entry('4', '2026-11-02T12:00:00Z', -30, null),
  ])
  t.server.addAccount('item-1', 'card', [entry('5', '2026-11-03T12:00:00Z', 9_990, 'Groceries')], 'CREDIT')
  await t.begin('item-1')
  await t.work()
  const { body } = await t.ask('GET', '/api/open-finance/totals')
  expect(body.months).toEqual([
    { month: '2026-10', currency: 'BRL', credit: '5000.10', debit: '100.25', count: 3 },
    { month: '2026-11', currency: 'BRL', credit: '0.00', debit: '100.20', count: 2 },
  ])
  expect(body.categories).toEqual([
    { category: 'Groceries', currency: 'BRL', credit: '0.00', debit: '200.15', count: 3 },
    { category: 'Salary', currency: 'BRL', credit: '5000.10', debit: '0.00', count: 1 },
    { category: null, currency: 'BRL', credit: '0.00', debit: '0.30', count: 1 },
  ])
  const november = (await t.ask('GET', '/api/open-finance/totals?from=2026-11-01&to=2026-11-30&account_id=card')).body
  expect(november.items).toEqual([
    { month: '2026-11', category: 'Groceries', currency: 'BRL', credit: '0.00', debit: '99.90', count: 1 },
  ])
  expect((await t.ask('GET', '/api/open-finance/totals?from=november')).status).toBe(400)
})

test('an erased connection leaves nothing behind, and a sync under way does not bring it back', async () => {
  const t = await bankDoor({}, { start })
  t.server.addAccount('item-1', 'acc-1', entriesFor('segredo', 8, start))
  await t.begin('item-1')
  await t.work()
  const open = await t.begin('item-1')
  expect((await t.ask('DELETE', '/api/open-finance/items/item-1')).status).toBe(204)
  await t.work()
  expect((await t.ask('GET', `/api/open-finance/syncs/${open}`)).status).toBe(404)
  expect(await t.accounts()).toEqual([])
  const sql = await sqlOn(t)
  for (const table of ['documents.bank_item', 'documents.bank_account', 'documents.bank_transaction', 'documents.bank_sync', 'documents.bank_user', 'retoma.job', 'retoma.checkpoint', 'retoma.failure']) // biome-ignore format: in one line
    expect(await sql(`select * from ${table}`), table).toEqual([])
  expect((await t.ask('DELETE', '/api/open-finance/items/item-1')).status).toBe(404)
})

test('a sync that begins while the last connection of its user is erased keeps its user', async () => {
  const t = await bankDoor({}, { start })
  t.server.addAccount('item-1', 'acc-1', entriesFor('a', 3, start))
  await t.begin('item-1')
  await t.work()
  const sql = await sqlOn(t)
  const beginning = new pg.Client({ connectionString: t.databaseUrl })
  await beginning.connect()
  onTestFinished(() => beginning.end())
  // As a request for a sync begins: the lock of the user, then the row of the sync.
  await beginning.query(`begin; select from documents.bank_user for update`)
  const erasing = t.ask('DELETE', '/api/open-finance/items/item-1')
  await until(
    async () => (await sql(`select from pg_locks where not granted and locktype = 'transactionid'`)).length > 0,
  )
  await beginning.query(`
    insert into documents.bank_sync (id, user_id, item_id, job_id, simulated, created_at)
    values (gen_random_uuid(), 'local', 'item-2', 1, false, now())`)
  await beginning.query(`commit`)
  expect((await erasing).status).toBe(204)
  expect(await sql(`select user_id from documents.bank_user`)).toEqual([{ user_id: 'local' }])
})

test('a sync without progress for ten minutes is FAILED "Processing timeout (watchdog)", and its late end changes nothing', async () => {
  const t = await bankDoor({}, { start })
  t.server.addAccount('item-1', 'acc-1', entriesFor('a', 3, start))
  let answer: () => void = () => {}
  t.server.behave(({ about }) =>
    about === '/accounts'
      ? {
          name: 'held',
          answer: async inHand => {
            await new Promise<void>(resolve => {
              answer = resolve
            })
            return ok().answer(inHand)
          },
        }
      : null,
  )
  const id = await t.begin('item-1')
  const running = t.run()
  await until(() => t.server.of('/accounts').length === 1)
  const passes = async (time: Duration) => {
    for (let passed = 0; passed < time; passed += 5000) {
      await t.clock.advance(seconds(5))
      await t.tick()
    }
  }
  await passes(seconds(590))
  expect(await t.sync(id)).toMatchObject({ status: 'PROCESSING' })
  await passes(seconds(30))
  expect(await t.sync(id)).toMatchObject({ status: 'FAILED', error_message: 'Processing timeout (watchdog)' })
  answer()
  await running
  expect(await t.sync(id)).toMatchObject({ status: 'FAILED', added: 0 })
  expect(await t.accounts()).toEqual([])
})
