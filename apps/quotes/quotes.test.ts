/** Quotes over HTTP, with simulated providers: their checkpoints, their results, their pages, and their end. */
import { gunzipSync } from 'node:zlib'
import { doNotRetry, milliseconds, seconds } from 'retoma'
import { expect, test, vi } from 'vitest'
import { states } from '../../src/jobs/model/state.ts'
import { sqlOn } from '../../test/support/application.ts'
import { gate, until } from '../../test/support/engine.ts'
import { simulatedAnalysis } from './providers/simulated/analysis.ts'
import { simulatedPages, simulatedShopping } from './providers/simulated/shopping.ts'
import { simulatedVehicles } from './providers/simulated/vehicles.ts'
import { statusOf } from './status.ts'
import { heard, quotesDoor } from './test/door.ts'

const product = 'notebook Dell Inspiron 15'
const ofProduct = ['INIT', 'AI_ANALYSIS_START', 'AI_ANALYSIS_DONE', 'SHOPPING_SEARCH_START', 'SHOPPING_SEARCH_DONE', 'PRICE_EXTRACTION_START', 'PRICE_EXTRACTION_PROGRESS', 'PRICE_EXTRACTION_DONE', 'FINALIZATION'] // biome-ignore format: in one line

const namesIn = (quote: { resume_data: { checkpoints: { checkpoint: string }[] } }) =>
  quote.resume_data.checkpoints.map(each => each.checkpoint)

test('a product passes its checkpoints in order, and its result has prices with their evidence', async () => {
  const picture = new TextEncoder().encode('PNG')
  const { ask, fetch, run, read } = await quotesDoor({ providers: { screenshot: async () => picture } })
  const made = await ask('POST', '/api/quotes', { body: { description: `  ${product}\n` } })
  expect(made).toMatchObject({ status: 201, body: { status: 'PENDING', simulado: true } })
  const { id } = made.body
  expect(await read(id)).toMatchObject({
    id,
    status: 'PENDING',
    description: product,
    kind: null,
    processing_checkpoint: null,
    progress_percentage: 0,
    worker_id: null,
    attempt_number: 1,
    started_at: null,
    completed_at: null,
    prices: [],
    result: null,
  })
  await run()
  const done = await read(id)
  expect(done).toMatchObject({
    status: 'DONE',
    kind: 'product',
    processing_checkpoint: 'COMPLETED',
    progress_percentage: 100,
    attempt_number: 1,
    worker_id: expect.stringMatching(/./),
    error_message: null,
    simulado: true,
    claude_payload_json: { simulado: true },
    google_shopping_response_json: { shopping_results: expect.any(Array) },
  })
  expect(namesIn(done)).toEqual(ofProduct)
  expect(done.resume_data.tested_products.length).toBeGreaterThan(0)
  expect(done.prices.length + done.pages_without_price.length).toBe(done.result.pages_tested)
  expect(done.prices.filter((each: { used: boolean }) => each.used)).toHaveLength(done.result.prices_used)
  for (const { price, url, seen_at, snippet, reason, used } of done.prices) {
    expect(price).toMatch(/^\d+\.\d\d$/)
    expect(url).toMatch(/^https:/)
    expect(seen_at).toBe(done.completed_at)
    expect(snippet).toContain(price)
    expect(used || reason).toBeTruthy()
  }
  const [first] = done.prices
  const page = await fetch(new Request(`http://127.0.0.1:3000${first.evidence_url}`))
  expect(gunzipSync(Buffer.from(await page.arrayBuffer())).toString()).toContain(first.snippet)
  expect((await ask('GET', first.screenshot_url)).body).toBe('PNG')
  for (const nowhere of [`/api/quotes/${id}/pages/99`, '/api/quotes/x/pages/1', `/api/quotes/${id}/pages/-1`])
    expect((await ask('GET', nowhere)).status).toBe(404)
})

