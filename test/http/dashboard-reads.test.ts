/** The reads of the dashboard: the map of a batch, positions in its list, searches, counts before an action, and the present problems. */
import { expect, test } from 'vitest'
import { defineBatch, defineJob, defineSchedule, doNotRetry, minutes } from '../../src/index.ts'
import { doorWith } from './support.ts'

const check = defineJob<string>({
  kind: 'check',
  queue: 'checks',
  run(_, code) {
    if (code.includes('bad')) throw doNotRetry(new Error(`${code.slice(-1)} has no price`))
  },
})
const checks = defineBatch({ name: 'checks', job: check })

test('the map of a batch has a letter for each item, in the order of the list', async () => {
  const { ask, engine, run } = await doorWith([], { batches: [checks] })
  const { id } = await engine.submit(checks, ['a', 'bad b', 'c'], { ref: code => code })
  expect((await ask('GET', `/api/v1/batches/${id}/map`)).body).toEqual({
    id,
    total: 3,
    items_per_cell: 1,
    samples_per_cell: 1,
    states: 'www',
  })
  await run()
  expect((await ask('GET', `/api/v1/batches/${id}/map`)).body.states).toBe('sfs')
  expect((await ask('GET', '/api/v1/batches/17/map')).status).toBe(404)
})

test('a large batch is sampled, is entered at any place of its list, and is searched by the beginning of a ref', async () => {
  const { ask, engine } = await doorWith([], { batches: [checks] })
  const codes = Array.from({ length: 6000 }, (_, n) => `doc-${String(n).padStart(5, '0')}`)
  const { id } = await engine.submit(checks, codes, { ref: code => code })
  const { body: map } = await ask('GET', `/api/v1/batches/${id}/map`)
  expect(map).toMatchObject({ total: 6000, items_per_cell: 6, samples_per_cell: 5, states: 'w'.repeat(5000) })
  const refs = async (query: string) =>
    (await ask('GET', `/api/v1/batches/${id}/items?${query}`)).body.items.map((each: { ref: string }) => each.ref)
  expect(await refs('offset=0&limit=2')).toEqual(['doc-00000', 'doc-00001'])
  expect(await refs('offset=4321&limit=2')).toEqual(['doc-04321', 'doc-04322'])
  expect(await refs('offset=5999&limit=2')).toEqual(['doc-05999'])
  expect(await refs('offset=6000')).toEqual([])
  expect(await refs('ref=doc-0599&limit=20')).toEqual(codes.slice(5990))
  expect(await refs('ref=none')).toEqual([])
  for (const query of ['offset=1&after=5', 'offset=-1', 'ref=a&state=failed', 'offset=1&ref=a'])
    expect((await ask('GET', `/api/v1/batches/${id}/items?${query}`)).status, query).toBe(400)
})

test('the actions on a batch and its items are listed with who and what, the newest first', async () => {
  const { ask, engine, run } = await doorWith([], { batches: [checks] })
  const { id } = await engine.submit(checks, ['a', 'bad'], { ref: code => code })
  await engine.batches.pause(id, { by: 'ana' })
  await engine.batches.resume(id, { by: 'rui' })
  await run()
  const [item] = (await engine.batches.items(id, { state: 'failed' })).items
  await engine.jobs.skip(item!.id, 'not needed', { by: 'ana' })
  const { body } = await ask('GET', `/api/v1/batches/${id}/actions`)
  expect(body.items.map(({ who, what, job_id }: Record<string, unknown>) => [who, what, job_id])).toEqual([
    ['ana', 'skip', item!.id],
    ['rui', expect.stringContaining('resume'), null],
    ['ana', 'pause', null],
  ])
  const { body: page } = await ask('GET', `/api/v1/batches/${id}/actions?limit=1`)
  expect((await ask('GET', `/api/v1/batches/${id}/actions?limit=1&after=${page.next}`)).body.items).toMatchObject([
    { who: 'rui' },
  ])
})

