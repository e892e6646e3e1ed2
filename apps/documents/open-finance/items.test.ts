/** Several connections of a user in one sync, and connections that are updated, incomplete, refused or unknown. */
import { days, minutes, seconds } from 'retoma'
import { expect, test } from 'vitest'
import { gate } from '../../../test/support/engine.ts'
import { ok, refuses } from '../../quotes/test/servers/behaviours.ts'
import { bankDoor } from '../test/open-finance/door.ts'
import { entriesFor } from '../test/open-finance/pluggy-server.ts'
import { problemOf } from './sync-job.ts'

const start = new Date('2026-11-16T15:00:00Z')

type Door = Awaited<ReturnType<typeof bankDoor>>

/** Connects items with one account each. */
async function connected(t: Door, count: number): Promise<void> {
  for (let n = 1; n <= count; n++) {
    t.server.addAccount(`item-${n}`, `acc-${n}`, entriesFor(`e${n}`, 4, start))
    await t.begin(`item-${n}`)
  }
  await t.work()
}

const addEntry = (t: Door, n: number) =>
  t.server.account(`acc-${n}`).entries.push({ id: `new-${n}`, date: start.toISOString(), cents: 1 })

const dateFrom = (t: Door) => t.server.of('/v2/transactions').at(-1)!.asked.url.searchParams.get('dateFrom')

test.each<[string, string, (t: Door) => void]>([
  ['unknown to Pluggy', 'bank_item_unknown', t => t.server.removeItem('item-1')],
  [
    'broken for all attempts',
    'provider_error',
    t => t.server.behave(({ asked }) => (asked.url.searchParams.get('itemId') === 'item-1' ? refuses(500) : null)),
  ],
  [
    'refused with status 403',
    'bank_access_refused',
    t => t.server.behave(({ asked }) => (asked.url.searchParams.get('itemId') === 'item-1' ? refuses(403) : null)),
  ],
])('a connection that is %s does not keep a sync from the other connections', async (_, code, breaks) => {
  const t = await bankDoor({}, { start })
  await connected(t, 3)
  for (const n of [2, 3]) addEntry(t, n)
  breaks(t)
  const id = await t.begin()
  for (const wait of [0, 6, 12]) {
    await t.clock.advance(seconds(wait))
    await t.work()
  }
  expect(await t.sync(id)).toMatchObject({ status: 'FAILED', error_code: code, added: 2 })
  const found = (await t.transactions()).map((each: { id: string }) => each.id)
  expect(found).toEqual(expect.arrayContaining(['new-2', 'new-3']))
})

test.each(['/accounts', '/v2/transactions'])(
  'status 403 for the data of one connection (%s) is a problem of this connection, and the syncs of other users continue',
  async path => {
    const t = await bankDoor({}, { start })
    t.server.addAccount('item-a', 'acc-a', entriesFor('a', 4, start))
    t.server.addAccount('item-b', 'acc-b', entriesFor('b', 4, start))
    t.server.behave(({ about, asked: { url } }) =>
      about === path && /-a$/.test(url.searchParams.get('itemId') ?? url.searchParams.get('accountId') ?? '')
        ? refuses(403)
        : null,
    )
    const refused = await t.begin('item-a', 'ana')
    await t.work()
    expect(await t.sync(refused, 'ana')).toMatchObject({
      status: 'FAILED',
      attempts: 1,
      error_code: 'bank_access_refused',
      error_message: 'o Pluggy recusa os dados desta conexão bancária: conecte o banco de novo',
    })
    const other = await t.begin('item-b', 'bia')
    await t.work()
    expect(await t.sync(other, 'bia')).toMatchObject({ status: 'DONE', added: 4 })
  },
)

test.each([
  ['UPDATING', 'TRANSACTIONS_IN_PROGRESS'],
  ['OUTDATED', 'SITE_NOT_AVAILABLE'],
  ['UPDATED', 'PARTIAL_SUCCESS'],
])(
  'transactions and accounts that a bank delivers after a sync of an item in %s (%s) are read by the next sync',
  async (status, executionStatus) => {
    const t = await bankDoor({}, { start })
    const { entries } = t.server.addAccount('item-1', 'acc-1', entriesFor('a', 3, start))
    t.server.setItem('item-1', { status, executionStatus })
    const first = await t.begin('item-1')
    while ((await t.sync(first)).status !== 'DONE') {
      await t.work()
      await t.clock.advance(seconds(15))
    }
    expect(await t.sync(first)).toMatchObject({ added: 3, removed: 0 })
    expect((await t.accounts())[0].synced_to).toBeNull()
    entries.push(...[100, 200, 300].map(n => ({ id: `old-${n}`, date: before(n), cents: -n })))
    t.server.setItem('item-1')
    const second = await t.begin('item-1')
    await t.work()
    expect(await t.sync(second)).toMatchObject({ status: 'DONE', added: 3 })
    expect(dateFrom(t)).toBe('2025-11-16')
    await t.begin('item-1')
    await t.work()
    expect(dateFrom(t)).toBe('2026-10-17')
  },
)

