/** The log lines of a job: the last 200 of an attempt are kept with the job, without secrets, and go with the job. */
import { expect, test } from 'vitest'
import { writeJobLogs } from '../../src/execution/sql/job-log-rows.ts'
import { defineJob, seconds } from '../../src/index.ts'
import { createLog } from '../../src/lib/logging/log.ts'
import { engineOf, engineWith, gate, liveEngine, timePasses } from '../support/engine.ts'
import { linkLost } from '../support/faulty-db.ts'
import { faultyWorker } from '../support/faulty-worker.ts'
import { at, storeForFile } from '../support/store.ts'

const store = storeForFile()

test('lines are kept with level, time, message and facts, without secrets and stacks; debug lines are not', async () => {
  const job = defineJob({
    kind: 'k',
    run(ctx) {
      ctx.log.debug('not kept')
      ctx.log.info('plain')
      ctx.log.warn({ token: 'S1', n: 7, deep: { password: 'S2' } }, 'see https://x.example/?api_key=S3')
      ctx.log.error({ err: Object.assign(new Error('S4 is a word'), { code: 'E_X' }) }, 'failed\u0000 \ud800')
    },
  })
  const t = await engineWith(job)
  const { id } = await t.engine.enqueue(job, undefined)
  await t.run()
  const { items, next } = await t.engine.jobs.logs(id)
  expect(next).toBeNull()
  expect(items).toMatchObject([
    { attempt: 1, n: 1, level: 'info', message: 'plain', facts: null, at: t.clock.now() },
    { attempt: 1, n: 2, level: 'warn', facts: { n: 7 } },
    { attempt: 1, n: 3, level: 'error', facts: { err: { message: 'S4 is a word', code: 'E_X' } } },
  ])
  expect(JSON.stringify(items)).not.toMatch(/S[123]|job-logs\.test/)
})

test('a long log keeps its last 200 lines, a line its beginning, and all lines together at most 64,000 characters', async () => {
  const job = defineJob<string>({
    kind: 'k',
    run(ctx, what) {
      if (what === 'many') for (let n = 1; n <= 1000; n++) ctx.log.info(`line ${n}`)
      else for (let n = 1; n <= 100; n++) ctx.log.info({ big: 'y'.repeat(5000) }, 'x'.repeat(5000))
    },
  })
  const t = await engineWith(job)
  const many = await t.engine.enqueue(job, 'many')
  const long = await t.engine.enqueue(job, 'long')
  await t.run()
  const { items } = await t.engine.jobs.logs(many.id, { limit: 500 })
  expect(items.map(each => each.n)).toEqual(Array.from({ length: 200 }, (_, n) => 801 + n))
  const { items: lines } = await t.engine.jobs.logs(long.id, { limit: 500 })
  expect(lines.length).toBeGreaterThan(10)
  expect(JSON.stringify(lines).length).toBeLessThan(75_000)
  expect(lines.at(-1)).toMatchObject({
    n: 100,
    message: 'x'.repeat(1000),
    facts: { cut: expect.stringMatching(/^.{2000}$/) },
  })
})

test('a running attempt stores its lines about once a second, in one statement for all attempts', async () => {
  const over = gate()
  const lines = gate()
  const job = defineJob({
    kind: 'k',
    queue: 'q',
    async run(ctx) {
      ctx.log.info('begun')
      await lines.passed
      ctx.log.info('goes on')
      await over.passed
    },
  })
  const t = await engineWith(job)
  await t.engine.work()
  const ids: string[] = []
  for (let n = 0; n < 3; n++) ids.push((await t.engine.enqueue(job, undefined)).id)
  const countOf = async () =>
    (await Promise.all(ids.map(id => t.engine.jobs.logs(id)))).flatMap(each => each.items).length
  await timePasses(t.clock, async () => (await countOf()) === 3)
  lines.open()
  await timePasses(t.clock, async () => (await countOf()) === 6)
  const writes = await t.engine.query<{ n: number }>(`select count(distinct xmin::text)::int as n from retoma.job_log`)
  expect(writes.rows).toEqual([{ n: 1 }])
  over.open()
})