test('without keys a client that asks every 100 ms sees each checkpoint while it is current, in order', async () => {
  const { clock, quote, read, run } = await quotesDoor({ simulatedDelays: true })
  const ids = [await quote(product), await quote('Fiat Strada Volcano 1.3 2023')]
  const seen: [string, number][][] = [[], []]
  let over = false
  const running = run().finally(() => {
    over = true
  })
  const look = async () => {
    for (const [index, id] of ids.entries()) {
      const { processing_checkpoint: checkpoint, progress_percentage: progress } = await read(id)
      const isNew = seen[index]!.at(-1)?.join() !== `${checkpoint},${progress}`
      if (checkpoint !== null && isNew) seen[index]!.push([checkpoint, progress])
    }
  }
  while (!over) {
    await look()
    await clock.advance(milliseconds(100))
  }
  await running
  await look()
  expect(seen[0]).toEqual([
    ['INIT', 0],
    ['AI_ANALYSIS_START', 10],
    ['AI_ANALYSIS_DONE', 30],
    ['SHOPPING_SEARCH_START', 35],
    ['SHOPPING_SEARCH_DONE', 50],
    ['PRICE_EXTRACTION_START', 50],
    ['PRICE_EXTRACTION_PROGRESS', 63],
    ['PRICE_EXTRACTION_PROGRESS', 76],
    ['PRICE_EXTRACTION_PROGRESS', 90],
    ['PRICE_EXTRACTION_DONE', 90],
    ['FINALIZATION', 95],
    ['COMPLETED', 100],
  ])
  expect(seen[1]).toEqual([
    ['INIT', 0],
    ['AI_ANALYSIS_START', 10],
    ['AI_ANALYSIS_DONE', 30],
    ['FIPE_SEARCH', 50],
    ['FINALIZATION', 95],
    ['COMPLETED', 100],
  ])
})

test('a vehicle is priced by FIPE, and FIPE is asked once for each list of a month', async () => {
  const calls: string[] = []
  const { batch, work, ask, batchStatus } = await quotesDoor({ providers: { vehicles: counted(calls) } })
  const id = await batch([
    'Toyota Corolla XEi 2.0 2019',
    'Toyota Corolla XEi 2.0 2019 flex',
    'Corolla Altis Hybrid 1.8 2022',
    'Fiat Strada Volcano 1.3 2023',
    'carro Fiat Modelo Inventado 1999',
  ])
  await work()
  expect(await batchStatus(id)).toMatchObject({ status: 'DONE', done: 5, percent: 100, error: 0 })
  expect(new Set(calls).size).toBe(calls.length)
  const { items } = (await ask('GET', `/api/quotes?batch_id=${id}`)).body
  const [unknown, strada, , , corolla] = items
  expect(corolla).toMatchObject({
    kind: 'vehicle',
    status: 'DONE',
    result: {
      brand: 'Toyota',
      model: 'Corolla XEi 2.0 Flex 16V Aut.',
      model_year: 2019,
      price: expect.stringMatching(/^\d+\.00$/),
      currency: 'BRL',
      match_score: expect.any(Number),
      confidence: 'high',
    },
  })
  expect(strada.result).toMatchObject({ model_year: 2023 })
  expect(unknown).toMatchObject({
    status: 'DONE',
    result: { price: null, confidence: 'low', confidence_reason: expect.stringContaining('a FIPE não tem o modelo') },
  })
  const whole = (await ask('GET', `/api/quotes/${corolla.id}`)).body
  expect(namesIn(whole)).toEqual(['INIT', 'AI_ANALYSIS_START', 'AI_ANALYSIS_DONE', 'FIPE_SEARCH', 'FINALIZATION'])
  expect(whole.prices).toMatchObject([{ shop: 'FIPE', price: whole.result.price, source: 'fipe' }])
})

/** The simulated FIPE, with a list of its calls. */
function counted(calls: string[]) {
  const real = simulatedVehicles(async () => {})
  const noted =
    <Given extends unknown[], T>(name: string, call: (...given: Given) => T) =>
    (...given: Given): T => {
      calls.push(`${name} ${given.slice(0, -1).join(' ')}`)
      return call(...given)
    }
  return {
    simulated: true,
    source: 'simulated',
    references: noted('references', real.references),
    brands: noted('brands', real.brands),
    models: noted('models', real.models),
    years: noted('years', real.years),
    price: noted('price', real.price),
  }
}

test('the kind that a person names counts more than the analysis', async () => {
  const { quote, read, run } = await quotesDoor()
  const [named, left] = [await quote('capa para Fiat Uno', 'product'), await quote('capa para Fiat Uno')]
  await run()
  expect([(await read(named)).kind, (await read(left)).kind]).toEqual(['product', 'vehicle'])
})

