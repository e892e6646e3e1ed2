/** The actor is stored with every action. */
import { expect, test } from 'vitest'
import { defineBatch, defineGuard, defineJob, defineSchedule, minutes } from '../../src/index.ts'
import { engineOf } from '../support/engine.ts'
import { sqlOf } from '../support/events.ts'

const work = defineJob({
  kind: 'work',
  maxAttempts: 1,
  run() {
    throw new Error('no')
  },
})
const pile = defineBatch({ name: 'pile', job: work })
const nightly = defineSchedule({ name: 'nightly', job: work, every: minutes(5) })
const watch = defineGuard({
  name: 'watch',
  table: 'public.watched',
  status: { column: 'status', running: ['on'] },
  signal: 'seen',
  after: minutes(1),
  set: { status: 'off' },
})

test('every action notes its actor, and null without a name', async () => {
  const t = await engineOf({ jobs: [work], batches: [pile], schedules: [nightly], guards: [watch] })
  const { engine } = t
  const sql = await sqlOf(t)
  await sql(`create table if not exists public.watched (id int primary key, status text, seen timestamptz)`)
  const by = { by: 'ana' }

  const { id } = await engine.enqueue(work, undefined)
  await engine.jobs.cancel(id, by)
  await engine.jobs.retry(id, by)
  await engine.jobs.cancel(id)
  await engine.jobs.rerun(id, by)
  await engine.jobs.skip(id, 'enough', by)
  await engine.jobs.retry(id, by)
  await engine.jobs.fail(id, 'too old', { ...by, code: 'too_old' })
  expect(await engine.job(id)).toMatchObject({ state: 'failed', error: { message: 'too old', code: 'too_old' } })
  await expect(engine.jobs.fail(id, '')).rejects.toThrow(/bad_option/)
  const batch = await engine.submit(pile, [undefined])
  await engine.batches.pause(batch.id, by)
  await engine.batches.resume(batch.id, by)
  await engine.batches.setPriority(batch.id, 2, by)
  await t.run()
  await engine.batches.retryFailed(batch.id, by)
  await engine.batches.cancel(batch.id, by)
  await engine.queues.pause('default', by)
  await engine.queues.resume('default', by)
  await engine.queues.setLimits('default', { concurrency: 5 }, by)
  await engine.schedules.run('nightly', by)
  await engine.guards.run('watch', by)

  const noted = await sql<{ what: string; who: string | null }>(
    `select data ->> 'what' as what, data ->> 'who' as who from retoma.event where type = 'action' order by id`,
  )
  await sql('drop table public.watched')
  expect(noted.map(({ what, who }) => `${what} by ${who}`)).toEqual([
    'cancel by ana',
    'retry by ana',
    'cancel by null',
    'rerun by ana',
    'skip by ana',
    'retry by ana',
    'fail by ana',
    'pause by ana',
    'resume by ana',
    'priority by ana',
    'retry failed by ana',
    'cancel by ana',
    'pause queue by ana',
    'resume queue by ana',
    'set limits by ana',
    'run schedule by ana',
    'run guard by ana',
  ])
})

test('a name that cannot be kept is refused, and no action runs', async () => {
  const { engine } = await engineOf({ jobs: [work] })
  const { id } = await engine.enqueue(work, undefined)
  await expect(engine.jobs.cancel(id, { by: '' })).rejects.toMatchObject({
    code: 'bad_option',
    facts: { option: 'by' },
  })
  expect(await engine.job(id)).toMatchObject({ state: 'waiting', events: [] })
})
