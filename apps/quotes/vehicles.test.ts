/** Vehicles: where a price comes from, how sure the price is, and how many requests to FIPE many vehicles cost. */
import { type Duration, minutes, seconds } from 'retoma'
import { expect, onTestFinished, test } from 'vitest'
import { sqlOn } from '../../test/support/application.ts'
import { fipeProvider } from './providers/fipe.ts'
import { simulatedVehicles } from './providers/simulated/vehicles.ts'
import type { AnalysisProvider, VehicleProvider } from './providers/types.ts'
import { readQuotesSettings } from './settings.ts'
import { quotesDoor } from './test/door.ts'
import { garbage, refuses } from './test/servers/behaviours.ts'
import { type FipeServerOptions, fipeBrands, fipeServer } from './test/servers/fipe.ts'
import { findVehicle } from './vehicles/price.ts'

const instantly = async () => {}

/** An analysis that names the vehicle without a year. */
const corolla: AnalysisProvider = {
  simulated: false,
  analyse: async () => ({
    analysis: {
      kind: 'vehicle',
      vehicleType: 'cars',
      brand: 'Toyota',
      model: 'Corolla XEi 2.0 Flex 16V Aut.',
      year: null,
      fuel: null,
    },
    payload: null,
    inputTokens: 1,
    outputTokens: 1,
  }),
}

async function fipe(options?: FipeServerOptions) {
  const server = await fipeServer(options)
  onTestFinished(() => server.close())
  return server
}

test('answers of the simulated FIPE are never served as answers of a real one, on the same database in the same month', async () => {
  const server = await fipe()
  let current: VehicleProvider = simulatedVehicles(instantly)
  const vehicles = new Proxy({} as VehicleProvider, { get: (_, name) => Reflect.get(current, name) })
  const t = await quotesDoor({
    settings: readQuotesSettings({ FIPE_BASE_URL: server.baseUrl }),
    providers: { vehicles },
  })
  const price = async () => {
    const id = await t.quote('Toyota Corolla XEi 2.0 2019')
    await t.run()
    return (await t.read(id)).result.price
  }
  const simulated = await price()
  // The simulated month has the same code as the month of the real provider.
  const sql = await sqlOn(t)
  await sql(`update quotes.fipe set reference = '330' where reference <> ''`)
  await sql(`update quotes.fipe set answer = '[{"code":"330","name":"novembro/2026"}]' where reference = ''`)
  current = fipeProvider({ baseUrl: server.baseUrl })
  expect(await price()).toBe('54321.00')
  expect(server.calls).toHaveLength(5)
  current = simulatedVehicles(instantly)
  expect(await price()).toBe(simulated)
})

test('a vehicle that FIPE refuses is DONE with low confidence and the words of FIPE, not ERROR', async () => {
  const server = await fipe()
  server.behave(({ about }) => (about.endsWith('/years') ? refuses(404, { message: 'Ano desconhecido' }) : null))
  const t = await quotesDoor({
    settings: readQuotesSettings({ FIPE_BASE_URL: server.baseUrl }),
    providers: { vehicles: fipeProvider({ baseUrl: server.baseUrl }) },
  })
  const id = await t.quote('Toyota Corolla XEi 2.0 2019')
  await t.run()
  expect(await t.read(id)).toMatchObject({
    status: 'DONE',
    attempt_number: 1,
    result: {
      price: null,
      brand: 'Toyota',
      model: 'Corolla XEi 2.0 Flex 16V Aut.',
      confidence: 'low',
      confidence_reason: expect.stringContaining('Ano desconhecido'),
    },
  })
})