test('too few prices are DONE with low confidence and a reason, not ERROR', async () => {
  const empty = {
    simulated: true,
    search: async () => ({ products: [], response: {} }),
    shops: async () => ({ shops: [], response: {} }),
  }
  const { quote, read, run } = await quotesDoor({ providers: { shopping: empty } })
  const id = await quote('algo que ninguém vende')
  await run()
  expect(await read(id)).toMatchObject({
    status: 'DONE',
    progress_percentage: 100,
    result: { price: null, prices_found: 0, confidence: 'low', confidence_reason: 'nenhum preço encontrado' },
  })
})

test('a quote that its provider refuses is ERROR with its words, and retried quotes go on after their last step', async () => {
  let answers = 0
  const analysis = simulatedAnalysis(async () => {})
  const { quote, read, run, clock, ask } = await quotesDoor({
    providers: {
      analysis: {
        ...analysis,
        analyse: (request, signal) => {
          answers++
          return analysis.analyse(request, signal)
        },
      },
      shopping: {
        simulated: true,
        search: async query => {
          throw query.includes('proibido')
            ? doNotRetry(new Error('recusado: produto proibido'))
            : new Error('rede fora')
        },
        shops: async () => ({ shops: [], response: {} }),
      },
    },
  })
  const [refused, down] = [await quote('item proibido'), await quote('cadeira')]
  await run()
  expect(await read(refused)).toMatchObject({
    status: 'ERROR',
    processing_checkpoint: 'SHOPPING_SEARCH_START',
    error_message: 'recusado: produto proibido',
  })
  expect(await read(down)).toMatchObject({ status: 'PENDING', worker_id: null, attempt_number: 2 })
  await clock.advance(seconds(6))
  await run()
  expect(await read(down)).toMatchObject({ status: 'PENDING', attempt_number: 3, progress_percentage: 35 })
  expect(answers).toBe(2)
  expect((await ask('POST', `/api/quotes/${down}/cancel`)).body).toEqual({ id: down, status: 'CANCELLED' })
  expect((await ask('POST', `/api/quotes/${refused}/cancel`)).body.error).toMatchObject({ code: 'quote_state' })
})

test('a search for shops that the provider refuses leaves its product without a price, with the words; the others are quoted', async () => {
  const shopping = simulatedShopping(async () => {})
  let searches = 0
  const { quote, read, run } = await quotesDoor({
    providers: {
      shopping: {
        ...shopping,
        shops: async (product, signal) => {
          if (++searches === 1) throw doNotRetry(new Error('recusado: page_token inválido'))
          return shopping.shops(product, signal)
        },
      },
    },
  })
  const id = await quote(product)
  await run()
  const done = await read(id)
  expect(done).toMatchObject({ status: 'DONE', attempt_number: 1 })
  expect(done.result.prices_found).toBeGreaterThan(0)
  const [refused, ...others] = done.resume_data.tested_products
  expect(refused).toMatchObject({ pages: 0, prices: 0, reason: 'recusado: page_token inválido' })
  expect(others.length).toBeGreaterThan(0)
  for (const each of others) expect(each).toMatchObject({ pages: expect.any(Number), reason: null })
})

test('DELETE erases every row and file of a quote, and the same request then names nothing', async () => {
  const door = await quotesDoor()
  const { ask, run, quote } = door
  const sql = await sqlOn(door)
  const body = { description: product }
  const headers = { 'idempotency-key': 'k-1' }
  const { id } = (await ask('POST', '/api/quotes', { body, headers })).body
  expect((await ask('POST', '/api/quotes', { body, headers })).body.id).toBe(id)
  await run()
  const waiting = await quote('mesa')
  const tables = ['quotes.quote', 'quotes.reading', 'retoma.job', 'retoma.checkpoint', 'retoma.file', 'retoma.event']
  const rows = async () => {
    const counts = tables.map(
      async table => (await sql<{ n: number }>(`select count(*)::int as n from ${table}`))[0]!.n,
    )
    return Promise.all(counts)
  }
  expect((await rows()).slice(0, 5).every(n => n > 0)).toBe(true)
  for (const each of [id, waiting]) expect((await ask('DELETE', `/api/quotes/${each}`)).status).toBe(204)
  expect(await rows()).toEqual(tables.map(() => 0))
  expect((await ask('GET', `/api/quotes/${id}`)).status).toBe(404)
  expect((await ask('DELETE', `/api/quotes/${id}`)).status).toBe(404)
  expect((await ask('POST', '/api/quotes', { body, headers })).body.error).toMatchObject({ code: 'not_found' })
})

