/** Batches of quotes over HTTP: up to 10,000, their status, their table, their events, and their end. */
import { expect, test, vi } from 'vitest'
import { minutes } from '../../src/index.ts'
import { sqlOn } from '../../test/support/application.ts'
import { heard, quotesDoor } from './test/door.ts'

test('a batch runs to its end, and is one table for a spreadsheet', async () => {
  const { ask, batch, batchStatus, run } = await quotesDoor()
  const names = ['=cmd|calc', 'cadeira "gamer"', 'Fiat Uno Way 1.0 2012']
  const id = await batch(names)
  expect(await batchStatus(id)).toMatchObject({
    id,
    status: 'PENDING',
    total: 3,
    pending: 3,
    percent: 0,
    simulado: true,
  })
  await run()
  const { last_heartbeat, ...status } = await batchStatus(id)
  expect(last_heartbeat).toMatch(/Z$/)
  expect(status).toEqual({
    id,
    status: 'DONE',
    total: 3,
    pending: 0,
    processing: 0,
    done: 3,
    error: 0,
    cancelled: 0,
    by_checkpoint: {},
    percent: 100,
    eta_seconds: null,
    reason: null,
    simulado: true,
  })
  const csv = await ask('GET', `/api/quotes/batch/${id}/results.csv`)
  expect(csv.headers.get('content-disposition')).toBe(`attachment; filename="cotacoes-${id}.csv"`)
  const [head, ...rows] = String(csv.body).trim().split('\r\n')
  expect(head).toContain('id;description;kind;status;price;currency')
  expect(rows).toHaveLength(3)
  expect(rows[0]).toContain(`"'=cmd|calc"`)
  expect(rows[1]).toContain('"cadeira ""gamer"""')
  expect(rows[2]).toMatch(/"vehicle";"DONE";"\d+,00";"BRL"/)
})

test('a batch is simulado if any of its quotes is', async () => {
  const door = await quotesDoor()
  const id = await door.batch(['a', 'b', 'c'])
  const sql = await sqlOn(door)
  await sql(`update quotes.quote set simulated = (n = 3)`)
  expect(await door.batchStatus(id)).toMatchObject({ simulado: true })
  await sql(`update quotes.quote set simulated = false`)
  expect(await door.batchStatus(id)).toMatchObject({ simulado: false })
})

test('10,000 quotes are taken and the 10,001st is 413; an empty batch names its field', async () => {
  const { ask, batchStatus } = await quotesDoor()
  const quotes = Array.from({ length: 10_001 }, (_, n) => ({ description: `item ${n}` }))
  expect(await ask('POST', '/api/quotes/batch', { body: { quotes } })).toMatchObject({
    status: 413,
    body: { error: { code: 'too_many_quotes', most: 10_000 } },
  })
  const made = await ask('POST', '/api/quotes/batch', { body: { quotes: quotes.slice(1) } })
  expect(made).toMatchObject({ status: 201, body: { total: 10_000, simulado: true } })
  expect(await batchStatus(made.body.id)).toMatchObject({ total: 10_000, pending: 10_000 })
  expect((await ask('POST', '/api/quotes/batch', { body: { quotes: [] } })).body.error).toMatchObject({
    field: 'quotes',
  })
})

test('the same key makes one batch; the job that submits a batch does nothing once it is submitted', async () => {
  const door = await quotesDoor()
  const body = { quotes: [{ description: 'mesa' }] }
  const headers = { 'idempotency-key': 'b-1' }
  const made = (await door.ask('POST', '/api/quotes/batch', { body, headers })).body
  expect((await door.ask('POST', '/api/quotes/batch', { body, headers })).body).toEqual(made)
  await door.clock.advance(minutes(1))
  await door.run()
  const sql = await sqlOn(door)
  expect(await sql(`select count(*)::int as n from retoma.batch`)).toEqual([{ n: 1 }])
  expect(await sql(`select state from retoma.job where kind = 'open-quote-batch'`)).toEqual([{ state: 'succeeded' }])
})

test('a batch whose server died before the submit is submitted by the first check, or by a job', async () => {
  const door = await quotesDoor()
  const sql = await sqlOn(door)
  const [checked, left] = [await door.batch(['a']), await door.batch(['b'])]
  // As after a crash between the two transactions.
  const undo = `with gone as (update quotes.batch set batch_id = null returning id) update quotes.quote set job_id = null`
  await sql(undo)
  await sql(`delete from retoma.job where kind = 'quote'`)
  await sql(`delete from retoma.batch_chunk`)
  await sql(`delete from retoma.batch`)
  expect(await door.batchStatus(checked)).toMatchObject({ total: 1, pending: 1 })
  await door.clock.advance(minutes(1))
  await door.run()
  expect(await door.batchStatus(left)).toMatchObject({ status: 'DONE', done: 1 })
  expect(await door.batchStatus(checked)).toMatchObject({ status: 'DONE', done: 1 })
})

