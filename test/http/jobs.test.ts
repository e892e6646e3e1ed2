/** Jobs over HTTP: lists, views, explanations, actions. Each answer as good, as bad input, as unknown and in the wrong state. */
import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineBatch, defineJob, skip } from '../../src/index.ts'
import { sqlOf } from '../support/events.ts'
import { doorWith } from './support.ts'

const send = defineJob({
  kind: 'send',
  queue: 'mail',
  input: z.object({ to: z.string() }),
  maxAttempts: 1,
  async run(context, { to }) {
    await context.step('look up', () => to.length)
    if (to === 'nobody') throw new Error('no such address')
    if (to === 'skip') return skip('not wanted')
    return `sent to ${to}`
  },
})
const draw = defineJob({ kind: 'draw', run: () => 'drawn' })
const letters = defineBatch({ name: 'letters', job: send })

const strangers = ['abc', '-1', '0', '9'.repeat(30), '%00', '1%2F2', '1.5', '%F0%9F%92%A5', "1'--"]
const readers = [
  ['GET', ''],
  ['GET', '/explain'],
  ['GET', '/logs'],
  ['POST', '/explain'],
] as const
const actionNames = ['cancel', 'retry', 'rerun', 'resume', 'skip'] as const
const bodyOf = (actionName: string) => (actionName === 'skip' ? { body: { reason: 'enough' } } : {})

test('an id that names nothing is 404, whatever its form and whatever is asked of it', async () => {
  const { ask, engine } = await doorWith([send], { batches: [letters] })
  const batch = await engine.submit(letters, [{ to: 'ana' }])
  const { id: real } = await engine.enqueue(send, { to: 'ana' })
  for (const id of [...strangers, batch.id, `0${real}`]) {
    for (const [method, path] of readers)
      expect(await ask(method, `/api/v1/jobs/${id}${path}`), `${method} ${id}${path}`).toMatchObject({
        status: 404,
        body: { error: { code: 'not_found' } },
      })
    for (const actionName of actionNames)
      expect(
        await ask('POST', `/api/v1/jobs/${id}/${actionName}`, bodyOf(actionName)),
        `${id} ${actionName}`,
      ).toMatchObject({
        status: 404,
        body: { error: { code: 'not_found' } },
      })
  }
  // Its batch, whose id was taken for a job's, is as it was.
  expect(await engine.batch(batch.id)).toMatchObject({ state: 'waiting' })
})

test('a stack is for those who act, not for those who read', async () => {
  const { ask, engine, run } = await doorWith([send])
  const { id } = await engine.enqueue(send, { to: 'nobody' })
  await run()
  const stacks = async (role: 'viewer' | 'operator') => {
    const { token } = await engine.tokens.create({ user: role, role })
    const { body: job } = await ask('GET', `/api/v1/jobs/${id}`, { token })
    const { body: list } = await ask('GET', '/api/v1/jobs?state=failed', { token })
    return [job.error.stack, job.history[0].stack, list.items[0].error.stack]
  }
  for (const stack of await stacks('operator')) expect(stack).toContain('jobs.test.ts')
  expect(await stacks('viewer')).toEqual([null, null, null])
})

test('a job is shown with its attempts, failures and checkpoints', async () => {
  const { ask, engine, run } = await doorWith([send])
  const good = await engine.enqueue(send, { to: 'ana' }, { ref: 'A-1', key: 'k' })
  const bad = await engine.enqueue(send, { to: 'nobody' })
  await run()
  expect(await ask('GET', `/api/v1/jobs/${good.id}`)).toMatchObject({
    status: 200,
    body: {
      id: good.id,
      state: 'succeeded',
      ref: 'A-1',
      key: 'k',
      failures: 0,
      result: 'sent to ana',
      attempts: [{ attempt: 1, outcome: 'succeeded', message: null }],
      history: [],
      checkpoints: [{ name: 'look up', attempt: 1 }],
    },
  })
  expect((await ask('GET', `/api/v1/jobs/${bad.id}`)).body).toMatchObject({
    state: 'failed',
    failures: 1,
    attempts: [{ attempt: 1, outcome: 'error', message: 'no such address' }],
    history: [{ attempt: 1, type: 'error', message: 'no such address', stack: expect.stringContaining('jobs.test') }],
  })
})

