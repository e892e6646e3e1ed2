/** Quotes that hang, grow old, or wait for a provider; by the virtual clock. */
import { type Duration, hours, minutes, providerStop, providerWait, seconds } from 'retoma'
import { expect, onTestFinished, test } from 'vitest'
import { aborted, type Gate, gate, until } from '../../test/support/engine.ts'
import { fipeProvider } from './providers/fipe.ts'
import { simulatedAnalysis } from './providers/simulated/analysis.ts'
import { simulatedPages, simulatedShopping } from './providers/simulated/shopping.ts'
import { simulatedVehicles } from './providers/simulated/vehicles.ts'
import { readQuotesSettings } from './settings.ts'
import { quotesDoor } from './test/door.ts'
import { fipeServer } from './test/servers/fipe.ts'

const instantly = async () => {}
const shopping = simulatedShopping(instantly)
const analysis = simulatedAnalysis(instantly)

/** Time in small steps, with the watchdog at every step. */
async function passes(
  t: { clock: { advance(by: Duration): Promise<unknown> }; tick(): Promise<void> },
  time: Duration,
) {
  for (let passed = 0; passed < time; passed += 5000) {
    await t.clock.advance(seconds(5))
    await t.tick()
  }
}

/** A door whose first search hangs until the gate opens, deaf to its signal. */
async function hangingDoor(start?: Date) {
  let searches = 0
  const begun = gate()
  const hang: Gate = gate()
  const door = await quotesDoor(
    {
      providers: {
        shopping: {
          ...shopping,
          async search(query, signal) {
            searches++
            if (searches === 1) {
              begun.open()
              await hang.passed
            }
            return shopping.search(query, signal)
          },
        },
      },
    },
    start === undefined ? {} : { start },
  )
  // A test that fails must not wait for the hanging attempt.
  onTestFinished(() => hang.open())
  return { ...door, begun, hang, searches: () => searches }
}

test('a worker that hangs without dying: recover_stuck_quotes puts the quote back after ten minutes, and the late end is refused', async () => {
  const t = await hangingDoor()
  await t.schedule()
  const id = await t.quote('geladeira Frost Free 400 L')
  const running = t.run()
  await t.begun.passed
  expect(await t.stats()).toEqual({
    total_processing: 1,
    stuck_count: 0,
    by_checkpoint: { SHOPPING_SEARCH_START: 1 },
    avg_processing_time_seconds: null,
  })
  const before = await t.read(id)
  expect(before).toMatchObject({ status: 'PROCESSING', attempt_number: 1, worker_id: expect.any(String) })
  await passes(t, minutes(10))
  expect((await t.ask('GET', '/api/system/stuck-quotes')).body.items).toEqual([])
  await passes(t, seconds(10))

  const { items, next } = (await t.ask('GET', '/api/system/stuck-quotes')).body
  expect(next).toBeNull()
  expect(items).toMatchObject([
    { id, status: 'PROCESSING', worker_id: before.worker_id, processing_checkpoint: 'SHOPPING_SEARCH_START' },
  ])
  expect(items[0].seconds_since_heartbeat).toBeGreaterThan(600)
  expect(await t.stats()).toMatchObject({ total_processing: 1, stuck_count: 1 })
  expect((await t.ask('GET', '/metrics')).body).toContain('\nretoma_quotes_stuck 1\n')

  // The schedule fires at the next full five minutes; its job runs in the slot that the hanging attempt has lost.
  await passes(t, minutes(5))
  await t.schedule()
  await running
  await t.run()
  const done = await t.read(id)
  expect(done).toMatchObject({ status: 'DONE', attempt_number: 2 })
  expect(t.searches()).toBe(2)
  t.hang.open()
  await until(async () => (await t.engine.workers.list()).every(each => each.abandoned === 0))
  expect(await t.read(id)).toEqual(done)
  expect(await t.stats()).toMatchObject({ total_processing: 0, stuck_count: 0 })
})