test('a batch is cancelled, resumed and erased, each in the states where that is possible', async () => {
  const door = await quotesDoor()
  const { ask, batch, batchStatus, engine } = door
  const sql = await sqlOn(door)
  const id = await batch(['a', 'b'])
  const refused = async (method: string, path: string) => {
    const { status, body } = await ask(method, `/api/quotes/batch/${path}`)
    return [status, body.error.message]
  }
  expect(await refused('DELETE', id)).toEqual([409, `batch ${id} is PENDING; DELETE is not possible then`])
  expect((await ask('POST', `/api/system/resume-batch/${id}`)).body).toEqual({ id, resumed: 0 })
  const [{ batch_id: own }] = (await sql<{ batch_id: string }>(`select batch_id from quotes.batch`)) as [
    { batch_id: string },
  ]
  await engine.batches.pause(own)
  expect(await batchStatus(id)).toMatchObject({ status: 'PAUSED', pending: 2 })
  expect((await refused('DELETE', id))[1]).toContain('PAUSED')
  expect((await ask('POST', `/api/system/resume-batch/${id}`)).body).toEqual({ id, resumed: 2 })
  expect((await ask('POST', `/api/quotes/batch/${id}/cancel`)).body).toEqual({ id, status: 'CANCELLED' })
  expect(await batchStatus(id)).toMatchObject({ status: 'CANCELLED', cancelled: 2, percent: 100 })
  expect((await ask('POST', `/api/system/resume-batch/${id}`)).body).toEqual({ id, resumed: 0 })
  expect((await ask('DELETE', `/api/quotes/batch/${id}`)).status).toBe(204)
  for (const path of [
    `/api/system/batch-status/${id}`,
    `/api/quotes/batch/${id}/results.csv`,
    `/api/quotes/batch/${id}/events`,
  ])
    expect((await ask('GET', path)).status).toBe(404)
  for (const table of ['quotes.batch', 'quotes.quote', 'retoma.batch', 'retoma.job', 'retoma.event'])
    expect(await sql(`select count(*)::int as n from ${table}`), table).toEqual([{ n: 0 }])
})

test('a batch that is done refuses to be cancelled, by its own id and in the words of the quotes', async () => {
  const { ask, batch, engine, run } = await quotesDoor()
  // The engine numbers its batches otherwise.
  await engine.query(`select setval(pg_get_serial_sequence('retoma.batch', 'id'), 700)`)
  const id = await batch(['a'])
  await run()
  expect(await ask('POST', `/api/quotes/batch/${id}/cancel`)).toMatchObject({
    status: 409,
    body: { error: { code: 'batch_state', id, state: 'DONE' } },
  })
})

test('what the janitor has removed goes from our tables, too', async () => {
  const door = await quotesDoor()
  const { batch, quote, run, engine, ask } = door
  const sql = await sqlOn(door)
  const [single, many] = [await quote('mesa'), await batch(['a'])]
  await run()
  const [{ batch_id: own }] = (await sql<{ batch_id: string }>(`select batch_id from quotes.batch`)) as [
    { batch_id: string },
  ]
  await engine.batches.erase(own)
  await sql(`delete from retoma.job where batch_id is null`)
  await engine.schedules.run('tidy_quotes')
  await run()
  expect((await ask('GET', `/api/quotes/${single}`)).status).toBe(404)
  expect((await ask('GET', `/api/system/batch-status/${many}`)).status).toBe(404)
  for (const table of ['quotes.batch', 'quotes.quote', 'quotes.reading'])
    expect(await sql(`select count(*)::int as n from ${table}`), table).toEqual([{ n: 0 }])
})

test('no reader shows a quote whose job the janitor has removed, also before the tidy job', async () => {
  const door = await quotesDoor()
  const { ask, quote, run } = door
  const sql = await sqlOn(door)
  const [removed, kept] = [await quote('mesa'), await quote('cadeira')]
  await run()
  await sql(`delete from retoma.job where ref = $1`, [removed])
  expect((await ask('GET', `/api/quotes/${removed}`)).status).toBe(404)
  expect((await ask('GET', '/api/quotes')).body.items).toMatchObject([{ id: kept }])
  expect((await ask('GET', '/api/quotes?status=PENDING')).body.items).toEqual([])
  expect((await ask('DELETE', `/api/quotes/${removed}`)).status).toBe(204)
})

