/** Large inputs, results and errors: lists leave them out in the database, with their size and a link to the whole. */
import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineBatch, defineJob, doNotRetry } from '../../src/index.ts'
import { doorWith } from './support.ts'

const kilobyte = 1024
/** Not to be compressed, and to be compressed to less than a list shows. */
const pads = [randomBytes(50 * kilobyte).toString('base64'), 'x'.repeat(100 * kilobyte)]

const echo = defineJob({
  kind: 'echo',
  queue: 'large',
  maxAttempts: 1,
  input: z.object({ pad: z.string(), fails: z.boolean().optional() }),
  async run(ctx, { pad, fails }) {
    await ctx.progress({ done: 1, note: pad.slice(0, 100) })
    if (fails) throw doNotRetry(Object.assign(new Error(pad), { stack: `Error\n${pad}` }))
    return { pad }
  },
})
const echoes = defineBatch({ name: 'echoes', job: echo })

const many = 30

async function stage() {
  const door = await doorWith([echo], { batches: [echoes] })
  const items = Array.from({ length: many }, (_, n) => ({ pad: pads[n % 2]!, fails: n % 3 === 0 }))
  const { body } = await door.ask('POST', '/api/v1/batches', { body: { name: 'echoes', items } })
  await door.run()
  return { ...door, batch: body.id as string }
}

test('a list of jobs leaves out what is large, says how large it is, and where the whole of it is', async () => {
  const { ask, fetch, batch, engine } = await stage()
  const lists = [
    '/api/v1/jobs',
    '/api/v1/jobs?state=failed',
    `/api/v1/jobs?batch_id=${batch}`,
    `/api/v1/batches/${batch}/items`,
  ]
  for (const path of [...lists, `/api/v1/batches/${batch}/items?state=failed`]) {
    const { body } = await ask('GET', `${path}${path.includes('?') ? '&' : '?'}limit=500`)
    expect(body.items.length, path).toBe(path.includes('failed') ? many / 3 : many)
    expect(JSON.stringify(body).length, path).toBeLessThan(many * 8 * kilobyte)
    for (const { id, input, result, omitted, error, state } of body.items) {
      expect([input, result]).toEqual([null, null])
      expect(omitted.input).toEqual({ bytes: expect.any(Number), href: `/api/v1/jobs/${id}` })
      expect(Object.keys(omitted)).toEqual(state === 'failed' ? ['error', 'input'] : ['input', 'result'])
      if (state === 'failed') expect([error.message.length, error.stack.length]).toEqual([2000, 2000])
    }
  }
  const [first] = (await engine.jobs.list({ state: 'succeeded', limit: 1 })).items
  expect(first).toMatchObject({
    input: null,
    result: null,
    omitted: { input: expect.any(Number), result: expect.any(Number) },
  })
  const whole = (await ask('GET', `/api/v1/jobs/${first!.id}`)).body
  expect(pads).toContain(whole.input.pad)
  expect(whole.result).toEqual({ pad: whole.input.pad })
  expect(whole).not.toHaveProperty('omitted')
  const page = await fetch(new Request(`http://127.0.0.1:3000/api/v1/batches/${batch}/failures?limit=500`))
  const { items } = (await page.json()) as { items: { message: string; omitted: object }[] }
  expect(items.map(each => each.message.length)).toEqual(new Array(many / 3).fill(2000))
  expect(items[0]!.omitted).toEqual({
    error: { bytes: expect.any(Number), href: expect.stringContaining('/api/v1/jobs/') },
  })
})

test('what is small is in a list as it is, and nothing is said to be left out', async () => {
  const { ask, run } = await doorWith([echo])
  await ask('POST', '/api/v1/jobs', { body: { kind: 'echo', input: { pad: 'short' } } })
  await run()
  const { body } = await ask('GET', '/api/v1/jobs')
  expect(body.items).toMatchObject([{ input: { pad: 'short' }, result: { pad: 'short' }, omitted: null }])
})

test('a job that failed thousands of times shows its last thousand failures, and the stacks of the last hundred', async () => {
  const { ask, engine, run } = await doorWith([echo])
  const { id } = (await ask('POST', '/api/v1/jobs', { body: { kind: 'echo', input: { pad: 'a', fails: true } } })).body
  await run()
  await engine.transaction(tx =>
    tx.query(
      `insert into retoma.failure (job_id, attempt, failure_type, message, stack, at)
       select $1, n, 'error', repeat('m', 10000), repeat('s', 20000), now() from generate_series(2, 3000) n`,
      [id],
    ),
  )
  const { history } = (await ask('GET', `/api/v1/jobs/${id}`)).body
  expect([history.length, history[0].attempt, history.at(-1).attempt]).toEqual([1000, 2001, 3000])
  expect(history.filter((each: { stack: string | null }) => each.stack !== null)).toHaveLength(100)
})
