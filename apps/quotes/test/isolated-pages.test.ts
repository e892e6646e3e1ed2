/** Pages read by a real worker: each price is read in another process with limits, and a hostile page ends there. */
import { availableParallelism } from 'node:os'
import { defineJob, minutes, seconds } from 'retoma'
import { expect, onTestFinished, test } from 'vitest'
import { doorOf } from '../../../test/http/support.ts'
import { gate, liveEngine, until } from '../../../test/support/engine.ts'
import { quotes } from '../index.ts'
import { createPageFetcher } from '../price-pages/fetch-page.ts'
import { priceLimits, priceModule, readFetched } from '../price-pages/price-reader.ts'
import { simulatedAnalysis } from '../providers/simulated/analysis.ts'
import { readQuotesSettings } from '../settings.ts'
import { garbage, ok } from './servers/behaviours.ts'
import { serpApiServer } from './servers/serpapi.ts'
import { shopServer } from './servers/shop.ts'

test('a page is read in another process; a page that takes too long there has no price, and the job goes on', async () => {
  const shop = await shopServer()
  onTestFinished(() => shop.close())
  const fetcher = createPageFetcher({ now: () => new Date(0), allow: [shop.allow] })
  const read = defineJob<{ path: string; timeout: number }>({
    kind: 'read',
    run: async (ctx, { path, timeout }) => {
      const limits = { ...priceLimits, timeout: seconds(timeout) }
      const fetched = await fetcher.fetch(`${shop.origin}${path}`, ctx.signal)
      const found = await readFetched(fetched, page => ctx.isolated('price', priceModule, page, limits))
      return found.found
        ? { price: found.price, title: found.title }
        : { reason: found.reason, bytes: found.page?.length }
    },
  })
  // The parser keeps a list of the open tags, and searches the list.
  const hostile = `${'<a>'.repeat(400_000)}${'</b>'.repeat(100_000)}`
  shop.behave(({ about }) => (about === '/p/hostile' ? garbage(hostile) : null))
  const { engine } = await liveEngine([read])
  await using _worker = await engine.work({ queues: { default: 2 } })
  const ended = async (path: string, timeout: number) => {
    const { id } = await engine.enqueue(read, { path, timeout })
    return (await engine.wait({ job: id })).result
  }
  expect(await ended('/p/1', 60)).toEqual({ price: shop.priceOf('/p/1'), title: 'Produto /p/1' })
  expect(await ended('/p/hostile', 1)).toEqual({ reason: 'unreadable', bytes: hostile.length })
  expect(await ended('/p/2', 60)).toEqual({ price: shop.priceOf('/p/2'), title: 'Produto /p/2' })
})

test('a quote that goes back to the queue because no process is free to read its pages asks no shop again', async () => {
  const shop = await shopServer()
  const serpapi = await serpApiServer({ shops: shop.origin, products: 1, stores: 4 })
  onTestFinished(async () => void (await Promise.all([shop.close(), serpapi.close()])))
  const released = gate()
  onTestFinished(() => released.open())
  const held = { name: 'held', answer: (inHand: Parameters<ReturnType<typeof ok>['answer']>[0]) => released.passed.then(() => ok().answer(inHand)) } // biome-ignore format: in one line
  shop.behave(({ about }) => (about === '/held' ? held : null))
  const hold = defineJob({
    kind: 'hold',
    run: ctx => ctx.isolated('hold', new URL('./held.mjs', import.meta.url), `${shop.origin}/held`, { timeout: minutes(5) }), // biome-ignore format: in one line
  })
  const system = quotes({
    settings: readQuotesSettings({
      SERPAPI_API_KEY: serpapi.key,
      SERPAPI_BASE_URL: serpapi.baseUrl,
      RETOMA_FETCH_ALLOW: shop.allow,
    }),
    simulatedDelays: false,
    providers: { analysis: simulatedAnalysis(async () => {}) },
  })
  const { engine } = await liveEngine([hold], { systems: [system] })
  const readers = availableParallelism()
  await using _worker = await engine.work({ queues: { default: readers, ...system.queues } })
  for (let n = 0; n < readers; n++) await engine.enqueue(hold, undefined)
  await shop.called(readers)
  const { ask } = doorOf(engine, { routes: system.routes })
  const { id } = (await ask('POST', '/api/quotes', { body: { description: 'geladeira', kind: 'product' } })).body
  const wentBack = async () =>
    (await engine.query<{ n: number }>(`select uncounted_attempts as n from retoma.job where kind = 'quote'`)).rows[0]!
      .n
  await until(async () => (await wentBack()) >= 2)
  released.open()
  await until(async () => (await ask('GET', `/api/quotes/${id}`)).body.status === 'DONE')
  expect((await ask('GET', `/api/quotes/${id}`)).body).toMatchObject({ attempt_number: 1, result: { prices_found: 4 } })
  expect(shop.calls.filter(({ about }) => about.startsWith('/p/'))).toHaveLength(4)
})