test('between the recovery and the next start no worker has the quote, and the number of the attempt is the next one', async () => {
  const t = await hangingDoor()
  const id = await t.quote('fogão 5 bocas')
  const running = t.run()
  await t.begun.passed
  expect((await t.ask('POST', `/api/system/recover-quote/${id}`)).body).toEqual({
    id,
    status: 'PROCESSING',
    recovered: false,
  })
  await passes(t, minutes(10.5))
  await running
  expect((await t.ask('POST', '/api/system/recover-stuck')).body).toEqual({ recovered: 1, ids: [id] })
  expect(await t.read(id)).toMatchObject({
    status: 'PENDING',
    worker_id: null,
    attempt_number: 2,
    progress_percentage: 35,
  })
  expect((await t.ask('POST', '/api/system/recover-stuck')).body).toEqual({ recovered: 0, ids: [] })
  expect((await t.ask('POST', `/api/system/recover-quote/${id}`)).body).toEqual({
    id,
    status: 'PENDING',
    recovered: false,
  })
  expect((await t.ask('POST', '/api/system/recover-quote/77')).status).toBe(404)
  await t.run()
  expect(await t.read(id)).toMatchObject({ status: 'DONE', attempt_number: 2 })
  t.hang.open()
})

test('a stuck quote is recovered by its id', async () => {
  const t = await hangingDoor()
  const id = await t.quote('fogão 4 bocas')
  const running = t.run()
  await t.begun.passed
  await passes(t, minutes(10.5))
  await running
  expect((await t.ask('POST', `/api/system/recover-quote/${id}`)).body).toEqual({
    id,
    status: 'PENDING',
    recovered: true,
  })
  t.hang.open()
})

test('recover-stuck puts every quote back that counts as stuck, also one that no watchdog has checked yet', async () => {
  const t = await hangingDoor()
  const id = await t.quote('fogão 6 bocas')
  await t.tick()
  const running = t.run()
  await t.begun.passed
  await passes(t, seconds(595))
  await t.clock.advance(seconds(7))
  expect(await t.stats()).toMatchObject({ total_processing: 1, stuck_count: 1 })
  const { items } = (await t.ask('GET', '/api/system/stuck-quotes')).body
  expect(items[0]).toMatchObject({
    id,
    claude_payload_json: { simulado: true },
    google_shopping_response_json: null,
    resume_data: { tested_products: [] },
    prices: [],
    omitted: null,
  })
  expect((await t.ask('POST', '/api/system/recover-stuck')).body).toEqual({ recovered: 1, ids: [id] })
  expect((await t.stats()).stuck_count).toBe(0)
  t.hang.open()
  await running
})

test('a quote of a batch that hangs goes back by resume-batch of its own batch only', async () => {
  const t = await hangingDoor()
  const [other, id] = [await t.batch(['Fiat Uno Way 1.0 2012']), await t.batch(['fogão 2 bocas'])]
  const running = t.run()
  await t.begun.passed
  await passes(t, minutes(10.5))
  await running
  const resumed = async (batch: string) => (await t.ask('POST', `/api/system/resume-batch/${batch}`)).body.resumed
  expect(await t.batchStatus(id)).toMatchObject({ processing: 1, by_checkpoint: { SHOPPING_SEARCH_START: 1 } })
  expect(await resumed(other)).toBe(0)
  expect(await resumed(id)).toBe(1)
  expect(await t.batchStatus(id)).toMatchObject({ processing: 0, pending: 1 })
  expect(await resumed(id)).toBe(0)
  await t.run()
  expect(await t.batchStatus(id)).toMatchObject({ status: 'DONE', done: 1 })
  t.hang.open()
})