test('a stack is for those who act: a viewer sees what went wrong, not where in the code', async () => {
  const { ask, engine, run } = await doorWith([send])
  const { id } = await engine.enqueue(send, { to: 'nobody' })
  await run()
  const { token: viewer } = await engine.tokens.create({ user: 'vi', role: 'viewer' })
  const { token: operator } = await engine.tokens.create({ user: 'op', role: 'operator' })
  for (const path of [`/api/v1/jobs/${id}`, '/api/v1/jobs']) {
    const seen = JSON.stringify((await ask('GET', path, { token: viewer })).body)
    expect(seen).toContain('no such address')
    expect(seen).not.toContain('jobs.test.ts')
    expect(JSON.stringify((await ask('GET', path, { token: operator })).body)).toContain('jobs.test.ts')
  }
})

test('it is explained in the language that is asked for, with GET and with POST', async () => {
  const { ask, engine } = await doorWith([send])
  const { id } = await engine.enqueue(send, { to: 'ana' })
  const reported = await ask('GET', `/api/v1/jobs/${id}/explain`)
  expect(reported).toMatchObject({ status: 200, body: { verdict: expect.any(String), advice: expect.anything() } })
  expect((await ask('POST', `/api/v1/jobs/${id}/explain`)).body).toEqual(reported.body)
  const portuguese = await ask('GET', `/api/v1/jobs/${id}/explain`, { headers: { 'accept-language': 'pt' } })
  expect(portuguese.body.sentence).not.toBe(reported.body.sentence)
})

test('an action answers the state and whether it changed it; in the wrong state it is 409, and the actor is noted', async () => {
  const { ask, engine, run } = await doorWith([send])
  const { id } = await engine.enqueue(send, { to: 'ana' })
  const call = (actionName: string) => ask('POST', `/api/v1/jobs/${id}/${actionName}`, bodyOf(actionName))
  expect(await call('cancel')).toMatchObject({ status: 200, body: { id, state: 'cancelled', changed: true } })
  expect(await call('cancel')).toMatchObject({ status: 200, body: { id, state: 'cancelled', changed: false } })
  expect(await call('resume')).toMatchObject({ status: 409, body: { error: { code: 'wrong_state' } } })
  expect(await call('skip')).toMatchObject({ status: 409, body: { error: { code: 'wrong_state' } } })
  expect(await call('retry')).toMatchObject({ status: 200, body: { state: 'waiting', changed: true } })
  expect(await call('retry')).toMatchObject({ status: 200, body: { state: 'waiting', changed: false } })
  await run()
  expect(await call('cancel')).toMatchObject({ status: 409 })
  expect(await call('retry')).toMatchObject({ status: 409 })
  expect(await call('rerun')).toMatchObject({ status: 200, body: { state: 'waiting', changed: true } })
  expect(await call('skip')).toMatchObject({ status: 200, body: { state: 'skipped', changed: true } })
  const { events } = (await ask('GET', `/api/v1/jobs/${id}`)).body
  const results = events.filter((event: { type: string }) => event.type === 'action')
  expect(results.map(({ data }: { data: Record<string, string> }) => `${data.what} by ${data.who}`)).toEqual([
    'cancel by local',
    'retry by local',
    'rerun by local',
    'skip by local',
  ])
  expect(await ask('POST', `/api/v1/jobs/${id}/skip`, { body: { reasn: 'x' } })).toMatchObject({
    status: 400,
    body: { error: { code: 'bad_request', field: expect.stringMatching(/^reas/) } },
  })
})

test('one that is stalled is resumed, and cannot be run anew', async () => {
  const { ask, engine, databaseUrl } = await doorWith([send])
  const { id } = await engine.enqueue(send, { to: 'ana' })
  const sql = await sqlOf({ databaseUrl })
  await sql(`update retoma.job set state = 'stalled'`)
  expect(await ask('POST', `/api/v1/jobs/${id}/rerun`)).toMatchObject({
    status: 409,
    body: { error: { code: 'wrong_state', state: 'stalled' } },
  })
  expect(await ask('POST', `/api/v1/jobs/${id}/resume`)).toMatchObject({ status: 200, body: { state: 'waiting' } })
})

