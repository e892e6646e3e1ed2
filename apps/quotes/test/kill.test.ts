/**
 * Real processes, real providers and a real shop: a worker is killed at every checkpoint in turn, and the whole program with its database at
 * two of them.
 */
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { createEngine } from 'retoma'
import { expect, onTestFinished, test } from 'vitest'
import { socketUrl } from '../../../src/embedded-postgres/connect-probe.ts'
import { folderWith, kill, processesIn, start } from '../../../test/cli/support.ts'
import { doorOf } from '../../../test/http/support.ts'
import { sqlOn } from '../../../test/support/application.ts'
import { migratedDatabase } from '../../../test/support/database.ts'
import { until } from '../../../test/support/engine.ts'
import { hire, killed, takeLock, writeLock } from '../../../test/support/killed-workers.ts'
import { quotes } from '../index.ts'
import { readQuotesSettings } from '../settings.ts'
import { anthropicServer } from './servers/anthropic.ts'
import { never } from './servers/behaviours.ts'
import { fipeServer } from './servers/fipe.ts'
import { type SerpApiServerOptions, serpApiServer } from './servers/serpapi.ts'
import { shopServer } from './servers/shop.ts'

/** A config that names the quotes alone. */
const config = `import { quotes } from '${fileURLToPath(new URL('../dist/index.js', import.meta.url))}'
export default { systems: [quotes()] }
`

const script = fileURLToPath(new URL('./worker.mjs', import.meta.url))

/** A worker that waits at the end of a checkpoint, until the test kills the worker: the next write of its job waits for a lock. */
const hold = `
  create table public.held (checkpoint text);
  create function public.hold() returns trigger language plpgsql as $$
  begin
    if new.checkpoint_data::text is distinct from old.checkpoint_data::text or new.finished_at is not null then
      if exists (select from public.held h where h.checkpoint = old.checkpoint_data ->> 'checkpoint') then
        ${takeLock};
      end if;
    end if;
    return new;
  end $$;
  create trigger hold before update on retoma.job for each row execute function public.hold()`

async function servers(options: SerpApiServerOptions = {}) {
  const [anthropic, fipe, shop] = await Promise.all([anthropicServer(), fipeServer(), shopServer()])
  const serpapi = await serpApiServer({ shops: shop.origin, ...options })
  onTestFinished(async () => void (await Promise.all([anthropic, fipe, shop, serpapi].map(each => each.close()))))
  const settings = {
    ANTHROPIC_API_KEY: anthropic.key,
    ANTHROPIC_BASE_URL: anthropic.baseUrl,
    SERPAPI_API_KEY: serpapi.key,
    SERPAPI_BASE_URL: serpapi.baseUrl,
    FIPE_BASE_URL: fipe.baseUrl,
    FIPE_TOKEN: fipe.token,
    RETOMA_FETCH_ALLOW: new URL(shop.origin).host,
  }
  return { anthropic, fipe, serpapi, shop, settings }
}

test('killed at every checkpoint in turn: the quote ends, nothing that was bought is bought again, no page is fetched again', async () => {
  const { url, drop } = await migratedDatabase('with systems')
  onTestFinished(drop)
  const { anthropic, fipe, serpapi, shop, settings } = await servers()
  const environment = { DATABASE_URL: url, ...settings }
  const system = quotes({ settings: readQuotesSettings(environment) })
  const engine = await createEngine({ databaseUrl: url, systems: [system], migrate: false })
  onTestFinished(() => engine.close())
  const { ask } = doorOf(engine, { routes: system.routes })
  const sql = await sqlOn({ databaseUrl: url })
  const lock = await writeLock(url, hold)

  const read = async (id: string) => (await ask('GET', `/api/quotes/${id}`)).body
  /** Kills the worker at each checkpoint; returns the ids of the workers. */
  const killedAt = async (id: string, checkpoints: readonly string[]): Promise<Set<string>> => {
    const workers = new Set<string>()
    for (const [index, checkpoint] of checkpoints.entries()) {
      await sql(`insert into public.held values ($1)`, [checkpoint])
      const worker = hire(script, environment)
      await until(lock.isAwaited)
      const seen = await read(id)
      expect(seen).toMatchObject({ status: 'PROCESSING', processing_checkpoint: checkpoint, attempt_number: index + 1 })
      workers.add(seen.worker_id)
      await killed(worker)
      await lock.endWaiting()
      await sql(`delete from public.held`)
      // Nobody runs: what was seen is what is kept.
      expect(await read(id)).toMatchObject({ processing_checkpoint: checkpoint })
    }
    const last = hire(script, environment)
    await until(async () => (await read(id)).status === 'DONE')
    workers.add((await read(id)).worker_id)
    await killed(last)
    return workers
  }

  const ofProduct = ['INIT', 'AI_ANALYSIS_START', 'AI_ANALYSIS_DONE', 'SHOPPING_SEARCH_START', 'SHOPPING_SEARCH_DONE', 'PRICE_EXTRACTION_START', 'PRICE_EXTRACTION_PROGRESS', 'PRICE_EXTRACTION_DONE', 'FINALIZATION'] // biome-ignore format: in one line
  const { id } = (await ask('POST', '/api/quotes', { body: { description: 'Notebook Dell Inspiron 15' } })).body
  const workers = await killedAt(id, ofProduct)
  const done = await read(id)
  expect(done).toMatchObject({ status: 'DONE', kind: 'product', attempt_number: ofProduct.length + 1, simulado: false })
  expect(workers.size).toBe(ofProduct.length + 1)
  expect(done.resume_data.checkpoints.map((each: { checkpoint: string }) => each.checkpoint)).toEqual(ofProduct)
  expect(done.result.prices_found).toBe(9)

  expect(anthropic.sold()).toHaveLength(1)
  expect(serpapi.sold()).toHaveLength(4)
  const pages = shop.calls.filter(({ about }) => about.includes('/p/'))
  expect(pages).toHaveLength(9)
  for (const ledger of [anthropic, serpapi, shop]) expect(ledger.boughtTwice()).toEqual([])
  expect(serpapi.calls).toHaveLength(4)

  const vehicle = (await ask('POST', '/api/quotes', { body: { description: 'carro Onix 1.0 2019' } })).body.id
  await killedAt(vehicle, ['FIPE_SEARCH', 'FINALIZATION'])
  expect(await read(vehicle)).toMatchObject({ status: 'DONE', kind: 'vehicle', attempt_number: 3 })
  expect(anthropic.sold()).toHaveLength(2)
  const asked = fipe.calls.map(({ about }) => about)
  expect(new Set(asked).size).toBe(asked.length)
  const kept = JSON.stringify(await sql(`select row_to_json(v) from quotes.quote_requests v`))
  for (const secret of [anthropic.key, serpapi.key, fipe.token]) expect(kept).not.toContain(secret)
})