test('over 24 hours since its first start a quote is ERROR, at 04:00 of São Paulo, however often it was put back', async () => {
  const begun: string[] = []
  // 04:30 in São Paulo: at the next cleanup the quote is 23.5 hours old.
  const t = await quotesDoor(
    {
      providers: {
        shopping: {
          ...shopping,
          async search(query, signal) {
            begun.push(query)
            await aborted(signal)
            throw signal.reason
          },
        },
      },
    },
    { start: new Date('2030-03-10T07:30:00Z') },
  )
  await t.schedule()
  const id = await t.quote('máquina de lavar 12 kg')
  const hangs = async () => {
    const running = t.run()
    await until(() => begun.length > 0)
    begun.pop()
    await passes(t, minutes(10.5))
    await running
  }
  const until4 = async (at: string) => {
    await t.clock.advance((Date.parse(at) - t.clock.now().getTime()) as Duration)
    await t.schedule()
  }
  await hangs()
  const { started_at } = await t.read(id)
  expect(started_at).toBe('2030-03-10T07:30:00.000Z')
  await until4('2030-03-11T07:00:00Z')
  await hangs()
  expect(await t.read(id)).toMatchObject({ status: 'PROCESSING', attempt_number: 2, started_at })
  await until4('2030-03-12T06:59:00Z')
  expect((await t.ask('GET', '/api/system/processing-stats')).body).toMatchObject({
    total_processing: 1,
    stuck_count: 1,
  })
  await until4('2030-03-12T07:00:00Z')
  await t.work()
  expect(await t.read(id)).toMatchObject({
    status: 'ERROR',
    started_at,
    completed_at: expect.stringMatching(/^2030-03-12T07:00/),
    error_message: 'a cotação está em processamento há mais de 24 h',
  })
  expect((await t.ask('POST', '/api/system/cleanup-old')).body).toEqual({ marked: 0 })
})

test('a quote that fails again and again ends after 24 hours; one that waits for a provider does not', async () => {
  const t = await quotesDoor({
    settings: readQuotesSettings({ SERPAPI_API_KEY: 'k' }),
    providers: {
      analysis,
      shopping: {
        ...shopping,
        simulated: false,
        async search(query) {
          if (!query.includes('falha')) throw providerStop({ code: 'out_of_searches', message: 'sem buscas' })
          throw new Error('rede fora')
        },
      },
    },
  })
  const fails = await t.quote('falha')
  await t.run()
  const waits = await t.quote('espera')
  await t.work()
  expect((await t.read(waits)).waiting_reason).toContain('sem buscas')
  await t.clock.advance(hours(24.5))
  await t.work()
  expect((await t.ask('POST', '/api/system/cleanup-old')).body).toEqual({ marked: 0 })
  await t.engine.providers.clear('serpapi')
  expect((await t.ask('POST', '/api/system/cleanup-old')).body).toEqual({ marked: 1 })
  expect(await t.read(fails)).toMatchObject({ status: 'ERROR', waiting_reason: null })
  expect(await t.read(waits)).toMatchObject({ status: 'PENDING' })
})

test('a provider that waits keeps only the quotes that wait for the provider from their end after 24 hours', async () => {
  let asked = 0
  const t = await quotesDoor({
    settings: readQuotesSettings({ FIPE_BASE_URL: 'http://127.0.0.1:1' }),
    providers: {
      analysis,
      vehicles: {
        ...simulatedVehicles(instantly),
        simulated: false,
        async references() {
          asked++
          if (asked === 1) throw new Error('rede fora')
          throw providerWait({ retryAfter: hours(48), message: 'sem chamadas' })
        },
      },
      shopping: {
        ...shopping,
        async search() {
          throw new Error('rede fora')
        },
      },
    },
  })
  const [fails, waits] = [await t.quote('geladeira'), await t.quote('Toyota Corolla XEi 2.0 2019')]
  for (let attempts = 0; attempts < 2; attempts++) {
    await t.work()
    await t.clock.advance(minutes(1))
  }
  expect(asked).toBe(2)
  await t.clock.advance(hours(24.5))
  await t.work()
  expect((await t.ask('POST', '/api/system/cleanup-old')).body).toEqual({ marked: 1 })
  expect(await t.read(fails)).toMatchObject({ status: 'ERROR' })
  expect(await t.read(waits)).toMatchObject({
    status: 'PENDING',
    waiting_reason: expect.stringContaining('sem chamadas'),
  })
})

