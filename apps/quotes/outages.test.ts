/** Outages of the database and of a provider in the middle of a quote: neither costs an attempt, and no request is sent in vain. */
import { providerWait, RetomaError, seconds } from 'retoma'
import { expect, test, vi } from 'vitest'
import { decide } from '../../src/jobs/model/outcome.ts'
import { gate, timePasses, until } from '../../test/support/engine.ts'
import { simulatedAnalysis } from './providers/simulated/analysis.ts'
import { simulatedPages, simulatedShopping } from './providers/simulated/shopping.ts'
import { simulatedVehicles } from './providers/simulated/vehicles.ts'
import { readQuotesSettings } from './settings.ts'
import { quotesDoor } from './test/door.ts'

const instantly = async () => {}
const shopping = simulatedShopping(instantly)
const pages = simulatedPages(instantly, () => new Date('2030-01-01T00:00:00Z'))
const away = () =>
  new RetomaError('database_unreachable', { address: 'db', problem: 'ECONNREFUSED', outcome: 'nothing was written' })

/** A provider with a key, so that the limits over all workers count. */
const limited = {
  settings: readQuotesSettings({
    SERPAPI_API_KEY: 'k',
    SERPAPI_REQUESTS_PER_MINUTE: '1000',
    FIPE_BASE_URL: 'http://127.0.0.1:1',
  }),
  providers: {
    analysis: simulatedAnalysis(instantly),
    shopping: { ...shopping, simulated: false },
    vehicles: { ...simulatedVehicles(instantly), simulated: false },
    pages: { readLink: (_job: unknown, link: string, signal: AbortSignal) => pages(link, signal) },
  },
}

test('a database that is away during a turn, a limit, a FIPE list or a page costs no attempt of the quote', async () => {
  const t = await quotesDoor(limited)
  const ids = [await t.quote('geladeira Frost Free 400 L'), await t.quote('Fiat Strada Volcano 1.3 2023')]
  const { query, limit } = t.engine
  const { put } = t.engine.files
  const lost = new Map<string, number>()
  /** The first two calls about the same fail. */
  const fails = (what: string) => {
    lost.set(what, (lost.get(what) ?? 0) + 1)
    return lost.get(what)! <= 2
  }
  vi.spyOn(t.engine, 'query').mockImplementation((async (text: string, values: unknown[]) => {
    const [, table = ''] = /(quotes\.(?:turn|fipe))/.exec(text) ?? []
    if (table !== '' && fails(`${table} ${text.trim().slice(0, 6)}`)) throw away()
    return query(text, values)
  }) as never)
  vi.spyOn(t.engine, 'limit').mockImplementation(async given => {
    if (fails('limit')) throw away()
    return limit(given)
  })
  vi.spyOn(t.engine.files, 'put').mockImplementation(async (bytes, about) => {
    if (fails('put')) throw away()
    return put(bytes, about)
  })
  await t.work()
  expect([...lost.keys()].sort()).toEqual(
    expect.arrayContaining(['limit', 'put', 'quotes.fipe insert', 'quotes.fipe select', 'quotes.turn with m']),
  )
  for (const id of ids) expect(await t.read(id)).toMatchObject({ status: 'DONE', attempt_number: 1 })
  for (const { failures } of (await t.engine.jobs.list({ kind: 'quote' })).items) expect(failures).toBe(0)
})

test('a turn whose answer was lost is given again to the same request, and leaves no turn behind', async () => {
  const t = await quotesDoor(limited)
  const id = await t.quote('geladeira Frost Free 400 L')
  const { query } = t.engine
  let takes = 0
  vi.spyOn(t.engine, 'query').mockImplementation((async (text: string, values: unknown[]) => {
    const answer = await query(text, values)
    if (text.includes('insert into quotes.turn') && ++takes === 1) throw away()
    return answer
  }) as never)
  await t.work()
  expect(await t.read(id)).toMatchObject({ status: 'DONE', attempt_number: 1 })
  expect((await query('select count(*)::int as n from quotes.turn')).rows).toEqual([{ n: 0 }])
})

test('a provider that asks for a wait gets no request from quotes that waited for their turn meanwhile', async () => {
  let searches = 0
  const [begun, answered] = [gate(), gate()]
  const t = await quotesDoor({
    ...limited,
    settings: readQuotesSettings({ SERPAPI_API_KEY: 'k', SERPAPI_CONCURRENCY: '1' }),
    providers: {
      ...limited.providers,
      shopping: {
        ...limited.providers.shopping,
        async search(query, signal) {
          if (++searches > 1) return shopping.search(query, signal)
          begun.open()
          await answered.passed
          throw providerWait({ retryAfter: seconds(60), message: 'slow down' })
        },
      },
    },
  })
  for (let n = 0; n < 4; n++) await t.quote(`cadeira ${n}`)
  let over = false
  const running = t.run().finally(() => {
    over = true
  })
  await begun.passed
  await until(async () => (await t.stats()).by_checkpoint.SHOPPING_SEARCH_START === 4)
  answered.open()
  await timePasses(t.clock, () => over)
  await running
  expect(searches).toBe(1)
})

test('a quote that crashes its process again and again is tried until its 24 hours are over, not failed as poison', async () => {
  const { system } = await quotesDoor()
  const { policy } = system.jobs!.find(({ kind }) => kind === 'quote')!
  const crash = { thrown: new Error('boom'), evidence: { exitCode: 1 } as never }
  expect(decide({ kind: 'quote', failures: 0, crashes: 500 }, policy, crash, 0)).toMatchObject({ state: 'waiting' })
})
