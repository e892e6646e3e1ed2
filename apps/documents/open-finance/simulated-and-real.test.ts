/** Simulated and real bank data on one database: keys are added or missing later, and a worker has other settings than the server. */
import { days, type Engine } from 'retoma'
import { expect, onTestFinished, test } from 'vitest'
import { openFinanceDoor } from '../test/open-finance/door.ts'
import { entriesFor, pluggyServer } from '../test/open-finance/pluggy-server.ts'
import { pluggyProvider } from './pluggy.ts'
import { simulatedPluggy } from './simulated.ts'
import type { BankProvider } from './types.ts'

const start = new Date('2026-11-16T15:00:00Z')

/** Routes and worker whose Pluggy has keys, or has none, as `keys` says. */
async function stage() {
  const server = await pluggyServer()
  onTestFinished(() => server.close())
  server.addAccount('item-1', 'acc-1', entriesFor('a', 6, start))
  let engine: Engine | undefined
  const real = pluggyProvider({ ...server, engine: () => engine! })
  const simulated = simulatedPluggy(
    async () => {},
    () => start,
  )
  let isReal = true
  const present = () => (isReal ? real : simulated)
  const provider: BankProvider = {
    get simulated() {
      return present().simulated
    },
    itemOf: user => present().itemOf(user),
    item: (...given) => present().item(...given),
    accounts: (...given) => present().accounts(...given),
    transactions: (...given) => present().transactions(...given),
  }
  const door = await openFinanceDoor({ provider }, { start })
  engine = door.engine
  const keys = (given: boolean) => {
    isReal = given
  }
  const items = async () => (await door.ask('GET', '/api/open-finance/items')).body.items
  const totals = async () => (await door.ask('GET', '/api/open-finance/totals')).body
  return { ...door, server, keys, items, totals, simulated }
}

test('a worker without keys writes no simulated money into a real connection: the sync is FAILED with the reason', async () => {
  const t = await stage()
  await t.begin('item-1')
  await t.work()
  const before = [await t.accounts(), await t.transactions(), await t.totals()]
  expect(before[1]).toHaveLength(6)
  for (const item of [undefined, 'item-1']) {
    t.keys(true)
    const id = await t.begin(item)
    t.keys(false)
    await t.work()
    expect(await t.sync(id)).toMatchObject({
      status: 'FAILED',
      attempts: 1,
      error_code: 'bank_worker_without_keys',
      error_message: expect.stringContaining('PLUGGY_CLIENT_ID'),
      simulado: false,
    })
  }
  // A server without keys, too: the real connection is no simulated one.
  const id = await t.begin('item-1')
  await t.work()
  expect(await t.sync(id)).toMatchObject({ status: 'FAILED', error_code: 'bank_item_unknown', simulado: true })
  expect([await t.accounts(), await t.transactions(), await t.totals()]).toEqual(before)
  expect(await t.items()).toMatchObject([{ id: 'item-1', institution: 'Banco Teste', simulado: false }])
})

test('after keys are added, syncs read the real connections alone, and no total mixes real and simulated money', async () => {
  const t = await stage()
  t.keys(false)
  await t.begin()
  await t.work()
  const simulated = await t.totals()
  expect(simulated.simulado).toBe(true)
  expect(simulated.items.length).toBeGreaterThan(50)
  const open = await t.begin()
  t.keys(true)
  await t.work()
  expect(await t.sync(open)).toMatchObject({ status: 'FAILED', error_code: 'bank_sync_simulated', simulado: true })
  // The simulated connection is no connection of Pluggy.
  const none = await t.ask('POST', '/api/open-finance/sync', { body: {} })
  expect([none.status, none.body.error.field]).toEqual([400, 'item_id'])
  const own = t.simulated.itemOf('local')!
  const refused = await t.begin(own)
  await t.work()
  expect(await t.sync(refused)).toMatchObject({ status: 'FAILED', error_code: 'bank_item_unknown' })
  expect(await t.totals()).toEqual(simulated)

  await t.begin('item-1')
  await t.work()
  const all = await t.begin()
  await t.work()
  expect(await t.sync(all)).toMatchObject({ status: 'DONE', accounts: 1, simulado: false })
  const cents = t.server.account('acc-1').entries.reduce((sum, each) => sum + Math.abs(each.cents), 0)
  const { items, months, simulado } = await t.totals()
  expect(simulado).toBe(false)
  const sum = (rows: { credit: string; debit: string }[]) =>
    rows.reduce((all, { credit, debit }) => all + Math.round(100 * (Number(credit) + Number(debit))), 0)
  expect([sum(items), sum(months)]).toEqual([cents, cents])
  expect(items[0]).not.toHaveProperty('simulated')
  expect((await t.items()).map((each: { simulado: boolean }) => each.simulado)).toEqual([false, true])
})

test('a request with keys does not join an open sync without keys', async () => {
  const t = await stage()
  await t.begin('item-1')
  await t.work()
  t.keys(false)
  const simulated = await t.begin()
  t.keys(true)
  const { body } = await t.ask('POST', '/api/open-finance/sync', { body: {} })
  expect(body).toMatchObject({ joined: false, simulado: false })
  expect(body.id).not.toBe(simulated)
})

test('a simulated sync that waits for its turn does not name a stop of the real Pluggy', async () => {
  const t = await stage()
  t.server.refuseLogins(true)
  const real = await t.begin('item-1')
  await t.run()
  t.keys(false)
  const simulated = await t.begin(undefined, 'ana')
  expect(await t.sync(real)).toMatchObject({ status: 'PENDING', error_message: expect.stringMatching(/Pluggy/) })
  expect(await t.sync(simulated, 'ana')).toMatchObject({ status: 'PENDING', simulado: true, error_message: null })
})

test('no user can take the simulated connection of another user, and no other simulated connection exists', async () => {
  const t = await openFinanceDoor({}, { start })
  const provider = simulatedPluggy(
    async () => {},
    () => start,
  )
  for (const item of [provider.itemOf('bia')!, 'any-item']) {
    const id = await t.begin(item, 'ana')
    await t.work()
    expect(await t.sync(id, 'ana')).toMatchObject({ status: 'FAILED', error_code: 'bank_item_unknown' })
  }
  expect(await t.accounts('ana')).toEqual([])
  const own = await t.begin(undefined, 'bia')
  await t.work()
  expect(await t.sync(own, 'bia')).toMatchObject({ status: 'DONE', accounts: 3 })
  await t.clock.advance(days(1))
  const again = await t.begin(provider.itemOf('bia')!, 'bia')
  await t.work()
  expect(await t.sync(again, 'bia')).toMatchObject({ status: 'DONE', accounts: 3 })
})