test('a job keeps the lines of its last ten attempts with lines, and is listed page by page', async () => {
  const job = defineJob({
    kind: 'k',
    maxAttempts: 14,
    backoff: { first: seconds(1), factor: 1, max: seconds(1), jitter: 0 },
    run(ctx) {
      ctx.log.info(`attempt ${ctx.attempt}`)
      ctx.log.info('again')
      if (ctx.attempt < 14) throw new Error('not yet')
    },
  })
  const t = await engineWith(job)
  const { id } = await t.engine.enqueue(job, undefined)
  for (let n = 0; n < 14; n++) {
    await t.run()
    await t.clock.advance(seconds(2))
  }
  const pages: string[] = []
  for (let after: string | undefined; ; ) {
    const { items, next } = await t.engine.jobs.logs(id, { limit: 7, ...(after === undefined ? {} : { after }) })
    pages.push(...items.map(({ attempt, n }) => `${attempt}.${n}`))
    if (next === null) break
    after = next
  }
  expect(pages).toEqual(Array.from({ length: 20 }, (_, n) => `${5 + Math.floor(n / 2)}.${1 + (n % 2)}`))
  expect((await t.engine.jobs.logs(id, { attempt: 9 })).items).toMatchObject([{ attempt: 9 }, { attempt: 9 }])
  await expect(t.engine.jobs.logs('987654321')).rejects.toMatchObject({ code: 'not_found' })
  await expect(t.engine.jobs.logs(id, { after: '9' })).rejects.toMatchObject({ code: 'bad_option' })
})

test('a write that is repeated or comes late changes nothing, and a deleted job gets no lines', async () => {
  const [id, gone] = await store.putMany(2, 'running')
  const write = (count: number, lines: string) => writeJobLogs(store.db, [{ id: id!, attempt: 1, count, lines }], at(0))
  await write(2, '["a","b"]')
  await write(1, '["a"]')
  await write(2, '["z"]')
  expect(await store.sql(`select line_count, lines from retoma.job_log`)).toEqual([
    { line_count: 2, lines: ['a', 'b'] },
  ])
  await store.sql(`delete from retoma.job where id = $1`, [gone])
  await writeJobLogs(store.db, [{ id: gone!, attempt: 1, count: 1, lines: '[]' }], at(0))
  await store.sql(`delete from retoma.job where id = $1`, [id])
  expect(await store.sql(`select 1 from retoma.job_log`)).toEqual([])
})

test.each(['before', 'after'] as const)(
  'a connection lost %s the lines are stored delays the outcome, and changes nothing',
  async when => {
    const w = await faultyWorker({
      run(ctx) {
        ctx.log.info('one')
        return 'done'
      },
    })
    w.db.fail('job_log_write', when, linkLost())
    const id = await w.enqueue()
    await w.begin()
    await w.settles(id)
    expect(await w.sql(`select line_count from retoma.job_log where job_id = $1`, [id])).toEqual([{ line_count: 1 }])
  },
)

test('with the setting off no line is kept, and the lines are in the log of the worker all the same', async () => {
  const written: string[] = []
  const log = createLog({ level: 'info', format: 'json', write: line => void written.push(line) })
  const job = defineJob({ kind: 'k', run: ctx => ctx.log.info('hello') })
  const { engine } = await liveEngine([job], { jobLogs: false, log })
  await engine.work()
  const { id } = await engine.enqueue(job, undefined)
  await engine.wait({ job: id })
  expect((await engine.jobs.logs(id)).items).toEqual([])
  expect(written.filter(line => line.includes('"hello"'))).toHaveLength(1)
})

test('a stream of a job with `logs` has each line once and in order, before the end, also for a reader that comes back', async () => {
  const steps = [gate(), gate(), gate()]
  const job = defineJob({
    kind: 'k',
    async run(ctx) {
      for (const [n, step] of steps.entries()) {
        await step.passed
        ctx.log.info(`line ${n}`)
      }
    },
  })
  const t = await engineOf({ jobs: [job] })
  await t.engine.work()
  const { id } = await t.engine.enqueue(job, undefined)
  const heard: string[] = []
  let position: string | undefined
  const read = async (until: string) => {
    for await (const event of t.engine.events({ job: id, logs: true, after: position })) {
      position = event.position
      if (event.type === 'log') heard.push(...event.data.lines.map(each => each.message))
      if (event.type === 'state') heard.push(event.data.to)
      if (heard.at(-1) === until) return
    }
  }
  const first = read('line 0')
  steps[0]!.open()
  await timePasses(t.clock, () => heard.includes('line 0'))
  await first
  steps[1]!.open()
  steps[2]!.open()
  const rest = read('succeeded')
  await timePasses(t.clock, () => heard.includes('succeeded'))
  await rest
  expect(heard.filter(each => each !== 'waiting' && each !== 'running')).toEqual([
    'line 0',
    'line 1',
    'line 2',
    'succeeded',
  ])
  const plain: string[] = []
  for await (const event of t.engine.events({ job: id, after: '0' })) plain.push(event.type)
  expect(plain).not.toContain('log')
  expect(() => t.engine.events({ logs: true } as never)).toThrow(/logs/)
})