test('the retention reaches a quote and a batch behind a thousand that stay open', async () => {
  const door = await quotesDoor()
  const { batch, engine, quote, run } = door
  const sql = await sqlOn(door)
  await sql(
    `insert into quotes.batch (total, created_by, created_at) select 1001, 'p', now() from generate_series(1, 101)`,
  )
  await sql(`
    insert into quotes.quote (batch_id, n, description, created_by, created_at, simulated)
    select b.id, n, 'aberta', 'p', now(), true from (select min(id) as id from quotes.batch) b, generate_series(1, 1001) n`)
  await quote('mesa')
  const last = await batch(['a'])
  await run()
  const [own] = await sql<{ batch_id: string }>(`select batch_id from quotes.batch where id = $1`, [last])
  await engine.batches.erase(own!.batch_id)
  await sql(`delete from retoma.job where batch_id is null`)
  await engine.schedules.run('tidy_quotes')
  await run()
  expect(await sql(`select distinct description from quotes.quote`)).toEqual([{ description: 'aberta' }])
  expect(await sql(`select count(*)::int as n from quotes.batch`)).toEqual([{ n: 101 }])
})

test('a quote that a person erases before its batch is submitted does not keep the batch from its submit', async () => {
  const door = await quotesDoor()
  const { ask, batch, batchStatus, engine, run } = door
  const sql = await sqlOn(door)
  // The process dies after the first of two chunks, and one item has run already.
  const { submit } = engine
  let submits = 0
  vi.spyOn(engine, 'submit').mockImplementation((async (made: never, items: never, options: never) => {
    submits++
    const { id } = await submit(made, items, options)
    if (submits === 1) throw new Error(`the process dies after the submit of batch ${id}`)
    return { id }
  }) as never)
  const id = await batch(['cadeira', 'mesa', 'sofá'])
  await run()
  const rows = await sql<{ id: string; job_id: string | null }>(`select id, job_id from quotes.quote order by n`)
  const [first, second] = [rows[0]!, rows[1]!]
  await sql(`update quotes.quote set job_id = null where id = $1`, [second.id])
  for (const each of [first, second]) {
    expect((await ask('DELETE', `/api/quotes/${each.id}`)).status).toBe(204)
    expect((await ask('GET', `/api/quotes/${each.id}`)).status).toBe(404)
  }
  expect(await sql(`select description from quotes.quote where deleted_at is not null`)).toEqual([
    { description: '' },
    { description: '' },
  ])
  expect(await batchStatus(id)).toMatchObject({ total: 3, status: 'DONE' })
  expect(await sql(`select id from quotes.quote`)).toEqual([{ id: rows[2]!.id }])
  expect(await sql(`select ref from retoma.job where kind = 'quote'`)).toEqual([{ ref: rows[2]!.id }])
})

test('an entry that cannot be erased keeps no other entry from its erasure, and turns of dead processes go', async () => {
  const door = await quotesDoor()
  const { quote, run, engine } = door
  const sql = await sqlOn(door)
  const ids = [await quote('a'), await quote('b'), await quote('c')]
  await run()
  await sql(`update quotes.quote set deleted_at = now()`)
  await sql(
    `insert into quotes.turn values ('host:x', 1, 'dead', '2000-01-01', 1, 1), ('host:x', 2, 'alive', '2999-01-01', 1, 1)`,
  )
  const { erase } = engine.jobs
  const stuck = (await sql<{ job_id: string }>(`select job_id from quotes.quote where id = $1`, [ids[0]]))[0]!.job_id
  vi.spyOn(engine.jobs, 'erase').mockImplementation(async job => {
    if (job === stuck) throw new Error('no way')
    return erase(job)
  })
  const tidy = async () => {
    await engine.schedules.run('tidy_quotes')
    await run()
    return sql(`select id from quotes.quote order by id`)
  }
  expect(await tidy()).toEqual([{ id: ids[0] }])
  expect(await sql(`select holder from quotes.turn`)).toEqual([{ holder: 'alive' }])
  vi.restoreAllMocks()
  expect(await tidy()).toEqual([])
})

test('a batch is followed in the words of the quotes', async () => {
  const { batch, clock, fetch, run } = await quotesDoor()
  const id = await batch(['Fiat Uno Way 1.0 2012', 'Fiat Strada Volcano 1.3 2023'])
  const stream = await fetch(new Request(`http://127.0.0.1:3000/api/quotes/batch/${id}/events`))
  const listening = heard(clock, stream)
  await run()
  const events = await listening
  expect(events.filter(each => each.event === 'state').at(-1)?.data).toMatchObject({ to: 'DONE' })
  expect(events.filter(each => each.event === 'progress').at(-1)?.data).toMatchObject({
    total: 2,
    done: 2,
    percent: 100,
  })
})