const before = (count: number) => new Date(start.getTime() - days(count)).toISOString()

test('an account that an item in UPDATING does not list yet stays', async () => {
  const t = await bankDoor({}, { start })
  t.server.addAccount('item-1', 'acc-1', entriesFor('a', 3, start))
  const { entries } = t.server.addAccount('item-1', 'acc-2', entriesFor('b', 3, start))
  await t.begin('item-1')
  await t.work()
  t.server.removeItem('item-1')
  t.server.addAccount('item-1', 'acc-1', entriesFor('a', 3, start))
  t.server.setItem('item-1', { status: 'UPDATING', executionStatus: 'ACCOUNTS_IN_PROGRESS' })
  const sync = async () => {
    const id = await t.begin('item-1')
    while ((await t.sync(id)).status !== 'DONE') {
      await t.work()
      await t.clock.advance(seconds(15))
    }
  }
  const removed = async () => (await t.accounts()).map((each: { removed_at: unknown }) => each.removed_at !== null)
  await sync()
  expect(await removed()).toEqual([false, false])
  t.server.setItem('item-1')
  await sync()
  expect(await removed()).toEqual([false, true])
  t.server.addAccount('item-1', 'acc-2', entries)
  await sync()
  expect(await removed()).toEqual([false, false])
})

test('the three minutes of an item in UPDATING begin when the sync sees UPDATING, not when the sync is made; other connections are read at once', async () => {
  const t = await bankDoor({}, { start })
  await connected(t, 2)
  for (const n of [1, 2]) addEntry(t, n)
  t.server.setItem('item-1', { status: 'UPDATING', executionStatus: 'LOGIN_IN_PROGRESS' })
  const id = await t.begin()
  // No worker ran for ten minutes.
  await t.clock.advance(minutes(10))
  await t.work()
  expect(await t.sync(id)).toMatchObject({ status: 'PENDING', added: 1 })
  t.server.setItem('item-1')
  await t.clock.advance(seconds(16))
  await t.work()
  expect(await t.sync(id)).toMatchObject({ status: 'DONE', added: 2, attempts: 1 })
})

test.each([
  ['OUTDATED', 'USER_AUTHORIZATION_NOT_GRANTED', 'bank_login_refused'],
  ['OUTDATED', 'USER_AUTHORIZATION_REVOKED', 'bank_login_refused'],
  ['OUTDATED', 'INVALID_CREDENTIALS', 'bank_login_refused'],
  ['OUTDATED', 'INVALID_CREDENTIALS_MFA', 'bank_login_refused'],
  ['OUTDATED', 'ACCOUNT_CREDENTIALS_RESET', 'bank_login_refused'],
  ['OUTDATED', 'USER_NOT_SUPPORTED', 'bank_login_refused'],
  ['OUTDATED', 'ACCOUNT_NEEDS_ACTION', 'bank_waits_for_user'],
  ['OUTDATED', 'ACCOUNT_LOCKED', 'bank_waits_for_user'],
  ['OUTDATED', 'ALREADY_LOGGED_IN', 'bank_waits_for_user'],
  ['WAITING_USER_ACTION', 'WAITING_USER_ACTION', 'bank_waits_for_user'],
  ['LOGIN_ERROR', 'ACCOUNT_LOCKED', 'bank_waits_for_user'],
])('%s with %s is a clear state for the user', (status, detail, code) => {
  expect(problemOf({ status, detail })).toMatchObject({ code, message: expect.stringContaining(`(${detail})`) })
  expect(problemOf({ status: 'UPDATED', detail })).toBeNull()
})

test('a request for one connection joins an open sync of all connections that has not read this connection to the end, and no other', async () => {
  const t = await bankDoor({}, { start })
  await connected(t, 2)
  const all = await t.begin()
  const post = async (item: string) =>
    (await t.ask('POST', '/api/open-finance/sync', { body: { item_id: item } })).body as { id: string; joined: boolean }
  expect(await post('item-2')).toMatchObject({ id: all, joined: true })
  // A connection that the open sync does not know.
  expect(await post('item-9')).toMatchObject({ joined: false })
  const [reached, answer] = [gate(), gate()]
  t.server.behave(({ asked }) =>
    asked.url.pathname === '/items/item-2'
      ? {
          name: 'held',
          answer: async inHand => {
            reached.open()
            await answer.passed
            return ok().answer(inHand)
          },
        }
      : null,
  )
  const running = t.run()
  await reached.passed
  expect(await post('item-2')).toMatchObject({ id: all, joined: true })
  const own = await post('item-1')
  expect(own).toMatchObject({ joined: false })
  expect(await post('item-1')).toMatchObject({ id: own.id, joined: true })
  answer.open()
  await running
  await t.work()
  expect(await t.sync(all)).toMatchObject({ status: 'DONE', accounts: 2 })
  expect(await post('item-2')).toMatchObject({ joined: false })
})
