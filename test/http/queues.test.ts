import { expect, test } from 'vitest'
import { defineJob, minutes } from '../../src/index.ts'
import { doorWith } from './support.ts'

const letter = defineJob({ kind: 'letter', queue: 'post', run: () => 'ok' })

test('queues are listed with what waits in them, and with their limits', async () => {
  const limits = {
    post: {
      concurrency: 2,
      rate: { limit: 5, per: minutes(1) },
      perGroup: { concurrency: 1, admit: { limit: 3, per: minutes(2) } },
      maxDepth: 9,
    },
  }
  const { ask, engine } = await doorWith([letter], { limits })
  await engine.enqueue(letter, undefined)
  await engine.enqueue(letter, undefined, { delay: minutes(5) })
  expect(await ask('GET', '/api/v1/queues')).toMatchObject({
    status: 200,
    body: {
      items: [
        {
          queue: 'post',
          paused: false,
          ready: 1,
          scheduled: 1,
          running: 0,
          stalled: 0,
          limits: {
            concurrency: 2,
            rate: { limit: 5, per_ms: 60_000 },
            per_group: { concurrency: 1, admit: { limit: 3, per_ms: 120_000 } },
            max_depth: 9,
          },
        },
      ],
      next: null,
    },
  })
})

test('a queue is paused and goes on, and a repeated call changes nothing', async () => {
  const { ask, engine, run } = await doorWith([letter])
  await engine.enqueue(letter, undefined)
  const act = async (action: string) => (await ask('POST', `/api/v1/queues/post/${action}`)).body
  expect(await act('pause')).toEqual({ queue: 'post', paused: true, changed: true })
  expect(await act('pause')).toEqual({ queue: 'post', paused: true, changed: false })
  expect(await run()).toBe(0)
  expect(await act('resume')).toEqual({ queue: 'post', paused: false, changed: true })
  expect(await run()).toBe(1)
})

test('the limits of a queue are replaced, for jobs that wait too, and {} removes them', async () => {
  const { ask, engine, run } = await doorWith([letter])
  await engine.enqueueMany(letter, [undefined, undefined, undefined])
  const set = (body: object) => ask('PUT', '/api/v1/queues/post/limits', { body })
  const limits = {
    rate: { limit: 1, per_ms: 60_000 },
    per_group: {
      concurrency: 1,
      admit: { limit: 3, per_ms: 120_000 },
      'tenant-7': { concurrency: 10, rate: { limit: 5, per_ms: 1000 } },
    },
    fair: 'group',
    weights: { 'tenant-7': 3 },
    max_depth: 9,
  }
  expect(await set(limits)).toMatchObject({ status: 200, body: { queue: 'post', limits, changed: true } })
  expect((await set(limits)).body).toEqual({ queue: 'post', limits, changed: false })
  expect((await ask('GET', '/api/v1/queues')).body.items).toMatchObject([{ queue: 'post', limits }])
  expect(await run()).toBe(1)
  expect((await set({})).body).toEqual({ queue: 'post', limits: {}, changed: true })
  expect(await run()).toBe(2)
})

test('the limits of a queue are for admins', async () => {
  const { ask, engine } = await doorWith([letter])
  await engine.enqueue(letter)
  const { token: operator } = await engine.tokens.create({ user: 'rui', role: 'operator' })
  const { token: admin } = await engine.tokens.create({ user: 'ana', role: 'admin' })
  const set = (token: string) =>
    ask('PUT', '/api/v1/queues/post/limits', {
      body: { concurrency: 1 },
      token,
    })
  expect((await set(operator)).status).toBe(403)
  expect((await set(admin)).status).toBe(200)
})

test('limits that cannot be are 400 with the field, and nothing changes', async () => {
  const { ask } = await doorWith([letter], { limits: { post: { concurrency: 2 } } })
  const set = (body: object) => ask('PUT', '/api/v1/queues/post/limits', { body })
  for (const body of [
    { concurrency: 0 },
    { concurency: 1 },
    { rate: { limit: 1 } },
    { rate: { limit: 1, per_ms: 1 } },
    { max_depth: -1 },
    { per_group: { concurency: 1 } },
    { per_group: { 'tenant-7': { concurrency: 0 } } },
    { per_group: { 'tenant-7': { admit: { limit: 3, per_ms: 120_000 } } } },
    { fair: 'tenant' },
    { fair: 'batch', per_group: { concurrency: 1 } },
    { fair: 'group', weights: { a: 0 } },
    { weights: { a: 2 } },
  ])
    expect(await set(body), JSON.stringify(body)).toMatchObject({ status: 400 })
  expect((await ask('GET', '/api/v1/queues')).body.items).toMatchObject([{ limits: { concurrency: 2 } }])
})

test.each(['nothing', '%00', '%F0%9F%92%A9', 'a%2Fb', 'x'.repeat(300)])(
  'a queue that is not there is 404: %s',
  async name => {
    const { ask } = await doorWith([letter])
    for (const action of ['pause', 'resume'])
      expect(await ask('POST', `/api/v1/queues/${name}/${action}`)).toMatchObject({
        status: 404,
        body: { error: { code: 'not_found' } },
      })
    expect(await ask('PUT', `/api/v1/queues/${name}/limits`, { body: { concurrency: 1 } })).toMatchObject({
      status: 404,
      body: { error: { code: 'not_found' } },
    })
    for (const method of ['GET', 'POST'])
      expect(await ask(method, `/api/v1/queues/${name}/explain`)).toMatchObject({
        status: 404,
        body: { error: { code: 'unknown_queue' } },
      })
  },
)

test('why nothing of a queue is taken is explained', async () => {
  const { ask, engine } = await doorWith([letter])
  await engine.enqueue(letter, undefined)
  await engine.queues.pause('post')
  for (const method of ['GET', 'POST'])
    expect((await ask(method, '/api/v1/queues/post/explain')).body).toMatchObject({ verdict: 'paused' })
})

test('the queue of notices takes no other job, and only an admin may hold the notices back', async () => {
  expect(() => defineJob({ kind: 'mine', queue: 'retoma-notify', run: () => null })).toThrow(/belongs to the engine/)
  const { ask, engine } = await doorWith([letter], { notify: { url: 'http://127.0.0.1:9/' } })
  await expect(engine.enqueue(letter, undefined, { queue: 'retoma-notify' })).rejects.toMatchObject({
    code: 'bad_option',
  })
  const body = { kind: 'letter', queue: 'retoma-notify' }
  expect(await ask('POST', '/api/v1/jobs', { body })).toMatchObject({ status: 400 })
  await engine.query(`insert into retoma.queue (name) values ('retoma-notify') on conflict do nothing`)
  const tokenOf = async (role: 'operator' | 'admin') => (await engine.tokens.create({ user: role, role })).token
  const [operator, admin] = [await tokenOf('operator'), await tokenOf('admin')]
  for (const [method, action, sent] of [
    ['POST', 'pause', undefined],
    ['POST', 'resume', undefined],
    ['POST', 'clear', {}],
    ['PUT', 'limits', {}],
  ] as const) {
    const path = `/api/v1/queues/retoma-notify/${action}`
    expect((await ask(method, path, { body: sent, token: operator })).status, action).toBe(403)
    expect((await ask(method, path, { body: sent, token: admin })).status, action).toBe(200)
  }
})