/** Resolves once so many fetched pages are saved in the embedded database. */
async function savedPages(folder: string, count: number): Promise<void> {
  const client = new pg.Client({ connectionString: socketUrl(join(folder, '.retoma', 'socket')) })
  await client.connect()
  const saved = `select from retoma.checkpoint where name like 'fetched 1[%'`
  await until(async () => (await client.query(saved)).rows.length === count)
  await client.end()
}

test('API, workers, watchdog and PostgreSQL are killed together, in a search and between two pages: the quote ends, and nothing is bought again', async () => {
  const { anthropic, serpapi, shop, settings } = await servers({ products: 1, stores: 5 })
  const folder = folderWith({ 'retoma.config.mjs': config })
  const up = async () => {
    const program = start(['up', '--json'], { folder, env: { PORT: '0', ...settings } })
    const { address } = JSON.parse(await program.said('}\n')) as { address: string }
    const ask = async (path: string, body?: object) => {
      const headers = { 'content-type': 'application/json' }
      const asked = body === undefined ? {} : { method: 'POST', headers, body: JSON.stringify(body) }
      return (await (await fetch(`${address}${path}`, asked)).json()) as {
        id: string
        status: string
        worker_id: string
      }
    }
    return { program, ask }
  }
  /** SIGKILL to all processes at once, the server of the database too. */
  const killAll = async ({ program }: Awaited<ReturnType<typeof up>>) => {
    expect(processesIn(folder).some(each => each.includes('postgres'))).toBe(true)
    while (processesIn(folder).length > 0) {
      for (const each of processesIn(folder)) kill(Number.parseInt(each, 10))
      await new Promise(resolve => setImmediate(resolve))
    }
    await program.ended
  }

  // The search never answers: everything dies after the analysis is saved, and before a search is sold.
  serpapi.behave(({ nth }) => (nth === 1 ? never() : null))
  const first = await up()
  const { id } = await first.ask('/api/quotes', { description: 'Notebook Dell Inspiron 15' })
  await serpapi.called(1)
  const searching = await first.ask(`/api/quotes/${id}`)
  expect(searching).toMatchObject({
    status: 'PROCESSING',
    processing_checkpoint: 'SHOPPING_SEARCH_START',
    attempt_number: 1,
    claude_payload_json: expect.anything(),
  })
  await killAll(first)
  serpapi.behave()

  // The second page never comes: everything dies after the other four pages are saved.
  const page = (n: number) => `/p/notebook-dell-inspiron-15-1-${n}`
  shop.behave(({ about, nth }) => (nth === 1 && about === page(2) ? never() : null))
  const second = await up()
  await savedPages(folder, 4)
  const reading = await second.ask(`/api/quotes/${id}`)
  expect(reading).toMatchObject({
    status: 'PROCESSING',
    processing_checkpoint: 'PRICE_EXTRACTION_START',
    attempt_number: 2,
  })
  await killAll(second)

  const third = await up()
  await until(async () => (await third.ask(`/api/quotes/${id}`)).status === 'DONE')
  const done = await third.ask(`/api/quotes/${id}`)
  expect(done).toMatchObject({ attempt_number: 3, simulado: false, result: { prices_found: 5 } })
  expect(new Set([searching, reading, done].map(each => each.worker_id)).size).toBe(3)
  third.program.tell('SIGTERM')
  await third.program.ended

  expect(anthropic.sold()).toHaveLength(1)
  expect(serpapi.sold()).toHaveLength(2)
  expect([1, 2, 3, 4, 5].map(n => shop.of(page(n)).length)).toEqual([1, 2, 1, 1, 1])
  for (const ledger of [anthropic, serpapi, shop]) expect(ledger.boughtTwice()).toEqual([])
})
