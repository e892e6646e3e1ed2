/** Every list is read a page at a time, also those that are short. */
import { expect, test } from 'vitest'
import { defineGuard, defineJob, defineSchedule, hours, minutes } from '../../src/index.ts'
import { doorWith } from './support.ts'

const lists = ['jobs', 'batches', 'queues', 'workers', 'providers', 'schedules', 'guards', 'tokens'] as const

const jobs = ['a', 'b', 'c'].map(kind => defineJob({ kind, queue: `queue-${kind}`, run: () => kind }))
const schedules = jobs.map(job => defineSchedule({ name: `every-${job.kind}`, job, every: hours(1) }))
const guards = jobs.map(({ kind }) =>
  defineGuard({
    name: `guard-${kind}`,
    table: `table_${kind}`,
    status: { column: 'status', running: 'PROCESSING' },
    signal: 'updated_at',
    after: minutes(10),
    set: { status: 'FAILED' },
  }),
)

test('a limit that is none, a cursor that is none and a name that is not known are 400 on every list', async () => {
  const { ask } = await doorWith()
  const wrong = { 'limit=0': 'limit', 'limit=501': 'limit', 'after=never-a-cursor': 'after', 'limt=5': 'limt' }
  for (const list of lists)
    for (const [query, field] of Object.entries(wrong))
      expect(await ask('GET', `/api/v1/${list}?${query}`), `${list} ${query}`).toMatchObject({
        status: 400,
        body: { error: { field } },
      })
})

test.each([
  ['queues', 'queue', ['queue-a', 'queue-b', 'queue-c']],
  ['schedules', 'name', ['every-a', 'every-b', 'every-c']],
  ['guards', 'name', ['guard-a', 'guard-b', 'guard-c']],
])('%s are all told, a page at a time', async (list, name, all) => {
  const { ask, engine } = await doorWith(jobs, { schedules, guards })
  for (const job of jobs) await engine.enqueue(job, undefined)
  const seen: string[] = []
  for (let next: string | null = ''; next !== null; ) {
    const { body } = await ask('GET', `/api/v1/${list}?limit=2${next === '' ? '' : `&after=${next}`}`)
    expect(body.items.length).toBeLessThanOrEqual(2)
    seen.push(...body.items.map((each: Record<string, string>) => each[name]))
    next = body.next
  }
  expect(seen).toEqual(all)
})
