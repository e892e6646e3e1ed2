/** The routes of Open Finance over an engine on the virtual clock. */
import { onTestFinished } from 'vitest'
import type { Log } from '../../../../src/lib/logging/log.ts'
import { doorWith } from '../../../../test/http/support.ts'
import { workOn } from '../../../../test/support/application.ts'
import { documents } from '../../index.ts'
import type { OpenFinanceOptions } from '../../open-finance/index.ts'
import { readOpenFinanceSettings } from '../../open-finance/settings.ts'
import { type PluggyServer, type PluggyServerOptions, pluggyServer } from './pluggy-server.ts'

/** Without a server Pluggy is simulated, and answers at once. */
export async function openFinanceDoor(options: OpenFinanceOptions = {}, more: { start?: Date; log?: Log } = {}) {
  const settings = readOpenFinanceSettings({})
  const system = documents({ openFinance: { settings, simulatedDelays: false, ...options } })
  const door = await doorWith([], { systems: [system], ...more, app: { routes: system.routes } })
  const { ask } = door
  const asUser = (user: string | undefined) => (user === undefined ? {} : { headers: { 'x-user-id': user } })
  return {
    ...door,
    system,
    work: () => workOn(door),
    /** Returns the id of the sync. */
    begin: async (item?: string, user?: string): Promise<string> =>
      (
        await ask('POST', '/api/open-finance/sync', {
          body: item === undefined ? {} : { item_id: item },
          ...asUser(user),
        })
      ).body.id,
    sync: async (id: string, user?: string) => (await ask('GET', `/api/open-finance/syncs/${id}`, asUser(user))).body,
    accounts: async (user?: string) => (await ask('GET', '/api/open-finance/accounts', asUser(user))).body.items,
    transactions: async (query = '', user?: string) =>
      (await ask('GET', `/api/open-finance/transactions?limit=500${query}`, asUser(user))).body.items,
  }
}

export const settingsOf = ({ baseUrl, clientId, clientSecret }: PluggyServer) =>
  readOpenFinanceSettings({
    PLUGGY_BASE_URL: baseUrl,
    PLUGGY_CLIENT_ID: clientId,
    PLUGGY_CLIENT_SECRET: clientSecret,
  })

/** The same with a Pluggy on loopback. */
export async function bankDoor(options: PluggyServerOptions = {}, more: { start?: Date; log?: Log } = {}) {
  const server = await pluggyServer(options)
  onTestFinished(() => server.close())
  const door = await openFinanceDoor({ settings: settingsOf(server) }, more)
  return { ...door, server }
}