test('jobs are found by ref, by error text, by the time of their enqueue and by their worker', async () => {
  const { ask, engine, run, clock } = await doorWith([check])
  const first = await engine.enqueue(check, 'bad x', { ref: 'A-1' })
  await clock.advance(minutes(10))
  const from = clock.now().toISOString()
  const second = await engine.enqueue(check, 'bad y', { ref: 'A-1' })
  await engine.enqueue(check, 'fine', { ref: 'A-2' })
  await run()
  const ids = async (query: string) =>
    (await ask('GET', `/api/v1/jobs?${query}`)).body.items.map((each: { id: string }) => each.id)
  expect(await ids('ref=A-1')).toEqual([second.id, first.id])
  expect(await ids(`ref=A-1&limit=1&after=${second.id}`)).toEqual([first.id])
  expect(await ids('ref=A-1&state=succeeded')).toEqual([])
  expect(await ids('state=failed&error=X%20HAS%20no')).toEqual([first.id])
  expect(await ids(`state=failed&created_after=${from}`)).toEqual([second.id])
  expect(await ids('error=%25')).toEqual([])
  expect(await ids('worker=w-nobody')).toEqual([])
})

test('a count comes before a bulk action, which takes a filter or a selection of jobs', async () => {
  const { ask, engine, run } = await doorWith([check])
  const jobs = []
  for (const code of ['bad x', 'bad y', 'bad y', 'fine']) jobs.push((await engine.enqueue(check, code)).id)
  expect((await ask('POST', '/api/v1/queues/checks/clear', { body: { dry_run: true } })).body).toMatchObject({
    done: true,
  })
  expect((await ask('POST', '/api/v1/jobs/cancel', { body: { queue: 'checks', dry_run: true } })).body.changed).toBe(4)
  await run()
  const retry = async (body: object) => (await ask('POST', '/api/v1/jobs/retry', { body })).body
  expect(await retry({ state: 'failed', dry_run: true })).toMatchObject({ changed: 3, done: true })
  expect(await retry({ error: 'y has no', dry_run: true })).toMatchObject({ changed: 2 })
  expect(await retry({ ids: [jobs[0], jobs[3], '99999', 'x'], dry_run: true })).toMatchObject({ changed: 1 })
  expect((await engine.job(jobs[0]!))!.state).toBe('failed')
  expect(await retry({ ids: [jobs[0], jobs[3]] })).toMatchObject({ changed: 1, done: true })
  expect((await engine.job(jobs[0]!))!.state).toBe('waiting')
  expect(await retry({ error: 'y has no' })).toMatchObject({ changed: 2 })
  for (const body of [{ ids: [] }, { ids: ['1'], kind: 'check' }, { error: 'a', batch_id: '1' }])
    expect((await ask('POST', '/api/v1/jobs/retry', { body })).status).toBeGreaterThanOrEqual(400)
})

test('a bulk resume takes the stalled jobs that health counts, and leaves the items of a stalled batch to their batch', async () => {
  const { ask, engine, run, tick } = await doorWith([check], { batches: [checks] })
  await engine.enqueueMany(check, ['a', 'b'])
  const moving = await engine.submit(checks, ['c'])
  const still = await engine.submit(checks, ['d', 'e'])
  await engine.transaction(async tx => {
    await tx.query(`update retoma.job set state = 'stalled', attempt = 1`)
    await tx.query(`update retoma.batch set state = 'stalled', claims_blocked = true, reason = '{"code":"no_worker"}' where id = $1`, [still.id]) // biome-ignore format: one line
    await tx.query(`update retoma.batch_count set stalled = case when batch_id = $1 then 2 else 1 end`, [still.id])
  })
  await tick()
  const { problems } = (await ask('GET', '/api/v1/stats/health')).body
  expect(problems.find((each: { event: string }) => each.event === 'jobs.stalled').facts.jobs).toBe(3)
  const resume = async (body: object) => (await ask('POST', '/api/v1/jobs/resume', { body })).body
  expect(await resume({ state: 'stalled', dry_run: true })).toMatchObject({ changed: 3, done: true })
  expect(await resume({ batch_id: still.id })).toMatchObject({ changed: 0, done: true })
  expect(await resume({ state: 'stalled' })).toMatchObject({ changed: 3, conflicts: 0, done: true, next: null })
  expect(await resume({ state: 'stalled' })).toMatchObject({ changed: 0 })
  expect((await engine.batches.items(still.id, { state: 'stalled' })).items).toHaveLength(2)
  await run()
  expect((await engine.jobs.list({ state: 'succeeded' })).items).toHaveLength(3)
  expect((await engine.batch(moving.id))!.state).toBe('succeeded')
  expect((await ask('POST', '/api/v1/jobs/resume', { body: {} })).status).toBe(400)
  expect((await ask('POST', '/api/v1/jobs/resume', { body: { batch_id: '999' } })).status).toBe(404)
})

