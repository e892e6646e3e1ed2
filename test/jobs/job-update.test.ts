/** A waiting job is changed; jobs are erased by a filter; a queue is cleared. */
import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineBatch, defineJob, hours, minutes } from '../../src/index.ts'
import { auditBatches } from '../support/batches.ts'
import { engineOf, gate } from '../support/engine.ts'

const ran: string[] = []
const mail = defineJob({
  kind: 'mail',
  queue: 'out',
  version: 3,
  input: z.object({ to: z.string() }),
  maxAttempts: 2,
  async run(ctx, { to }) {
    await ctx.step('look up', () => to.length)
    if (to === 'fail') throw new Error('no')
    ran.push(to)
    return to
  },
})
const pile = defineBatch({ name: 'pile', job: mail })
const engine = () => engineOf({ jobs: [mail], batches: [pile] })

test('a waiting job gets another start, another priority and another input, and runs with them', async () => {
  const t = await engine()
  const first = await t.engine.enqueue(mail, { to: 'ana' }, { delay: hours(5), priority: 9 })
  const other = await t.engine.enqueue(mail, { to: 'bia' })
  const changes = { runAt: t.clock.now(), priority: 0, input: { to: 'eva' } }
  expect(await t.engine.jobs.update(first.id, changes, { by: 'ana' })).toEqual({
    id: first.id,
    state: 'waiting',
    changed: true,
  })
  expect(await t.engine.job(first.id)).toMatchObject({
    priority: 0,
    input: { to: 'eva' },
    version: 3,
    runAt: t.clock.now(),
    events: [{ type: 'action', data: { who: 'ana', what: 'update' } }],
  })
  await t.engine.jobs.update(other.id, { delay: minutes(5) })
  ran.length = 0
  await t.run()
  expect(ran).toEqual(['eva'])
  await t.clock.advance(minutes(5))
  await t.run()
  expect(ran).toEqual(['eva', 'bia'])
})

test('a job that has started meanwhile, or has ended, is not changed', async () => {
  const { open, passed } = gate()
  const hold = defineJob({ kind: 'hold', run: () => passed })
  const t = await engineOf({ jobs: [hold] })
  const { id } = await t.engine.enqueue(hold)
  const running = t.run()
  await expect.poll(async () => (await t.engine.job(id))!.state).toBe('running')
  await expect(t.engine.jobs.update(id, { priority: 0 })).rejects.toMatchObject({ code: 'wrong_state' })
  await expect(t.engine.jobs.update(id, { input: 5 })).rejects.toMatchObject({ code: 'wrong_state' })
  open()
  await running
  await expect(t.engine.jobs.update(id, { priority: 0 })).rejects.toMatchObject({ code: 'wrong_state' })
  await expect(t.engine.jobs.update('999999', { priority: 0 })).rejects.toMatchObject({ code: 'not_found' })
  expect(await t.engine.job(id)).toMatchObject({ priority: 4 })
})

test('an input is refused if the schema refuses it, or if steps of the present input are saved', async () => {
  const t = await engine()
  const { id } = await t.engine.enqueue(mail, { to: 'fail' })
  await expect(t.engine.jobs.update(id, { input: { to: 5 } })).rejects.toMatchObject({ code: 'bad_input' })
  await expect(t.engine.jobs.update(id, {})).rejects.toMatchObject({ code: 'bad_option' })
  await t.run()
  expect(await t.engine.job(id)).toMatchObject({ state: 'waiting', failures: 1 })
  await expect(t.engine.jobs.update(id, { input: { to: 'eva' } })).rejects.toMatchObject({ code: 'steps_saved' })
  expect(await t.engine.jobs.update(id, { priority: 1 })).toMatchObject({ changed: true })
  expect(await t.engine.job(id)).toMatchObject({ priority: 1, input: { to: 'fail' } })
})