test('what has ended does not run again while another job has its key', async () => {
  const { ask, engine, run } = await doorWith([send])
  const first = await engine.enqueue(send, { to: 'nobody' }, { key: 'k', keyUntil: 'final' })
  await run()
  await engine.enqueue(send, { to: 'bia' }, { key: 'k', keyUntil: 'final' })
  for (const actionName of ['retry', 'rerun'])
    expect(await ask('POST', `/api/v1/jobs/${first.id}/${actionName}`), actionName).toMatchObject({
      status: 409,
      body: { error: { code: 'key_reserved' } },
    })
})

test('what a cancelled batch has left behind does not run again', async () => {
  const { ask, engine } = await doorWith([send], { batches: [letters] })
  const batch = await engine.submit(letters, [{ to: 'ana' }])
  await engine.batches.cancel(batch.id)
  const [item] = (await engine.jobs.list()).items
  for (const actionName of ['retry', 'rerun'])
    expect(await ask('POST', `/api/v1/jobs/${item!.id}/${actionName}`), actionName).toMatchObject({
      status: 409,
      body: { error: { code: 'batch_cancelled' } },
    })
})

test('the list is filtered, newest first, and goes on where the page before ended', async () => {
  const { ask, engine, run } = await doorWith([send, draw], { batches: [letters] })
  const first = await engine.enqueue(send, { to: 'ana' }, { ref: 'A-1', groupKey: 'g' })
  await engine.enqueue(send, { to: 'nobody' })
  await engine.enqueue(send, { to: 'skip' }, { key: 'k' })
  const batch = await engine.submit(letters, [{ to: 'bia' }, { to: 'nobody' }])
  await run()
  await engine.enqueue(draw, undefined)
  const ids = async (query: string) =>
    (await ask('GET', `/api/v1/jobs?${query}`)).body.items.map(
      (job: { ref: string | null; state: string }) => job.state,
    )
  expect(await ids('')).toEqual(['waiting', 'failed', 'succeeded', 'skipped', 'failed', 'succeeded'])
  expect(await ids('state=failed')).toEqual(['failed', 'failed'])
  expect(await ids('state=waiting')).toEqual(['waiting'])
  expect(await ids('state=running')).toEqual([])
  expect(await ids('state=stalled')).toEqual([])
  expect(await ids('kind=draw')).toEqual(['waiting'])
  expect(await ids('kind=nothing')).toEqual([])
  expect(await ids('queue=mail&state=succeeded')).toEqual(['succeeded', 'succeeded'])
  expect(await ids('ref=A-1')).toEqual(['succeeded'])
  expect(await ids('group_key=g')).toEqual(['succeeded'])
  expect(await ids('key=k')).toEqual(['skipped'])
  expect(await ids(`batch_id=${batch.id}`)).toEqual(['succeeded', 'failed'])
  expect(await ids(`batch_id=${batch.id}&state=failed`)).toEqual(['failed'])
  expect(await ids('created_before=2000-01-01T00:00:00Z')).toEqual([])
  expect(await ids('created_before=2000-01-01T00:00:00-03:00')).toEqual([])

  const seen: string[] = []
  for (let next: string | null = ''; next !== null; ) {
    const { body } = await ask('GET', `/api/v1/jobs?limit=4${next === '' ? '' : `&after=${next}`}`)
    seen.push(...body.items.map((job: { id: string }) => job.id))
    next = body.next
  }
  expect(seen).toHaveLength(6)
  expect(seen.at(-1)).toBe(first.id)
})

test('a query that is not usable is 400 and names what is wrong with it', async () => {
  const { ask } = await doorWith([send])
  const cases = {
    'state=done': 'state',
    'limit=0': 'limit',
    'limit=501': 'limit',
    'limit=x': 'limit',
    'stat=failed': 'stat',
    'state=failed&state=waiting': 'state',
    'created_before=yesterday': 'created_before',
    'batch_id=1&kind=send': 'kind',
  }
  for (const [query, field] of Object.entries(cases))
    expect(await ask('GET', `/api/v1/jobs?${query}`), query).toMatchObject({
      status: 400,
      body: { error: { code: 'bad_request', field } },
    })
  expect(await ask('GET', '/api/v1/jobs?after=x')).toMatchObject({ status: 400, body: { error: { field: 'after' } } })
  expect(await ask('GET', '/api/v1/jobs?batch_id=x')).toMatchObject({ status: 404 })
})