test('the newest failures of all queues are grouped by cause', async () => {
  const { ask, engine, run } = await doorWith([check])
  for (const code of ['bad x', 'bad x', 'bad y']) await engine.enqueue(check, code)
  await run()
  const { body } = await ask('GET', '/api/v1/failures/causes')
  const total = body.items.reduce((sum: number, each: { count: number }) => sum + each.count, 0)
  expect(total).toBe(3)
  expect(body.items[0]).toMatchObject({
    queues: ['checks'],
    kinds: ['check'],
    message: expect.stringMatching(/has no price$/),
  })
})

test('health is one sentence: all is moving, or the worst problem and since when', async () => {
  const { ask, engine, tick } = await doorWith([], { batches: [checks] })
  await tick()
  const portuguese = { headers: { 'accept-language': 'pt-BR' } }
  expect((await ask('GET', '/api/v1/stats/health', portuguese)).body).toEqual({
    severity: 'ok',
    sentence: 'Tudo andando.',
    since: null,
    problems: [],
  })
  const { id } = await engine.submit(checks, ['a'])
  await engine.transaction(tx =>
    tx.query(
      `update retoma.batch set state = 'stalled', claims_blocked = true, reason = '{"code":"no_worker"}' where id = $1`,
      [id],
    ),
  )
  const { body } = await ask('GET', '/api/v1/stats/health', portuguese)
  expect(body).toMatchObject({ severity: 'critical', since: expect.any(String) })
  expect(body.problems.map((each: { subject: string }) => each.subject)).toContain(`batch:${id}`)
  expect(body.problems[0].sentence).toMatch(/[áãéíóúç]|Fila|lote/)
  expect((await ask('GET', '/api/v1/findings')).status).toBe(200)
  expect((await ask('GET', '/api/v1/incidents?open=true')).body).toEqual({ items: [], next: null })
})

test('the checks of the doctor are for admins', async () => {
  const { ask, engine, tick } = await doorWith([check])
  await tick()
  const { token: viewer } = await engine.tokens.create({ user: 'ana', role: 'viewer' })
  const { token: admin } = await engine.tokens.create({ user: 'rui', role: 'admin' })
  expect((await ask('GET', '/api/v1/doctor', { token: viewer })).status).toBe(403)
  const { status, body } = await ask('GET', '/api/v1/doctor', { token: admin })
  expect(status).toBe(200)
  expect(body.checks.map((each: { check: string }) => each.check)).toEqual(
    expect.arrayContaining(['database', 'version', 'schema', 'workers', 'watchdog']),
  )
  expect(body.checks.find((each: { check: string }) => each.check === 'schema').verdict).toBe('ok')
})

test('a schedule has its next times and its recurrence in words', async () => {
  const nightly = defineSchedule({
    name: 'nightly',
    job: defineJob({ kind: 'tidy', run: () => {} }),
    cron: '0 4 * * *',
    timeZone: 'America/Sao_Paulo',
  })
  const { ask } = await doorWith([], { schedules: [nightly] })
  const { body } = await ask('GET', '/api/v1/schedules/nightly/occurrences?count=3')
  expect(body).toEqual({
    name: 'nightly',
    words: 'every day at 04:00 (America/Sao_Paulo)',
    time_zone: 'America/Sao_Paulo',
    items: ['2030-01-02T07:00:00.000Z', '2030-01-03T07:00:00.000Z', '2030-01-04T07:00:00.000Z'],
    next: null,
  })
  expect((await ask('GET', '/api/v1/schedules/other/occurrences')).status).toBe(404)
})

test('the groups of a queue show what they use of their limits, the full ones first', async () => {
  const { ask, engine, run } = await doorWith([check], {
    limits: { checks: { perGroup: { rate: { limit: 1, per: minutes(60) } } } },
  })
  for (const group of ['a', 'b']) await engine.enqueue(check, 'fine', { groupKey: group })
  await engine.enqueue(check, 'fine', { groupKey: 'a' })
  await run()
  expect((await ask('GET', '/api/v1/queues/checks/groups')).body.items).toMatchObject([
    { group: 'a', running: 0, concurrency: null, starts: 1, rate: { limit: 1, per_ms: 3_600_000 }, full: true },
    { group: 'b', full: true },
  ])
  expect((await ask('GET', '/api/v1/queues/none/groups')).status).toBe(404)
})