test('an empty list of FIPE is asked again, and never kept for the month', async () => {
  const server = await fipe()
  const ofModel = '/cars/brands/56/models'
  const paths = ['/references', '/cars/brands', ofModel, `${ofModel}/6001/years`]
  server.behave(({ about, nth }) => (paths.includes(about) && nth === 1 ? garbage('[]', 'application/json') : null))
  const t = await quotesDoor({
    settings: readQuotesSettings({ FIPE_BASE_URL: server.baseUrl }),
    providers: { vehicles: fipeProvider({ baseUrl: server.baseUrl }) },
  })
  const id = await t.quote('Toyota Corolla XEi 2.0 2019')
  for (let attempts = 0; attempts <= paths.length; attempts++) {
    await t.work()
    await t.clock.advance(minutes(2))
  }
  expect(await t.read(id)).toMatchObject({ status: 'DONE', attempt_number: 5, result: { price: '54321.00' } })
  for (const path of paths) expect(server.of(path), path).toHaveLength(2)
})

test('an empty list that an earlier version has kept for the month is asked again', async () => {
  const server = await fipe()
  const t = await quotesDoor({
    settings: readQuotesSettings({ FIPE_BASE_URL: server.baseUrl }),
    providers: { vehicles: fipeProvider({ baseUrl: server.baseUrl }) },
  })
  const price = async () => {
    const id = await t.quote('Toyota Corolla XEi 2.0 2019')
    await t.work()
    return (await t.read(id)).result.price
  }
  await price()
  const sql = await sqlOn(t)
  await sql(`update quotes.fipe set answer = '[]' where path = 'cars/brands'`)
  expect(await price()).toBe('54321.00')
  expect(server.of('/cars/brands')).toHaveLength(2)
})

test('without a year the price is that of a new vehicle, with low confidence and the reason; "zero km" is no guess', async () => {
  const t = await quotesDoor()
  const [unknown, zero, known] = [
    await t.quote('Toyota Corolla XEi 2.0'),
    await t.quote('Toyota Corolla XEi 2.0 zero km'),
    await t.quote('Toyota Corolla XEi 2.0 2019'),
  ]
  await t.work()
  expect((await t.read(unknown)).result).toMatchObject({
    model_year: 32_000,
    confidence: 'low',
    confidence_reason: 'o ano não foi informado: o preço é de um veículo zero km',
  })
  for (const id of [zero, known])
    expect((await t.read(id)).result, id).toMatchObject({ confidence: 'high', confidence_reason: null })
})

test('"novo" in the name of a model says nothing about the year: the confidence is low', async () => {
  const server = await fipe()
  const t = await quotesDoor({
    settings: readQuotesSettings({ FIPE_BASE_URL: server.baseUrl }),
    providers: { vehicles: fipeProvider({ baseUrl: server.baseUrl }) },
  })
  const models = ['Fiat Novo Uno Vivace 1.0', 'VolksWagen Gol (novo) 1.6 Total Flex', 'Honda New Civic Sedan EXL 2.0']
  const ids: string[] = []
  for (const model of models) ids.push(await t.quote(model, 'vehicle'))
  await t.work()
  for (const [index, id] of ids.entries())
    expect((await t.read(id)).result, models[index]).toMatchObject({
      model_year: 32_000,
      confidence: 'low',
      confidence_reason: expect.stringContaining('o ano não foi informado: o preço é de um veículo zero km'),
    })
})

test('the price of a used vehicle for a new one has low confidence and the reason', async () => {
  const server = await fipe({ years: [{ code: '2012-1', name: '2012 Gasolina' }] })
  const t = await quotesDoor({
    settings: readQuotesSettings({ FIPE_BASE_URL: server.baseUrl }),
    providers: { vehicles: fipeProvider({ baseUrl: server.baseUrl }), analysis: corolla },
  })
  const words = ['0 km', '0km', 'zero km', 'zero quilômetro', 'carro novo', 'carro zero', 'veículo novo', 'new car']
  const ids: string[] = []
  for (const each of words) ids.push(await t.quote(`Toyota Corolla XEi 2.0 ${each}`))
  await t.work()
  for (const [index, id] of ids.entries())
    expect((await t.read(id)).result, words[index]).toMatchObject({
      model_year: 2012,
      confidence: 'low',
      confidence_reason: 'a FIPE não tem o zero km deste modelo: o preço é de um veículo de 2012, o ano mais novo',
    })
})