test('FIPE without calls for the day leaves the products of the same batch alone', async () => {
  const fipe = await fipeServer()
  onTestFinished(() => fipe.close())
  fipe.setCallsLeft(0)
  let isDown = true
  const t = await quotesDoor({
    settings: readQuotesSettings({ FIPE_BASE_URL: fipe.baseUrl }),
    providers: {
      analysis,
      vehicles: fipeProvider({ baseUrl: fipe.baseUrl }),
      shopping: {
        ...shopping,
        async search(query, signal) {
          if (isDown) throw new Error('rede fora')
          return shopping.search(query, signal)
        },
      },
    },
  })
  const id = await t.batch(['geladeira', 'Toyota Corolla XEi 2.0 2019'])
  const pass = async (steps: number) => {
    for (let step = 0; step < steps; step++) {
      await t.clock.advance(minutes(5))
      await t.tick()
      await t.work()
    }
  }
  await t.work()
  await pass(9)
  isDown = false
  await pass(3)
  expect(await t.batchStatus(id)).toMatchObject({ status: 'PROCESSING', done: 1, pending: 1, error: 0, reason: null })
  expect((await t.engine.providers.list())[0]).toMatchObject({ name: 'fipe', stoppedAt: null })
  fipe.setCallsLeft(100)
  await pass(2)
  expect(await t.batchStatus(id)).toMatchObject({ status: 'DONE', done: 2 })
})

test('SerpApi out of searches in mid-batch: PAUSED with its words, nothing is ERROR, one probe a minute, and goes on by itself', async () => {
  let left = 20
  let refused = 0
  const sold: string[] = []
  const words = 'Your account has run out of searches.'
  const sell = (what: string) => {
    if (left-- > 0) return void sold.push(what)
    refused++
    throw providerStop({ code: 'out_of_searches', message: words })
  }
  const t = await quotesDoor({
    settings: readQuotesSettings({ SERPAPI_API_KEY: 'k' }),
    providers: {
      analysis,
      shopping: {
        simulated: false,
        async search(query, signal) {
          sell(query)
          return shopping.search(query, signal)
        },
        async shops(product, signal) {
          sell(product.pageToken!)
          return shopping.shops(product, signal)
        },
      },
      pages: { readLink: (_job, link, signal) => simulatedPages(instantly, () => t.clock.now())(link, signal) },
    },
  })
  const id = await t.batch(Array.from({ length: 12 }, (_, n) => `cadeira modelo ${n}`))
  await t.work()
  const paused = await t.batchStatus(id)
  expect(paused).toMatchObject({
    status: 'PAUSED',
    total: 12,
    error: 0,
    processing: 0,
    by_checkpoint: {},
    reason: { code: 'provider', provider: 'serpapi', message: words },
  })
  expect(paused.pending).toBe(12 - paused.done)
  expect(paused.pending).toBeGreaterThan(0)
  expect((await t.ask('GET', `/api/quotes?batch_id=${id}&status=ERROR`)).body.items).toEqual([])
  const before = refused
  for (let minute = 0; minute < 5; minute++) {
    await t.clock.advance(minutes(1))
    await t.tick()
    await t.work()
  }
  expect(refused - before).toBeGreaterThanOrEqual(4)
  expect(refused - before).toBeLessThanOrEqual(5)
  left = 1000
  await t.clock.advance(minutes(1.1))
  for (let rounds = 0; rounds < 2; rounds++) {
    await t.tick()
    await t.work()
  }
  expect(await t.batchStatus(id)).toMatchObject({ status: 'DONE', done: 12, error: 0, percent: 100, reason: null })
  expect(new Set(sold).size, 'no search is bought twice').toBe(sold.length)
})
