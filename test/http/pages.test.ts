/** Lists are read to their end page by page: every entry comes once, whatever the number of digits of its id. */
import { expect, test } from 'vitest'
import { sqlOf } from '../support/providers.ts'
import { batchDoor, submitted } from './batch-support.ts'
import type { Door } from './support.ts'

interface Entry {
  id: string
  /** Of a failure: the item that failed. */
  item?: string
}

/** Every entry of a list, read by pages of `limit`. */
async function everyPage(ask: Door['ask'], path: string, limit: number): Promise<Entry[]> {
  const entries: Entry[] = []
  for (let next: string | null = ''; next !== null; ) {
    const after: string = next === '' ? '' : `&after=${encodeURIComponent(next)}`
    const { status, body } = await ask('GET', `${path}${path.includes('?') ? '&' : '?'}limit=${limit}${after}`)
    expect(status).toBe(200)
    entries.push(...body.items)
    next = body.next
    expect(entries.length, 'a page repeats entries').toBeLessThan(1000)
  }
  return entries
}

const numbers = (entries: readonly { id: string }[]): number[] => entries.map(each => Number(each.id))
const descending = (ids: readonly number[]): number[] => ids.toSorted((a, b) => b - a)

test('every job, batch, item and failure is in the pages of its list once, across ids of two, three and four digits', async () => {
  const door = await batchDoor()
  const { ask } = door
  for (const start of [4, 94, 994]) {
    await sqlOf(
      door,
      `delete from retoma.batch_count; delete from retoma.batch_chunk; delete from retoma.batch; delete from retoma.job;
       select setval('retoma.job_id_seq', ${start})`,
    )
    const items = Array.from({ length: 13 }, (_, n) => ({ n, fails: `broken ${n}` }))
    const large = await submitted(ask, items)
    const batches = [Number(large)]
    for (let n = 0; n < 12; n++) batches.push(Number(await submitted(ask, [{ n }])))
    await door.run()
    expect(numbers(await everyPage(ask, '/api/v1/batches', 5))).toEqual(descending(batches))
    const jobs = await sqlOf<{ id: string }>(door, 'select id::text as id from retoma.job j order by j.id')
    expect(jobs.length).toBe(25)
    expect(numbers(await everyPage(ask, '/api/v1/jobs', 5))).toEqual(descending(numbers(jobs)))
    expect(numbers(await everyPage(ask, '/api/v1/jobs?state=failed', 5)).length).toBe(13)
    const own = await everyPage(ask, `/api/v1/batches/${large}/items`, 5)
    expect(numbers(own)).toEqual(numbers(own).toSorted((a, b) => a - b))
    expect(new Set(numbers(own)).size).toBe(13)
    const failures = await everyPage(ask, `/api/v1/batches/${large}/failures`, 5)
    expect(failures.map(each => each.item).toSorted()).toEqual(own.map(each => each.id).toSorted())
  }
})

test('every token is in the pages of the list once, across ids of two and three digits', async () => {
  const door = await batchDoor()
  const { engine } = door
  await sqlOf(door, `select setval('retoma.token_id_seq', 93)`)
  const made: number[] = []
  let token = ''
  for (let n = 0; n < 13; n++) {
    const each = await engine.tokens.create({ user: `u${n}`, role: 'admin' })
    made.push(Number(each.id))
    token = each.token
  }
  const asAdmin: Door['ask'] = (method, path, more) => door.ask(method, path, { ...more, token })
  expect(numbers(await everyPage(asAdmin, '/api/v1/tokens', 5))).toEqual(descending(made))
})