test('how the whole is goes by queue and kind', async () => {
  const { ask, engine } = await doorWith([send])
  await engine.enqueue(send, { to: 'ana' })
  const { status, body } = await ask('GET', '/api/v1/stats')
  expect(status).toBe(200)
  expect(body).toMatchObject({ queues: expect.any(Array), kinds: expect.any(Array), workers: 0 })
})

test('a waiting job is changed, its new input checked; one that has started is 409', async () => {
  const { ask, engine, run } = await doorWith([send])
  const { id } = await engine.enqueue(send, { to: 'ana' }, { priority: 9 })
  const path = `/api/v1/jobs/${id}`
  const body = { run_at: '2040-01-01T00:00:00Z', priority: 0, input: { to: 'eva' } }
  expect(await ask('PATCH', path, { body })).toMatchObject({
    status: 200,
    body: { id, state: 'waiting', changed: true },
  })
  expect((await ask('GET', path)).body).toMatchObject({
    run_at: '2040-01-01T00:00:00.000Z',
    priority: 0,
    input: { to: 'eva' },
  })
  expect(await ask('PATCH', path, { body: { input: { to: 5 } } })).toMatchObject({
    status: 400,
    body: { error: { code: 'bad_input' } },
  })
  expect(await ask('PATCH', path, { body: {} })).toMatchObject({ status: 400, body: { error: { code: 'bad_option' } } })
  await ask('PATCH', path, { body: { delay_seconds: 0 } })
  await run()
  expect(await ask('PATCH', path, { body: { priority: 1 } })).toMatchObject({
    status: 409,
    body: { error: { code: 'wrong_state' } },
  })
})

test('a new input is refused beside saved steps, and for a kind that the server does not know', async () => {
  const { ask, engine, databaseUrl } = await doorWith([send])
  const sql = await sqlOf({ databaseUrl })
  const body = { input: { to: 'eva' } }
  const change = async (id: string) => (await ask('PATCH', `/api/v1/jobs/${id}`, { body })).body.error.code
  const { id: begun } = await engine.enqueue(send, { to: 'ana' })
  await sql(`insert into retoma.checkpoint (job_id, name, attempt, value, at) values (${begun}, 'a', 1, '1', now())`)
  expect(await change(begun)).toBe('steps_saved')
  const { id: foreign } = await engine.enqueue(send, { to: 'ana' })
  await sql(`update retoma.job set kind = 'gone' where id = ${foreign}`)
  expect(await change(foreign)).toBe('unknown_kind')
})

test('final jobs are erased by filter, and a queue is cleared', async () => {
  const { ask, engine, run } = await doorWith([send])
  await engine.enqueueMany(send, [{ to: 'ana' }, { to: 'eva' }])
  await run()
  const { id } = await engine.enqueue(send, { to: 'bia' })
  const erase = '/api/v1/jobs/erase'
  expect((await ask('POST', erase, { body: { kind: 'send', dry_run: true } })).body).toMatchObject({ changed: 2 })
  expect((await ask('POST', erase, { body: { kind: 'send' } })).body).toMatchObject({ changed: 2, done: true })
  expect((await ask('POST', erase, { body: {} })).status).toBe(400)
  expect((await ask('POST', erase, { body: { batch_id: '12345' } })).status).toBe(404)
  expect((await engine.jobs.list()).items).toMatchObject([{ id }])
  expect(await ask('POST', '/api/v1/queues/mail/clear')).toMatchObject({
    status: 200,
    body: { queue: 'mail', cancelled: 1, done: true },
  })
  expect(await engine.job(id)).toMatchObject({ state: 'cancelled' })
  expect((await ask('POST', '/api/v1/queues/male/clear')).status).toBe(404)
})