test('a filter erases final jobs only, those of batches too, in bounded chunks and with a count', async () => {
  const t = await engine()
  const many = Array.from({ length: 2300 }, () => ({ to: 'ana' }))
  await t.engine.enqueueMany(mail, many)
  const batch = await t.engine.submit(pile, [{ to: 'bia' }])
  await t.run()
  await t.engine.enqueueMany(mail, many.slice(0, 3))
  expect(await t.engine.jobs.eraseMany({ kind: 'mail' }, { dryRun: true })).toMatchObject({ changed: 2301, done: true })
  expect(await t.engine.jobs.eraseMany({ kind: 'mail', state: 'failed' })).toMatchObject({ changed: 0 })
  expect(await t.engine.jobs.eraseMany({ kind: 'mail' })).toEqual({
    changed: 2301,
    conflicts: 0,
    done: true,
    next: null,
  })
  expect((await t.engine.jobs.list({ limit: 500 })).items.map(job => job.state)).toEqual([
    'waiting',
    'waiting',
    'waiting',
  ])
  expect(await t.engine.batch(batch.id)).toMatchObject({ succeeded: 1 })
  await expect(t.engine.jobs.eraseMany({ kind: 'mail' }, { after: 'x' })).rejects.toMatchObject({ code: 'bad_option' })
  await expect(t.engine.jobs.eraseMany({ kind: 'mail', state: 'waiting' })).rejects.toMatchObject({
    code: 'bad_option',
  })
  await expect(t.engine.jobs.eraseMany({ knd: 'mail' } as never)).rejects.toMatchObject({ code: 'bad_option' })
  await expect(t.engine.jobs.eraseMany({})).rejects.toMatchObject({ code: 'bad_option' })
})

test('the log names who erased a job, jobs or a batch', async () => {
  const lines: { by?: string }[] = []
  const write = (line: object) => void lines.push(line as { by?: string })
  const log = { debug() {}, info: write, warn: write, error: write }
  const t = await engineOf({ batches: [pile], jobs: [mail], log: { ...log, child: () => log } as never })
  const one = await t.engine.enqueue(mail, { to: 'ana' })
  await t.engine.enqueueMany(mail, [{ to: 'ana' }, { to: 'bia' }])
  const batch = await t.engine.submit(pile, [{ to: 'bia' }])
  await t.run()
  lines.length = 0
  await t.engine.jobs.erase(one.id, { by: 'eva' })
  await t.engine.batches.erase(batch.id, { by: 'rui' })
  await t.engine.jobs.eraseMany({ kind: 'mail' }, { by: 'léo' })
  await t.engine.jobs.erase(one.id, { by: 'nobody' })
  expect(lines.filter(each => each.by !== undefined)).toMatchObject([
    { job: one.id, by: 'eva' },
    { batch: batch.id, by: 'rui' },
    { jobs: 2, by: 'léo' },
  ])
})

test.each([{}, { out: { concurrency: 5 } }])(
  'a queue is cleared of what waits, jobs for later and items included: %o',
  async limits => {
    const t = await engineOf({ jobs: [mail], batches: [pile], limits })
    const many = Array.from({ length: 1200 }, () => ({ to: 'ana' }))
    await t.engine.enqueueMany(mail, many)
    await t.engine.enqueue(mail, { to: 'later' }, { delay: hours(1), priority: 0 })
    const batch = await t.engine.submit(pile, [{ to: 'bia' }])
    const elsewhere = await t.engine.enqueue(mail, { to: 'eva' }, { queue: 'bulk' })
    expect(await t.engine.queues.clear('out', { dryRun: true })).toEqual({ queue: 'out', cancelled: 1202, done: true })
    expect(await t.engine.queues.clear('out', { by: 'ana' })).toEqual({ queue: 'out', cancelled: 1202, done: true })
    expect(await t.engine.queues.clear('out')).toEqual({ queue: 'out', cancelled: 0, done: true })
    expect(await t.engine.job(elsewhere.id)).toMatchObject({ state: 'waiting' })
    expect(await t.engine.batch(batch.id)).toMatchObject({ cancelled: 1, state: 'completed_with_failures' })
    expect(await auditBatches(t.databaseUrl)).toEqual([])
    await expect(t.engine.queues.clear('outt')).rejects.toMatchObject({ code: 'not_found' })
  },
)
