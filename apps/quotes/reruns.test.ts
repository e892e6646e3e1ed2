/** Quotes that run again: from scratch, after a retry by a person, after a lost page, and after useless answers. */
import { gunzipSync } from 'node:zlib'
import { hours, milliseconds, minutes, RetomaError, seconds } from 'retoma'
import { expect, onTestFinished, test, vi } from 'vitest'
import { sqlOn } from '../../test/support/application.ts'
import { anthropicProvider } from './providers/anthropic.ts'
import { serpApiProvider } from './providers/serpapi.ts'
import { simulatedAnalysis } from './providers/simulated/analysis.ts'
import { simulatedPages, simulatedShopping } from './providers/simulated/shopping.ts'
import { readQuotesSettings } from './settings.ts'
import { quotesDoor } from './test/door.ts'
import { anthropicServer, cut } from './test/servers/anthropic.ts'
import { garbage } from './test/servers/behaviours.ts'
import { serpApiServer } from './test/servers/serpapi.ts'
import { productPage, shopServer } from './test/servers/shop.ts'

const instantly = async () => {}
const product = 'notebook Dell Inspiron 15'

/** Attempts until the quote is over, each after its backoff. */
async function attempts(t: Awaited<ReturnType<typeof quotesDoor>>, most: number): Promise<void> {
  for (let n = 0; n < most; n++) {
    await t.run()
    await t.clock.advance(minutes(12))
  }
}

test.each(['notebook Dell Inspiron 15', 'Toyota Corolla XEi 2.0 2019'])(
  'a run from scratch of "%s" ends, with the rows of the new run only',
  async description => {
    const t = await quotesDoor()
    const sql = await sqlOn(t)
    const id = await t.quote(description)
    await t.work()
    const before = await t.read(id)
    const [job] = await sql<{ id: string }>(`select id::text as id from retoma.job where kind = 'quote'`)
    await sql(`update quotes.reading set product = 'old'`)
    await sql(`insert into quotes.reading (quote_id, n, product, shop, url, currency, seen_at) values ($1, 900, 'old', '', '', 'BRL', now())`, [id]) // biome-ignore format: in one line
    await t.engine.jobs.rerun(job!.id)
    await t.work()
    const after = await t.read(id)
    expect(after).toMatchObject({ status: 'DONE', result: { price: before.result.price } })
    expect(after.prices).toHaveLength(before.prices.length)
    expect(await sql(`select from quotes.reading where product = 'old'`)).toEqual([])
  },
)

test('the 24 hours of a quote that a person retries count from the retry', async () => {
  let isDown = true
  const shopping = simulatedShopping(instantly)
  const t = await quotesDoor({
    providers: {
      shopping: {
        ...shopping,
        search: async (query, signal) => {
          if (isDown) throw new Error('rede fora')
          return shopping.search(query, signal)
        },
      },
    },
  })
  const id = await t.quote(product)
  await t.run()
  await t.clock.advance(hours(25))
  await t.run()
  const cleanUp = async () => (await t.ask('POST', '/api/system/cleanup-old')).body.marked
  expect(await cleanUp()).toBe(1)
  const { job_id: job } = (await (await sqlOn(t))(`select job_id::text as job_id from quotes.quote`))[0] as { job_id: string } // biome-ignore format: in one line
  await t.engine.jobs.retry(job)
  expect(await cleanUp(), 'before the first attempt').toBe(0)
  const retriedAt = t.clock.now().toISOString()
  await t.run()
  expect(await cleanUp(), 'after a failure').toBe(0)
  expect(await t.read(id)).toMatchObject({ status: 'PENDING', started_at: retriedAt })
  await t.clock.advance(hours(23))
  expect(await cleanUp()).toBe(0)
  await t.clock.advance(hours(1.1))
  expect(await cleanUp()).toBe(1)
  await t.engine.jobs.retry(job)
  isDown = false
  await t.work()
  expect(await t.read(id)).toMatchObject({ status: 'DONE' })
})

test('an analysis of no use is bought at most five times, and then the quote is ERROR; a retry by a person buys again', async () => {
  const anthropic = await anthropicServer()
  onTestFinished(() => anthropic.close())
  anthropic.behave(cut())
  const t = await quotesDoor({
    settings: readQuotesSettings({ ANTHROPIC_API_KEY: anthropic.key }),
    providers: { analysis: anthropicProvider({ key: anthropic.key, baseUrl: anthropic.baseUrl }) },
  })
  const id = await t.quote(product)
  await attempts(t, 8)
  expect(anthropic.sold()).toHaveLength(5)
  expect(await t.read(id)).toMatchObject({ status: 'ERROR', error_message: expect.stringContaining('foi cortada') })
  const retry = () => t.ask('POST', `/api/quotes/${id}/retry`)
  expect((await retry()).body).toEqual({ id, status: 'PENDING' })
  expect((await retry()).body.error).toMatchObject({ code: 'quote_state', status: 'PENDING' })
  await t.run()
  anthropic.behave()
  await attempts(t, 2)
  expect(await t.read(id)).toMatchObject({ status: 'DONE' })
  expect(anthropic.sold()).toHaveLength(7)
  expect((await retry()).status).toBe(409)
  expect((await t.ask('POST', '/api/quotes/77/retry')).status).toBe(404)
})

