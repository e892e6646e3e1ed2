/** No route shows a user the bank data of another user, or that the data exists. */
import { expect, test } from 'vitest'
import type { Answered } from '../../../test/http/support.ts'
import { bankDoor, openFinanceDoor } from '../test/open-finance/door.ts'
import { entriesFor } from '../test/open-finance/pluggy-server.ts'

const start = new Date('2026-11-16T15:00:00Z')

/** The answer without its own id and without times. */
const shape = ({ status, body }: Answered, ...ids: string[]) => [
  status,
  ids.reduce((text, id) => text.replaceAll(id, 'ID'), JSON.stringify(body)),
]

test('user A sees nothing of user B by any route, and an admin sees all', async () => {
  const t = await bankDoor({}, { start })
  t.server.addAccount('item-b', 'acc-b', entriesFor('b', 6, start))
  const token = async (user: string, role: 'viewer' | 'operator' | 'admin') =>
    (await t.engine.tokens.create({ user, role })).token
  const [a, b, admin] = [await token('ana', 'operator'), await token('bia', 'operator'), await token('rui', 'admin')]
  const sync = (await t.ask('POST', '/api/open-finance/sync', { token: b, body: { item_id: 'item-b' } })).body.id
  await t.work()

  const lists = ['syncs', 'items', 'accounts', 'transactions', 'transactions?removed=true', 'accounts?item_id=item-b', 'transactions?account_id=acc-b', 'syncs?status=DONE'] // biome-ignore format: in one line
  for (const list of lists) {
    const of = async (given: string) => (await t.ask('GET', `/api/open-finance/${list}`, { token: given })).body
    expect((await of(b)).items.length, list).toBeGreaterThan(0)
    expect(await of(a), list).toEqual({ items: [], next: null })
    expect((await of(admin)).items.length, list).toBe((await of(b)).items.length)
    expect((await of(admin)).items.every((each: { user: string }) => each.user === 'bia')).toBe(true)
  }
  const totals = async (given: string) => (await t.ask('GET', '/api/open-finance/totals', { token: given })).body
  expect((await totals(b)).items.length).toBeGreaterThan(0)
  expect(await totals(a)).toMatchObject({ months: [], categories: [], items: [] })
  expect((await totals(admin)).items).toEqual((await totals(b)).items)

  // A row of another user is answered as a row that does not exist.
  const nobodys = '00000000-0000-7000-8000-000000000000'
  const get = (id: string, given: string) => t.ask('GET', `/api/open-finance/syncs/${id}`, { token: given })
  expect((await get(sync, b)).status).toBe(200)
  expect((await get(sync, admin)).status).toBe(200)
  expect(shape(await get(sync, a), sync)).toEqual(shape(await get(nobodys, a), nobodys))
  const erase = (id: string, given: string) => t.ask('DELETE', `/api/open-finance/items/${id}`, { token: given })
  expect(shape(await erase('item-b', a), 'item-b')).toEqual(shape(await erase('item-x', a), 'item-x'))
  expect((await get(sync, b)).body.status).toBe('DONE')

  // A sync of an item of another user ends as a sync of an item that does not exist.
  const ends: unknown[] = []
  for (const item of ['item-b', 'item-x']) {
    const { status, body } = await t.ask('POST', '/api/open-finance/sync', { token: a, body: { item_id: item } })
    expect(status).toBe(202)
    expect(body.joined).toBe(false)
    await t.work()
    const { id, created_at, started_at, updated_at, completed_at, item_id, ...end } = (await get(body.id, a)).body
    ends.push(JSON.parse(JSON.stringify(end).replaceAll(item, 'ITEM')))
  }
  expect(ends[0]).toEqual(ends[1])
  expect(ends[0]).toMatchObject({ status: 'FAILED', accounts: 0, added: 0, error_code: 'bank_item_unknown' })
  expect((await t.ask('GET', '/api/open-finance/accounts', { token: a })).body.items).toEqual([])
  expect(await totals(b)).toEqual({ ...(await totals(admin)) })

  // A viewer begins and erases nothing.
  const viewer = await token('bia', 'viewer')
  expect((await t.ask('POST', '/api/open-finance/sync', { token: viewer, body: {} })).status).toBe(403)
  expect((await erase('item-b', viewer)).status).toBe(403)
  expect((await t.ask('GET', '/api/open-finance/accounts', { token: viewer })).body.items).toHaveLength(1)

  // The engine's own lists name neither the user nor the item nor an account.
  const jobs = (await t.ask('GET', '/api/v1/jobs?limit=100', { token: admin })).body.items
  const told = await Promise.all(
    jobs.flatMap(({ id }: { id: string }) => [
      t.ask('GET', `/api/v1/jobs/${id}`, { token: admin }),
      t.ask('GET', `/api/v1/jobs/${id}/explain`, { token: admin }),
    ]),
  )
  expect(told.length).toBeGreaterThan(4)
  // Only an admin sees the jobs of syncs.
  for (const path of ['/api/v1/jobs?queue=sync', '/api/v1/failures/causes'])
    expect((await t.ask('GET', path, { token: viewer })).body.items).toEqual([])
  for (const word of ['bia', 'item-b', 'acc-b', 'b-0001']) expect(JSON.stringify(told)).not.toContain(word)
})

test('the limit of one user is no limit of another, and a key of an idempotent request is the own key of each user', async () => {
  const t = await openFinanceDoor({}, { start })
  const post = (user: string, headers = {}) =>
    t.ask('POST', '/api/open-finance/sync', { body: {}, headers: { 'x-user-id': user, ...headers } })
  for (let n = 0; n < 11; n++) await post('ana')
  expect((await post('ana')).status).toBe(429)
  const first = await post('bia', { 'idempotency-key': 'k' })
  expect(first.status).toBe(202)
  expect(first.headers.get('ratelimit-remaining')).toBe('9')
  expect((await post('rui', { 'idempotency-key': 'k' })).body.id).not.toBe(first.body.id)
  await t.work()
  const ids = async (user: string) =>
    (await t.ask('GET', '/api/open-finance/accounts', { headers: { 'x-user-id': user } })).body.items.map(
      (each: { id: string }) => each.id,
    )
  const [ana, bia] = [await ids('ana'), await ids('bia')]
  expect(ana).toHaveLength(3)
  expect(ana.filter((id: string) => bia.includes(id))).toEqual([])
})
