/** Two worker processes on one database: the limits over all workers hold between processes. */
import { fileURLToPath } from 'node:url'
import { createEngine } from 'retoma'
import { expect, onTestFinished, test } from 'vitest'
import { doorOf } from '../../../test/http/support.ts'
import { migratedDatabase } from '../../../test/support/database.ts'
import { gate, until } from '../../../test/support/engine.ts'
import { hire, killed } from '../../../test/support/killed-workers.ts'
import { quotes } from '../index.ts'
import { readQuotesSettings } from '../settings.ts'
import { type Behaviour, ok } from './servers/behaviours.ts'
import { serpApiServer } from './servers/serpapi.ts'
import { shopServer } from './servers/shop.ts'

const script = fileURLToPath(new URL('./worker.mjs', import.meta.url))

test('two worker processes together send at most two requests at once to a shop', async () => {
  const { url, drop } = await migratedDatabase('with systems')
  onTestFinished(drop)
  const shop = await shopServer()
  const serpapi = await serpApiServer({ shops: shop.origin, products: 1, stores: 3 })
  onTestFinished(async () => void (await Promise.all([shop.close(), serpapi.close()])))
  const environment = {
    DATABASE_URL: url,
    SERPAPI_API_KEY: serpapi.key,
    SERPAPI_BASE_URL: serpapi.baseUrl,
    RETOMA_FETCH_ALLOW: shop.allow,
    QUOTES_CONCURRENCY: '3',
  }
  const system = quotes({ settings: readQuotesSettings(environment) })
  const engine = await createEngine({ databaseUrl: url, systems: [system], migrate: false })
  onTestFinished(() => engine.close())
  const { ask } = doorOf(engine, { routes: system.routes })
  // No page is answered before both workers have all their quotes at the pages.
  const released = gate()
  const held: Behaviour = { name: 'held', answer: inHand => released.passed.then(() => ok().answer(inHand)) }
  shop.behave(({ about }) => (about === '/robots.txt' ? null : held))
  const workers = [hire(script, environment), hire(script, environment)]
  await until(async () => (await engine.workers.list()).length === 2)
  const ids: string[] = []
  for (let n = 0; n < 6; n++)
    ids.push((await ask('POST', '/api/quotes', { body: { description: `mesa ${n}`, kind: 'product' } })).body.id)
  const read = async (id: string) => (await ask('GET', `/api/quotes/${id}`)).body
  const isAtPages = async (id: string) => (await read(id)).progress_percentage >= 50
  for (const id of ids) await until(() => isAtPages(id))
  expect(new Set((await Promise.all(ids.map(read))).map(each => each.worker_id)).size).toBe(2)
  await until(async () => shop.mostAtOnce() >= 2)
  released.open()
  for (const id of ids) await until(async () => (await read(id)).status === 'DONE')
  expect(shop.mostAtOnce()).toBe(2)
  await Promise.all(workers.map(each => killed(each)))
})