test('a page whose reader the system ends each time is tried three times, and then has no price; the quote ends', async () => {
  const pages = simulatedPages(instantly, () => t.clock.now())
  let hostile: string | undefined
  const killed = new RetomaError('isolated_crash', { step: 'page', how: 'SIGKILL' })
  const t = await quotesDoor({
    providers: {
      pages: {
        readLink: async (_job, link, signal) => {
          hostile ??= link
          if (link === hostile) throw killed
          return pages(link, signal)
        },
      },
    },
  })
  const id = await t.quote(product)
  await attempts(t, 4)
  const done = await t.read(id)
  expect(done).toMatchObject({ status: 'DONE', attempt_number: 3 })
  expect(done.pages_without_price).toContainEqual(
    expect.objectContaining({ url: hostile, reason: expect.stringContaining('não pôde ser lida') }),
  )
})

test('the kept page is the page of the price, also if the shop changes the page between two attempts', async () => {
  const shop = await shopServer()
  const serpapi = await serpApiServer({ shops: shop.origin, products: 1, stores: 1 })
  onTestFinished(async () => void (await Promise.all([shop.close(), serpapi.close()])))
  const environment = {
    SERPAPI_API_KEY: serpapi.key,
    SERPAPI_BASE_URL: serpapi.baseUrl,
    RETOMA_FETCH_ALLOW: shop.allow,
  }
  const t = await quotesDoor({
    settings: readQuotesSettings(environment),
    providers: { analysis: simulatedAnalysis(instantly) },
  })
  vi.spyOn(t.engine.files, 'put').mockRejectedValueOnce(new Error('the process dies before the page is kept'))
  onTestFinished(() => void vi.restoreAllMocks())
  const id = await t.quote(product)
  await t.run()
  const path = shop.pages()[0]!.about
  const other = '/p/another-price'
  shop.behave(({ about }) => (about === path ? garbage(productPage(other)) : null))
  await t.clock.advance(seconds(10))
  await t.run()
  const done = await t.read(id)
  expect(done).toMatchObject({ status: 'DONE', attempt_number: 2, prices: [{ price: shop.priceOf(other) }] })
  const page = await t.fetch(new Request(`http://127.0.0.1:3000${done.prices[0].evidence_url}`))
  expect(gunzipSync(Buffer.from(await page.arrayBuffer())).toString()).toContain(shop.priceOf(other))
})

test('SerpApi itself out of searches in mid-batch: PAUSED with its words, nothing is ERROR, one probe a minute, and goes on by itself', async () => {
  const serpapi = await serpApiServer({ products: 1, stores: 1 })
  onTestFinished(() => serpapi.close())
  serpapi.setSearchesLeft(5)
  const real = serpApiProvider({ key: serpapi.key, baseUrl: serpapi.baseUrl })
  const t = await quotesDoor({
    settings: readQuotesSettings({ SERPAPI_API_KEY: serpapi.key, SERPAPI_BASE_URL: serpapi.baseUrl }),
    providers: {
      analysis: simulatedAnalysis(instantly),
      // Virtual time waits for the sockets.
      shopping: {
        ...real,
        search: (query, signal) => t.clock.during(real.search(query, signal)),
        shops: (found, signal) => t.clock.during(real.shops(found, signal)),
      },
      pages: { readLink: (_job, link, signal) => simulatedPages(instantly, () => t.clock.now())(link, signal) },
    },
  })
  const id = await t.batch(Array.from({ length: 8 }, (_, n) => `cadeira modelo ${n}`))
  await t.work()
  expect(await t.batchStatus(id)).toMatchObject({
    status: 'PAUSED',
    error: 0,
    processing: 0,
    reason: { provider: 'serpapi', message: expect.stringContaining('Your account has run out of searches.') },
  })
  const before = serpapi.calls.length
  for (let minute = 0; minute < 3; minute++) {
    await t.clock.advance(minutes(1))
    await t.tick()
    await t.work()
  }
  expect(serpapi.calls.length - before).toBeGreaterThanOrEqual(2)
  expect(serpapi.calls.length - before).toBeLessThanOrEqual(3)
  serpapi.setSearchesLeft(1000)
  for (let rounds = 0; rounds < 3; rounds++) {
    await t.clock.advance(milliseconds(61_000))
    await t.tick()
    await t.work()
  }
  expect(await t.batchStatus(id)).toMatchObject({ status: 'DONE', done: 8, error: 0, reason: null })
  expect(serpapi.boughtTwice()).toEqual([])
})
