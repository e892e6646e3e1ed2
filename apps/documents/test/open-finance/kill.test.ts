/** A real worker process and a Pluggy on loopback: the worker is killed in the middle of pages, before and after their commit. */
import { fileURLToPath } from 'node:url'
import { createEngine } from 'retoma'
import { expect, onTestFinished, test } from 'vitest'
import { doorOf } from '../../../../test/http/support.ts'
import { sqlOn } from '../../../../test/support/application.ts'
import { migratedDatabase } from '../../../../test/support/database.ts'
import { until } from '../../../../test/support/engine.ts'
import { hire, killed, takeLock, writeLock } from '../../../../test/support/killed-workers.ts'
import { documents } from '../../index.ts'
import { settingsOf } from './door.ts'
import { entriesFor, pluggyServer } from './pluggy-server.ts'

const script = fileURLToPath(new URL('../process.mjs', import.meta.url))

/** The transaction of a page waits for a lock: before its rows are written, or after, before the commit. */
const hold = `
  create table public.held (at text);
  create function public.hold() returns trigger language plpgsql as $$
  begin
    if exists (select from public.held where at = tg_argv[0]) then ${takeLock}; end if;
    return null;
  end $$;
  create trigger hold_begin before insert on documents.bank_transaction for each statement execute function public.hold('begin');
  create trigger hold_end after update on documents.bank_sync for each statement execute function public.hold('end')`

test('killed in the middle of a page, before and after its writes: no transaction twice, and balances are those of the ledger', async () => {
  const { url, drop } = await migratedDatabase('with systems')
  onTestFinished(drop)
  const server = await pluggyServer()
  onTestFinished(() => server.close())
  const now = new Date()
  server.addAccount('item-1', 'acc-1', entriesFor('a', 23, now))
  server.addAccount('item-1', 'acc-2', entriesFor('b', 12, now), 'CREDIT')
  const system = documents({ openFinance: { settings: settingsOf(server) } })
  const engine = await createEngine({ databaseUrl: url, systems: [system], migrate: false })
  onTestFinished(() => engine.close())
  const { ask } = doorOf(engine, { routes: system.routes })
  const sql = await sqlOn({ databaseUrl: url })
  const lock = await writeLock(url, hold)
  const environment = {
    DATABASE_URL: url,
    PLUGGY_BASE_URL: server.baseUrl,
    PLUGGY_CLIENT_ID: server.clientId,
    PLUGGY_CLIENT_SECRET: server.clientSecret,
  }

  const { status, body } = await ask('POST', '/api/open-finance/sync', { body: { item_id: 'item-1' } })
  expect(status).toBe(202)
  const read = async () => (await ask('GET', `/api/open-finance/syncs/${body.id}`)).body
  for (const at of ['begin', 'end']) {
    await sql(`insert into public.held values ($1)`, [at])
    const before = (await read()).added
    const worker = hire(script, environment, 'sync')
    await until(lock.isAwaited)
    expect((await read()).status).toBe('PROCESSING')
    await killed(worker)
    await lock.endWaiting()
    await sql(`delete from public.held`)
    // The page of a killed worker is not there by half.
    expect((await read()).added).toBe(before)
    // The next worker writes one page, and is killed too.
    const next = hire(script, environment, 'sync')
    await until(async () => (await read()).added > before)
    await killed(next)
  }
  const last = hire(script, environment, 'sync')
  await until(async () => (await read()).status === 'DONE')
  await killed(last)

  expect(await read()).toMatchObject({ status: 'DONE', accounts: 2, added: 35, changed: 0, removed: 0 })
  const { items: accounts } = (await ask('GET', '/api/open-finance/accounts')).body
  const { items } = (await ask('GET', '/api/open-finance/transactions?limit=500')).body
  expect(new Set(items.map((each: { id: string }) => each.id)).size).toBe(35)
  for (const { id, balance } of accounts) {
    expect(balance).toBe(server.balanceOf(id))
    const cents = items
      .filter((each: { account_id: string }) => each.account_id === id)
      .reduce((sum: bigint, each: { amount: string }) => sum + BigInt(each.amount.replace('.', '')), 0n)
    expect((Number(cents) / 100).toFixed(2)).toBe(server.balanceOf(id))
  }
  // One key for all five processes.
  expect(server.keys).toHaveLength(1)
  const kept = JSON.stringify(await sql(`select row_to_json(k) from documents.pluggy_key k`))
  for (const secret of [server.clientSecret, ...server.keys]) expect(kept).not.toContain(secret)
})
