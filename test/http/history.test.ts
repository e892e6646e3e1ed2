/** The history of the queues and the log lines of a job over HTTP. */
import { expect, test } from 'vitest'
import { defineJob, minutes, seconds } from '../../src/index.ts'
import { until } from '../support/engine.ts'
import { listenTo } from './sse-client.ts'
import { doorWith } from './support.ts'

const noisy = defineJob({
  kind: 'noisy',
  queue: 'mail',
  run(ctx) {
    for (let n = 1; n <= 3; n++) ctx.log.info({ n, markup: '<b>' }, `line ${n}`)
  },
})

test('the history has the points of each queue and their sum, in the words of the API', async () => {
  const { ask, engine, run, clock } = await doorWith([noisy])
  await engine.enqueue(noisy, undefined)
  await clock.advance(minutes(2))
  await run()
  const { status, body } = await ask('GET', '/api/v1/stats/history?queue=mail&step=60')
  expect(status).toBe(200)
  expect(body).toMatchObject({ step_seconds: 60, queues: [{ queue: 'mail' }] })
  expect(body.total).toEqual(body.queues[0].points)
  expect(body.total).toMatchObject([
    { started: 1, succeeded: 1, failed: 0, duration: { count: 1 }, waiting: { count: 1, mean_seconds: 120 } },
  ])
  expect(body.bucket_seconds).toHaveLength(25)
  expect(body.total[0].waiting.buckets).toHaveLength(26)
  const later = new Date(clock.now().getTime() + minutes(1)).toISOString()
  expect((await ask('GET', `/api/v1/stats/history?from=${later}&to=2030-01-01T13:00:00Z&step=60`)).body.queues).toEqual(
    [],
  )
})

test.each([
  ['step=90', 'step'],
  ['step=abc', 'step'],
  ['from=yesterday', 'from'],
  ['from=2030-01-01T00:00:00Z&to=2029-01-01T00:00:00Z', 'from'],
  ['from=2029-12-01T00:00:00Z&step=60', 'step'],
  ['colour=red', 'colour'],
])('a query that is not usable is 400 and names the field: %s', async (query, field) => {
  const { ask } = await doorWith([noisy])
  const { status, body } = await ask('GET', `/api/v1/stats/history?${query}`)
  expect(status).toBe(400)
  expect(body.error.message).toContain(field)
})

test('the log lines of a job come page by page, and in the stream of the job if the client asks for lines', async () => {
  const door = await doorWith([noisy])
  const { id } = await door.engine.enqueue(noisy, undefined)
  await door.run()
  const first = await door.ask('GET', `/api/v1/jobs/${id}/logs?limit=2`)
  expect(first.body).toMatchObject({
    items: [
      { attempt: 1, n: 1, level: 'info', message: 'line 1', facts: { n: 1, markup: '<b>' } },
      { attempt: 1, n: 2 },
    ],
    next: '1.2',
  })
  expect((await door.ask('GET', `/api/v1/jobs/${id}/logs?after=1.2`)).body).toMatchObject({
    items: [{ n: 3 }],
    next: null,
  })
  expect((await door.ask('GET', `/api/v1/jobs/${id}/logs?after=tomorrow`)).body).toMatchObject({
    error: { code: 'bad_option', option: 'after' },
  })
  const path = `http://127.0.0.1:3000/api/v1/jobs/${id}/events`
  const { heard } = await listenTo(`${path}?logs=true`, { fetch: door.fetch })
  await until(async () => {
    await door.clock.advance(seconds(0.3))
    return heard.some(each => each.event === 'state')
  })
  const lines = heard.filter(each => each.event === 'log').flatMap(each => each.data.lines)
  expect(lines).toMatchObject([{ n: 1, message: 'line 1', at: first.body.items[0].at }, { n: 2 }, { n: 3 }])
})
