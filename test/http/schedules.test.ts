import { expect, test } from 'vitest'
import { defineJob, defineSchedule, minutes } from '../../src/index.ts'
import { doorWith } from './support.ts'

const sweep = defineJob({ kind: 'sweep', queue: 'nightly', run: () => 'ok' })
const nightly = defineSchedule({
  name: 'nightly',
  job: sweep,
  cron: '0 4 * * *',
  timeZone: 'America/Sao_Paulo',
})
const often = defineSchedule({ name: 'often', job: sweep, every: minutes(5), options: { key: 'one' } })

test('schedules are listed with their recurrences', async () => {
  const { ask } = await doorWith([], { schedules: [often, nightly] })
  expect((await ask('GET', '/api/v1/schedules')).body).toMatchObject({
    items: [
      { name: 'nightly', kind: 'sweep', cron: '0 4 * * *', time_zone: 'America/Sao_Paulo', last_job: null },
      { name: 'often', every_ms: 300_000 },
    ],
    next: null,
  })
})

test('one of them is run now: 201 with its job, 200 with the job that holds its key', async () => {
  const { ask, engine, run } = await doorWith([], { schedules: [often, nightly] })
  const made = await ask('POST', '/api/v1/schedules/often/run')
  expect(made).toMatchObject({ status: 201, body: { created: true } })
  expect(await ask('POST', '/api/v1/schedules/often/run')).toMatchObject({
    status: 200,
    body: { id: made.body.id, created: false },
  })
  await run()
  expect(await engine.job(made.body.id)).toMatchObject({ state: 'succeeded' })
})

test.each(['nigthly', '%00', 'x'.repeat(300)])('a schedule that is not there is 404: %s', async name => {
  const { ask } = await doorWith([], { schedules: [nightly] })
  expect(await ask('POST', `/api/v1/schedules/${name}/run`)).toMatchObject({
    status: 404,
    body: { error: { code: 'unknown_schedule' } },
  })
})

test('a schedule whose queue is full is 429', async () => {
  const { ask } = await doorWith([], { schedules: [nightly], limits: { nightly: { maxDepth: 1 } } })
  expect((await ask('POST', '/api/v1/schedules/nightly/run')).status).toBe(201)
  expect(await ask('POST', '/api/v1/schedules/nightly/run')).toMatchObject({
    status: 429,
    body: { error: { code: 'queue_full' } },
  })
})
