import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { defineBatch, defineJob, minutes, seconds } from '../../src/index.ts'
import { batchDoor, failing, submitted } from './batch-support.ts'
import { doorWith } from './support.ts'

test('a batch is submitted, works, and is shown with its counts', async () => {
  const { ask, run } = await batchDoor()
  const made = await ask('POST', '/api/v1/batches', { body: { name: 'letters', items: [{ n: 1 }, { n: 2 }] } })
  expect(made).toMatchObject({ status: 201, body: { created: true, total: 2, duplicates: 0 } })
  const path = `/api/v1/batches/${made.body.id}`
  expect((await ask('GET', path)).body).toMatchObject({ state: 'waiting', total: 2, waiting: 2, name: 'letters' })
  await run()
  expect(await ask('GET', path)).toMatchObject({
    status: 200,
    body: { state: 'succeeded', succeeded: 2, percent: 100 },
  })
})

test('with a key that is held the answer is the batch that has it, and 200', async () => {
  const { ask } = await batchDoor()
  const body = { name: 'letters', items: [{ n: 1 }], key: 'today' }
  const first = await ask('POST', '/api/v1/batches', { body })
  expect(first.status).toBe(201)
  expect(await ask('POST', '/api/v1/batches', { body })).toMatchObject({
    status: 200,
    body: { id: first.body.id, created: false, total: 1 },
  })
})

test('refs, priority, group and time go with the items', async () => {
  const { ask, clock } = await batchDoor()
  const at = clock.now().getTime() + 60_000
  const run_at = new Date(at).toISOString()
  const inSaoPaulo = new Date(at - 3 * 3_600_000).toISOString().replace('Z', '-03:00')
  const items = [{ n: 1 }, { n: 2 }]
  const body = { name: 'letters', items, refs: ['a', 'b'], priority: 1, group_key: 'ana', run_at: inSaoPaulo }
  const { id } = (await ask('POST', '/api/v1/batches', { body })).body
  expect((await ask('GET', `/api/v1/batches/${id}/items`)).body.items).toMatchObject([
    { ref: 'a', priority: 1, group_key: 'ana', run_at, input: { n: 1 }, batch_id: id },
    { ref: 'b', priority: 1, group_key: 'ana', run_at, input: { n: 2 }, batch_id: id },
  ])
})

test('a list with a bad item is refused by its place, and leaves nothing behind', async () => {
  const { ask } = await batchDoor()
  const body = { name: 'letters', items: [{ n: 1 }, { n: 'two' }] }
  expect(await ask('POST', '/api/v1/batches', { body })).toMatchObject({
    status: 400,
    body: { error: { code: 'bad_input', problem: expect.stringContaining('item 1') } },
  })
  expect((await ask('GET', '/api/v1/batches')).body).toEqual({ items: [], next: null })
})

test('a list that the queue has no room for is refused whole, and leaves nothing behind', async () => {
  const { ask } = await batchDoor({ limits: { post: { maxDepth: 2 } } })
  const body = { name: 'letters', items: [{ n: 1 }, { n: 2 }, { n: 3 }] }
  expect(await ask('POST', '/api/v1/batches', { body })).toMatchObject({
    status: 429,
    body: { error: { code: 'queue_full' } },
  })
  expect((await ask('GET', '/api/v1/batches')).body).toEqual({ items: [], next: null })
})

test('what cannot be a submit is refused by the name of what is wrong', async () => {
  const { ask } = await batchDoor()
  const refused = async (body: unknown) => (await ask('POST', '/api/v1/batches', { body })).body.error
  const good = { name: 'letters', items: [] }
  for (const [field, body] of [
    ['name', { items: [] }],
    ['items', { name: 'letters' }],
    ['items', { name: 'letters', items: 'all' }],
    ['itens', { ...good, itens: [] }],
    ['refs', { ...good, refs: ['a'] }],
    ['priority', { ...good, priority: 10 }],
    ['run_at', { ...good, run_at: 'tomorrow' }],
    ['delay_seconds', { ...good, delay_seconds: 1, run_at: '2030-01-01T00:00:00Z' }],
    ['body', []],
    ['body', undefined],
  ] as const) {
    expect(await refused(body), field).toMatchObject({ code: 'bad_request', field })
  }
  expect(await refused({ name: 'leters', items: [] })).toMatchObject({
    code: 'unknown_batch',
    message: expect.stringContaining('did you mean "letters"?'),
  })
  expect(await refused({ ...good, queue: 'nowhere' })).toMatchObject({ code: 'unknown_queue' })
})

