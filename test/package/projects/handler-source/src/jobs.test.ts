import { testEngine } from 'retoma/testing'
import { expect, test } from 'vitest'
import { inline, inProcess, thread } from './jobs.js'

const jobs = [inline, thread, inProcess]

test.each(jobs)('the handler runs with isolation $kind', async job => {
  const t = await testEngine({ jobs, serverUrl: process.env.SERVER_URL! })
  const { id } = await t.engine.enqueue(job, { name: 'Ana' })
  await t.run()
  const ended = await t.engine.job(id, job)
  await t.close()
  expect(ended).toMatchObject({ error: null, result: { greeting: 'Hello, Ana', file: 'greet.ts' } })
})