test('a paused schedule lets its occurrences pass without a job, and goes on with the next one', async () => {
  const job = defineJob({ kind: 'tidy', run: () => {} })
  const often = defineSchedule({ name: 'often', job, every: minutes(5), catchUp: 'all' })
  const { ask, engine, clock, schedule } = await doorWith([], { schedules: [often] })
  const count = async () => (await engine.jobs.list({ kind: 'tidy' })).items.length
  expect((await ask('POST', '/api/v1/schedules/often/pause')).body).toEqual({
    name: 'often',
    paused: true,
    changed: true,
  })
  expect((await ask('POST', '/api/v1/schedules/often/pause')).body.changed).toBe(false)
  for (let n = 0; n < 3; n++) {
    await schedule()
    await clock.advance(minutes(5))
  }
  expect(await count()).toBe(0)
  // The last occurrence is due and no process has let it pass: it is not caught up either.
  expect((await ask('POST', '/api/v1/schedules/often/resume')).body).toMatchObject({ paused: false, changed: true })
  await schedule()
  expect(await count()).toBe(0)
  await clock.advance(minutes(5))
  await schedule()
  expect(await count()).toBe(1)
  expect((await ask('GET', '/api/v1/schedules')).body.items).toMatchObject([{ name: 'often', paused: false }])
  expect((await ask('POST', '/api/v1/schedules/none/pause')).status).toBe(404)
})

test('the last jobs of a schedule are its own, by recurrence and by hand, the newest first', async () => {
  const job = defineJob({ kind: 'tidy', run: () => {} })
  const often = defineSchedule({ name: 'often', job, every: minutes(5) })
  const similar = defineSchedule({ name: 'often.home', job, every: minutes(5) })
  const named = defineSchedule({ name: 'named', job, every: minutes(5), options: { ref: 'T-1' } })
  const { ask, engine, clock, schedule } = await doorWith([], { schedules: [often, similar, named] })
  for (let n = 0; n < 2; n++) {
    await schedule()
    await clock.advance(minutes(5))
  }
  const { id } = await engine.schedules.run('often')
  await engine.enqueue(job, undefined, { ref: 'oftener' })
  const refs = async (name: string) =>
    (await ask('GET', `/api/v1/schedules/${name}/runs`)).body.items.map((each: { ref: string }) => each.ref)
  expect(await refs('often')).toEqual(['often@2030-01-01T12:10:00Z', 'often@2030-01-01T12:05:00Z'])
  expect((await ask('GET', '/api/v1/schedules/often/runs')).body.items[0].id).toBe(id)
  expect(await refs('often.home')).toEqual(['often.home@2030-01-01T12:05:00Z'])
  expect(await refs('named')).toEqual(['T-1'])
  expect((await ask('GET', '/api/v1/schedules/none/runs')).status).toBe(404)
})

test('a job is read without its large values, and each saved step by its name', async () => {
  const page = 'x'.repeat(5000)
  const read = defineJob({
    kind: 'read',
    async run(ctx, _: { page: string }) {
      await ctx.step('pages/1 <b>', () => ({ page, at: new Date('2030-01-01T00:00:00Z') }))
      return { short: 'ok' }
    },
  })
  const { ask, engine, run } = await doorWith([read])
  const { id } = await engine.enqueue(read, { page })
  await run()
  const { body } = await ask('GET', `/api/v1/jobs/${id}?values=short`)
  expect(body).toMatchObject({
    input: null,
    result: { short: 'ok' },
    omitted: { input: { href: `/api/v1/jobs/${id}` } },
  })
  const { body: whole } = await ask('GET', `/api/v1/jobs/${id}`)
  expect([whole.input, 'omitted' in whole]).toEqual([{ page }, false])
  const step = await ask('GET', `/api/v1/jobs/${id}/checkpoints/${encodeURIComponent('pages/1 <b>')}`)
  expect(step.body).toMatchObject({
    name: 'pages/1 <b>',
    attempt: 1,
    value: { page, at: '2030-01-01T00:00:00.000Z' },
  })
  for (const path of [`${id}/checkpoints/none`, 'x/checkpoints/none'])
    expect((await ask('GET', `/api/v1/jobs/${path}`)).status, path).toBe(404)
})