test('a DONE quote never comes without its prices, also if the quote ends during the request', async () => {
  const door = await quotesDoor()
  const id = await door.quote(product)
  const { query } = door.engine
  let ended: Promise<unknown> | undefined
  vi.spyOn(door.engine, 'query').mockImplementation((async (text: string, values: unknown[]) => {
    if (!text.includes('from quotes.quote_requests v where v.id = $1') || ended !== undefined)
      return query(text, values)
    ended = door.run()
    await ended
    return query(text, values)
  }) as never)
  const read = await door.read(id)
  expect(read.status).toBe('DONE')
  expect(read.prices.length).toBe(read.result.prices_found)
  expect(read.prices.every((each: { used: boolean | null }) => each.used !== null)).toBe(true)
})

test('DELETE in the middle of the pages of a product leaves no page behind', async () => {
  const [first, second] = [gate(), gate()]
  const pages = simulatedPages(
    async () => {},
    () => new Date(0),
  )
  let read = 0
  const door = await quotesDoor({
    providers: {
      pages: {
        readLink: async (_job, link, signal) => {
          if (++read === 2) {
            first.open()
            await second.passed
          }
          return pages(link, signal)
        },
      },
    },
  })
  const sql = await sqlOn(door)
  const files = () => sql(`select job_id from retoma.file`)
  const id = await door.quote(product)
  const running = door.run()
  await first.passed
  await until(async () => (await files()).length > 0)
  expect((await door.ask('DELETE', `/api/quotes/${id}`)).status).toBe(204)
  second.open()
  await running
  expect(await files()).toEqual([])
  expect(await sql(`select from retoma.file_chunk`)).toEqual([])
})

test('a bad request names its field; an id that names nothing is 404 whatever its form', async () => {
  const { ask } = await quotesDoor()
  const refused = async (body: object) => (await ask('POST', '/api/quotes', { body })).body.error
  expect(await refused({})).toMatchObject({ code: 'bad_request', field: 'description' })
  expect(await refused({ description: ' \n' })).toMatchObject({ field: 'description' })
  expect(await refused({ description: 'x', kind: 'house' })).toMatchObject({ field: 'kind' })
  for (const id of ['0', '999', 'x', '1e3', '9'.repeat(40), '%F0%9F'])
    expect((await ask('GET', `/api/quotes/${id}`)).status, id).toBe(404)
  expect((await ask('GET', '/api/quotes?after=x')).body.error).toMatchObject({ field: 'after' })
})

test('the list is the newest first, in pages, by status and by batch', async () => {
  const { ask, batch, quote, run } = await quotesDoor()
  const ids = [await quote('a'), await quote('b'), await quote('c')]
  const first = (await ask('GET', '/api/quotes?limit=2')).body
  expect(first).toMatchObject({ items: [{ id: ids[2] }, { id: ids[1] }], next: ids[1] })
  expect((await ask('GET', `/api/quotes?limit=2&after=${first.next}`)).body).toMatchObject({
    items: [{ id: ids[0] }],
    next: null,
  })
  await run()
  const of = await batch(['d', 'e'])
  expect((await ask('GET', '/api/quotes?status=PENDING')).body.items).toHaveLength(2)
  expect((await ask('GET', '/api/quotes?status=DONE')).body.items).toHaveLength(3)
  expect(
    (await ask('GET', `/api/quotes?batch_id=${of}`)).body.items.map(
      (each: { description: string }) => each.description,
    ),
  ).toEqual(['e', 'd'])
  expect((await ask('GET', '/api/quotes?batch_id=none')).body.items).toEqual([])
})