test('batches are listed newest first, by state and by name, a page at a time', async () => {
  const { ask, run } = await batchDoor()
  const first = await submitted(ask, [{ n: 1 }])
  await run()
  const second = await submitted(ask, [{ n: 2 }])
  const list = async (query: string) => {
    const { body } = await ask('GET', `/api/v1/batches?${query}`)
    return { ids: body.items.map((each: { id: string }) => each.id), next: body.next }
  }
  expect(await list('')).toEqual({ ids: [second, first], next: null })
  expect(await list('state=succeeded')).toEqual({ ids: [first], next: null })
  expect(await list('name=others')).toEqual({ ids: [], next: null })
  const page = await list('limit=1')
  expect(page.ids).toEqual([second])
  expect(await list(`limit=1&after=${page.next}`)).toEqual({ ids: [first], next: null })
})

test('a list is asked for in bounds, with a cursor of ours', async () => {
  const { ask } = await batchDoor()
  for (const [field, query] of [
    ['limit', 'limit=501'],
    ['limit', 'limit=0'],
    ['limit', 'limit=many'],
    ['state', 'state=done'],
    ['sate', 'sate=failed'],
  ]) {
    expect(await ask('GET', `/api/v1/batches?${query}`)).toMatchObject({
      status: 400,
      body: { error: { code: 'bad_request', field } },
    })
  }
  expect(await ask('GET', '/api/v1/batches?after=x')).toMatchObject({
    status: 400,
    body: { error: { code: 'bad_option', option: 'after' } },
  })
})

test.each(['0', '999', 'x', '-1', '1e3', '9223372036854775808', '%00', '..', '☃'])(
  'an id that names no batch is 404, whatever its form: %s',
  async id => {
    const { ask } = await batchDoor()
    const path = `/api/v1/batches/${id === '..' ? '%2e%2e%2e' : id}`
    for (const [method, rest] of [
      ['GET', ''],
      ['GET', '/items'],
      ['GET', '/failures'],
      ['GET', '/failures/causes'],
      ['GET', '/explain'],
      ['POST', '/explain'],
      ['POST', '/resume'],
      ['POST', '/retry-failed'],
      ['POST', '/pause'],
      ['POST', '/cancel'],
    ] as const) {
      expect(await ask(method, path + rest), rest).toMatchObject({
        status: 404,
        body: { error: { code: 'not_found' } },
      })
    }
  },
)

test('the id of a job is no batch', async () => {
  const { ask, engine } = await batchDoor()
  const { id } = await engine.enqueue(failing, { n: 1 })
  for (const rest of ['', '/items'])
    expect((await ask('GET', `/api/v1/batches/${id}${rest}`)).body.error.code).toBe('not_found')
  for (const actionName of ['cancel', 'resume'])
    expect((await ask('POST', `/api/v1/batches/${id}/${actionName}`)).body.error.code).toBe('not_found')
  expect(await engine.job(id)).toMatchObject({ state: 'waiting' })
})

test('why a batch does not move is explained in the language that is asked for', async () => {
  const { ask } = await batchDoor()
  const id = await submitted(ask, [{ n: 1 }])
  await ask('POST', `/api/v1/batches/${id}/pause`)
  for (const method of ['GET', 'POST']) {
    const { body } = await ask(method, `/api/v1/batches/${id}/explain`)
    expect(body).toMatchObject({ verdict: 'paused', advice: { action: 'resume' } })
  }
  const english = (await ask('GET', `/api/v1/batches/${id}/explain`)).body
  const headers = { 'accept-language': 'pt-BR' }
  const portuguese = (await ask('GET', `/api/v1/batches/${id}/explain`, { headers })).body
  expect(portuguese.verdict).toBe(english.verdict)
  expect(portuguese.sentence).not.toBe(english.sentence)
})

test('an engine without batches says so', async () => {
  const { ask } = await doorWith()
  const body = { name: 'letters', items: [] }
  expect((await ask('POST', '/api/v1/batches', { body })).body.error.message).toContain('none is registered')
})

