import { jest } from '@jest/globals'
import { defineJob } from 'retoma'
import { testEngine } from 'retoma/testing'

jest.setTimeout(300_000)

const handler = new URL('./handler.mjs', import.meta.url)
const jobs = [
  defineJob({ kind: 'inline', run: (_, { name }) => `Hello, ${name}` }),
  defineJob({ kind: 'process', handler, isolation: 'process' }),
]

test.each(jobs)('the result of $kind', async job => {
  const t = await testEngine({ jobs, serverUrl: process.env.SERVER_URL })
  const { id } = await t.engine.enqueue(job, { name: 'Ana' })
  await t.run()
  expect(await t.engine.job(id)).toMatchObject({ state: 'succeeded', result: 'Hello, Ana' })
  await t.close()
})