test('a list has every field of a quote with its prices; a large JSON value is null, with its size and its address', async () => {
  const door = await quotesDoor()
  const { ask, quote, read, run } = door
  const id = await quote(product)
  await run()
  const sql = await sqlOn(door)
  await sql(`update quotes.quote set google_shopping_response_json = to_jsonb(repeat('x', 3000))`)
  const { waiting_reason, pages_without_price, google_shopping_response_json: large, ...whole } = await read(id)
  const [listed] = (await ask('GET', '/api/quotes')).body.items
  expect(large).toHaveLength(3000)
  expect(listed).toMatchObject({ ...whole, google_shopping_response_json: null })
  expect(listed.omitted).toEqual({
    google_shopping_response_json: { bytes: expect.any(Number), href: `/api/quotes/${id}` },
  })
  const [short] = (await ask('GET', '/api/quotes?values=short')).body.items
  expect(short).toEqual({ ...listed, prices: null })
})

test('a rare status is found among many quotes, and no page reads more than 10,000 quotes', async () => {
  const door = await quotesDoor()
  const { ask, quote } = door
  const sql = await sqlOn(door)
  const rare = await quote('parada')
  await sql(`insert into quotes.quote (description, created_by, created_at, simulated)
    select 'x', 'ana', now(), true from generate_series(1, 25000)`)
  const list = async (query: string) => (await ask('GET', `/api/quotes?${query}`)).body
  const become = (state: string) =>
    sql(`update retoma.job set state = $1, worker_id = $2, finished_at = $3`, [
      state,
      state === 'running' ? 'w' : null,
      state === 'failed' || state === 'cancelled' ? new Date(0) : null,
    ])
  for (const [state, status] of [
    ['running', 'PROCESSING'],
    ['stalled', 'PROCESSING'],
    ['failed', 'ERROR'],
  ] as const) {
    await become(state)
    expect(await list(`status=${status}`), state).toMatchObject({ items: [{ id: rare, status }], next: null })
  }
  await become('cancelled')
  const pages: string[][] = []
  for (let next: string | null = ''; next !== null; ) {
    const page: { items: { id: string }[]; next: string | null } = await list(
      `status=CANCELLED${next === '' ? '' : `&after=${next}`}`,
    )
    pages.push(page.items.map(each => each.id))
    next = page.next
  }
  expect(pages).toEqual([[], [], [rare]])
  expect((await list('status=PENDING&limit=2')).items).toHaveLength(2)
})

test('the view quote_requests has the columns of the seed, and the same words as the API', async () => {
  const door = await quotesDoor()
  const sql = await sqlOn(door)
  const id = await door.quote(product)
  const [row] = await sql(`select * from quotes.quote_requests`)
  expect(Object.keys(row!)).toEqual(
    expect.arrayContaining(['processing_checkpoint', 'last_heartbeat', 'worker_id', 'resume_data', 'started_at', 'completed_at', 'attempt_number', 'progress_percentage', 'claude_payload_json', 'google_shopping_response_json', 'status']), // biome-ignore format: in one line
  )
  for (const state of states) {
    const over = ['succeeded', 'failed', 'skipped', 'cancelled'].includes(state)
    await sql(`update retoma.job set state = $1, worker_id = $2, last_worker = 'w', finished_at = $3`, [
      state,
      state === 'running' ? 'w' : null,
      over ? new Date(0) : null,
    ])
    const { status, worker_id } = await door.read(id)
    expect({ state, status }).toEqual({ state, status: statusOf[state] })
    expect({ state, worker_id }).toEqual({ state, worker_id: state === 'waiting' ? null : 'w' })
  }
})

test('a quote is followed as it goes on: its states and its checkpoints, to the end', async () => {
  const { clock, fetch, quote, run } = await quotesDoor()
  const id = await quote('Fiat Strada Volcano 1.3 2023')
  const stream = await fetch(new Request(`http://127.0.0.1:3000/api/quotes/${id}/events`))
  expect(stream.headers.get('content-type')).toBe('text/event-stream')
  await run()
  const events = await heard(clock, stream)
  expect(events.filter(each => each.event === 'state').map(({ data }) => data.to)).toEqual(['PENDING', 'DONE'])
  expect(events.at(-1)?.data).toMatchObject({ processing_checkpoint: 'COMPLETED', progress_percentage: 100 })
  expect(events[0]).toMatchObject({ event: 'heartbeat', data: { idle_seconds: expect.any(Number) } })
  expect(events.filter(each => each.event === 'progress').at(-1)?.data).toMatchObject({
    processing_checkpoint: 'FINALIZATION',
    progress_percentage: 95,
    simulado: true,
  })
})