test('a body is bounded in bytes and in depth, before it is looked at', async () => {
  const job = defineJob({ kind: 'any', timeout: minutes(1), run: () => 'ok' })
  const { fetch } = await doorWith([], { batches: [defineBatch({ name: 'any', job })] })
  const post = (body: string) =>
    fetch(
      new Request('http://127.0.0.1:3000/api/v1/batches', {
        method: 'POST',
        body,
        headers: { 'content-type': 'application/json' },
      }),
    )
  const deep = `{"name":"any","items":[${'['.repeat(100)}${']'.repeat(100)}]}`
  expect((await post(deep)).status).toBe(400)
  const large = JSON.stringify({ name: 'any', items: ['x'.repeat(17 * 1024 * 1024)] })
  expect((await post(large)).status).toBe(413)
})

test('the same batch sent twice at once under one key is made once, and both get its answer', async () => {
  const { ask, clock, engine } = await batchDoor()
  const asked = { body: { name: 'letters', items: [{ n: 1 }] }, headers: { 'idempotency-key': 'twice' } }
  let open = 2
  const answers = Promise.all([1, 2].map(() => ask('POST', '/api/v1/batches', asked).finally(() => open--)))
  while (open > 0) {
    await engine.batches.list()
    await clock.advance(seconds(0.1))
  }
  const [first, second] = await answers
  expect([first!.status, second!.status]).toEqual([201, 201])
  expect(second!.body).toEqual(first!.body)
  expect((await engine.batches.list()).items).toHaveLength(1)
})

test('another batch under a key that was used is refused, as the document says', async () => {
  const { ask } = await batchDoor()
  const asked = (n: number) => ({ body: { name: 'letters', items: [{ n }] }, headers: { 'idempotency-key': 'other' } })
  expect((await ask('POST', '/api/v1/batches', asked(1))).status).toBe(201)
  expect(await ask('POST', '/api/v1/batches', asked(2))).toMatchObject({
    status: 409,
    body: { error: { code: 'idempotency_conflict' } },
  })
})

describe('with an Idempotency-Key', () => {
  const asked = (items: unknown[] = [{ n: 1 }, { n: 2 }]) => ({
    body: { name: 'letters', items },
    headers: { 'idempotency-key': 'mine' },
  })

  test('a process that dies before the answer is kept leaves one batch: asked again, it is that one', async () => {
    const { ask, databaseUrl } = await batchDoor()
    const first = await ask('POST', '/api/v1/batches', asked())
    await sqlOn(
      databaseUrl,
      `update retoma.idempotency set status = null, response = null, at = at - interval '61 seconds'`,
    )
    expect(await ask('POST', '/api/v1/batches', asked())).toMatchObject({ status: 201, body: first.body })
    expect((await ask('GET', '/api/v1/batches')).body.items).toHaveLength(1)
    expect(await ask('POST', '/api/v1/batches', asked([{ n: 3 }]))).toMatchObject({ status: 409 })
  })

  test('one that broke off in the middle of its list is continued by the next try', async () => {
    const { ask, databaseUrl } = await batchDoor()
    const items = Array.from({ length: 1500 }, (_, n) => ({ n }))
    await sqlOn(
      databaseUrl,
      `create function retoma.refuse_chunk() returns trigger language plpgsql as $$ begin raise 'no' using errcode = '42804'; end $$;
       create trigger refuse before insert on retoma.batch_chunk for each row when (new.n = 1) execute function retoma.refuse_chunk()`,
    )
    const drop = `drop trigger if exists refuse on retoma.batch_chunk; drop function if exists retoma.refuse_chunk()`
    onTestFinished(() => sqlOn(databaseUrl, drop))
    expect((await ask('POST', '/api/v1/batches', asked(items))).status).toBe(500)
    await sqlOn(databaseUrl, drop)
    expect(await ask('POST', '/api/v1/batches', asked(items))).toMatchObject({
      status: 201,
      body: { created: true, total: 1500 },
    })
    expect((await ask('GET', '/api/v1/batches')).body.items).toMatchObject([{ total: 1500 }])
  })

  test('a list that the queue has no room for leaves nothing behind either', async () => {
    const { ask } = await batchDoor({ limits: { post: { maxDepth: 1 } } })
    expect((await ask('POST', '/api/v1/batches', asked())).status).toBe(429)
    expect((await ask('GET', '/api/v1/batches')).body.items).toEqual([])
  })
})

async function sqlOn(url: string, text: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(text).finally(() => client.end())
}