test('a lookup that is slow at each list is not stuck: each list is a sign of life', async () => {
  const real = simulatedVehicles(instantly)
  const slowly =
    <Given extends unknown[], T>(call: (...given: Given) => Promise<T>) =>
    async (...given: Given): Promise<T> => {
      await t.clock.sleep(minutes(4) as Duration, given.at(-1) as AbortSignal)
      return call(...given)
    }
  const { references, brands, models, years, price } = real
  const vehicles = {
    ...real,
    references: slowly(references),
    brands: slowly(brands),
    models: slowly(models),
    years: slowly(years),
    price: slowly(price),
  }
  const t = await quotesDoor({ providers: { vehicles } })
  const id = await t.quote('Toyota Corolla XEi 2.0 2019')
  let over = false
  const running = t.run().finally(() => {
    over = true
  })
  while (!over) {
    await t.clock.advance(seconds(5))
    await t.tick()
    expect((await t.stats()).stuck_count).toBe(0)
  }
  await running
  expect(await t.read(id)).toMatchObject({ status: 'DONE', attempt_number: 1 })
})

test('a thousand cars of 40 models and 12 years cost one request for each list and each price, fewer than the 500 of a day', async () => {
  const versions = ['1.0 Flex 12V', '1.3 Flex 8V', '1.4 Flex 8V', '1.6 Flex 16V', '1.8 Flex 16V', '2.0 Flex 16V', '2.4 Flex 16V', '2.8 Diesel'] // biome-ignore format: in one line
  const names = ['Argo', 'Onix', 'Civic', 'Corolla', 'Polo']
  const models = Object.fromEntries(
    fipeBrands.map(({ code }, brand) => [
      code,
      versions.map((version, n) => ({ code: `${code}${n}`, name: `${names[brand]} ${version}` })),
    ]),
  )
  const years = Array.from({ length: 12 }, (_, n) => ({ code: `${2012 + n}-1`, name: `${2012 + n} Gasolina` }))
  const server = await fipe({ models, years })
  server.setCallsLeft(500)
  const t = await quotesDoor()
  const sql = await sqlOn(t)
  await t.quote('mesa')
  await sql(`update retoma.job set state = 'running', attempt = 1, worker_id = 'w'`)
  const [job] = await sql<{ id: string }>(`select id::text as id from retoma.job`)
  const look = {
    engine: t.engine,
    owner: { id: job!.id, attempt: 1 },
    provider: fipeProvider({ baseUrl: server.baseUrl }),
    signal: new AbortController().signal,
    progress: () => {},
    ask: <T>(request: (signal: AbortSignal) => Promise<T>) => request(look.signal),
  }
  // A few models and recent years are most of the cars, as in a fleet: the square of an even spread.
  const skewed = (n: number, step: number, size: number) => Math.floor((((n * step) % 1000) / 1000) ** 2 * size)
  const cars = Array.from({ length: 1000 }, (_, n) => {
    const model = skewed(n, 617, 40)
    return { brand: model % 5, version: Math.floor(model / 5), year: 2023 - skewed(n, 389, 12) }
  })
  for (const { brand, version, year } of cars) {
    const found = await findVehicle(look, {
      kind: 'vehicle',
      vehicleType: 'cars',
      brand: fipeBrands[brand]!.name,
      model: `${names[brand]} ${versions[version]}`,
      year,
      fuel: null,
    })
    expect(found.price).toMatchObject({ price: '54321.00', modelYear: year })
  }
  const distinct = (of: (car: (typeof cars)[number]) => string) => new Set(cars.map(of)).size
  const prices = distinct(({ brand, version, year }) => `${brand} ${version} ${year}`)
  const lists = 2 + distinct(({ brand }) => `${brand}`) + distinct(({ brand, version }) => `${brand} ${version}`)
  expect(server.calls).toHaveLength(lists + prices)
  expect(prices).toBeGreaterThan(150)
  expect(server.calls.length).toBeLessThan(500)
  expect(server.calls.every(({ answered }) => answered === 'ok')).toBe(true)
})
