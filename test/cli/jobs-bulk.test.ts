/** `retoma jobs retry|cancel` with a filter: nothing changes before somebody has seen the count and said yes. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { inCalls } from '../../src/cli/commands/jobs/jobs-bulk.ts'
import { defineBatch, defineJob, type JobState } from '../../src/index.ts'
import { type TestEngine, testEngine } from '../../src/testing/index.ts'
import { migratedDatabase } from '../support/database.ts'
import { answer, folderWith, hasTerminal, run, start } from './support.ts'

const mail = defineJob({
  kind: 'mail',
  queue: 'out',
  maxAttempts: 1,
  run() {
    throw new Error('no')
  },
})
const sync = defineJob({ kind: 'sync', run: () => 'done' })
const pile = defineBatch({ name: 'pile', job: mail })

let here: TestEngine
let at: { folder: string; env: Record<string, string> }
let drop: () => Promise<void>

beforeAll(async () => {
  const database = await migratedDatabase()
  drop = database.drop
  here = await testEngine({ databaseUrl: database.url, jobs: [mail, sync], batches: [pile], start: new Date() })
  at = { folder: folderWith({}, 'file'), env: { DATABASE_URL: database.url } }
})
afterAll(async () => {
  await here.close()
  await drop()
})

let batch: string

/** Three failed jobs of `mail` outside of the batch and two in it; two jobs of `sync` wait. */
beforeEach(async () => {
  const { engine } = here
  await engine.jobs.cancelMany({ state: 'waiting' })
  for (const { id } of (await engine.jobs.list({ state: 'failed', limit: 500 })).items)
    await engine.jobs.skip(id, 'over')
  await engine.enqueueMany(mail, [undefined, undefined, undefined])
  batch = (await engine.submit(pile, [undefined, undefined])).id
  await here.run()
  await engine.enqueueMany(sync, [undefined, undefined])
})

const count = async (kind: string, state: JobState) =>
  (await here.engine.jobs.list({ kind, state, limit: 500 })).items.length

test('--dry-run counts and changes nothing', async () => {
  expect(await run(['jobs', 'retry', '--kind', 'mail', '--dry-run'], at)).toMatchObject({
    code: 0,
    stdout: '5 jobs would run again; nothing was changed\n',
  })
  expect(await run(['jobs', 'cancel', '--queue', 'default', '--dry-run'], at)).toMatchObject({
    stdout: '2 jobs would be cancelled; nothing was changed\n',
  })
  expect(await answer(['jobs', 'retry', '--batch', batch, '--dry-run'], at)).toEqual({
    matched: 2,
    counted_all: true,
    changed: 0,
    conflicts: 0,
    dry_run: true,
  })
  expect([await count('mail', 'failed'), await count('sync', 'waiting')]).toEqual([5, 2])
})

test('without a terminal and without --yes it is refused with exit code 2 and the count, and nothing changes', async () => {
  const refused = await run(['jobs', 'cancel', '--kind', 'sync'], at)
  expect(refused).toMatchObject({
    code: 2,
    stdout: '',
    stderr:
      'error wrong_use: the filter matches 2 jobs: add --yes to change them without a question, or --dry-run to count alone\n',
  })
  expect((await run(['jobs', 'cancel', '--kind', 'sync', '--json'], at)).code).toBe(2)
  expect(await count('sync', 'waiting')).toBe(2)
})

test('--error and --created-after choose jobs, and a job created after the count stays as it is', async () => {
  const retried = async (...flags: string[]) =>
    (await answer(['jobs', 'retry', '--kind', 'mail', ...flags, '--dry-run'], at)).matched
  expect(await retried('--error', 'nothing_of_the_kind')).toBe(0)
  expect(await retried('--created-after', '2100-01-01')).toBe(0)
  expect(await retried('--created-after', '2020-01-01')).toBe(5)
  await here.engine.query(`update retoma.job set created_at = now() + interval '1 hour' where kind = 'sync'`)
  expect((await run(['jobs', 'cancel', '--kind', 'sync', '--yes'], at)).stdout).toContain('no job matches')
  expect(await count('sync', 'waiting')).toBe(2)
  await here.engine.query(`update retoma.job set created_at = now() - interval '1 hour' where kind = 'sync'`)
})

test('an abort between two calls is not the end of the action', async () => {
  const stop = new AbortController()
  const more = { changed: 3, conflicts: 1, done: false, next: null }
  const stopped = await inCalls(
    () => Promise.resolve(more),
    stop.signal,
    () => stop.abort(),
  )
  expect(stopped).toEqual({ changed: 3, conflicts: 1, done: false })
  const ended = await inCalls(
    () => Promise.resolve({ ...more, done: true }),
    new AbortController().signal,
    () => {},
  )
  expect(ended).toEqual({ changed: 3, conflicts: 1, done: true })
})

test('--yes changes exactly the jobs that match, and says how many', async () => {
  const one = await run(['jobs', 'retry', '--kind', 'mail', '--state', 'failed', '--queue', 'out', '--yes'], at)
  expect(one).toMatchObject({ code: 0, stdout: '5 jobs wait to run again\n' })
  expect([await count('mail', 'waiting'), await count('sync', 'waiting')]).toEqual([5, 2])
  expect(await answer(['jobs', 'cancel', '--batch', batch, '--yes'], at)).toMatchObject({ matched: 2, changed: 2 })
  expect(await count('mail', 'waiting')).toBe(3)
  const portuguese = { ...at, env: { ...at.env, LANG: 'pt_BR.UTF-8' } }
  expect((await run(['jobs', 'cancel', '--state', 'waiting', '--yes'], portuguese)).stdout).toBe('cancelados: 5 jobs\n')
})

test('a filter that matches nothing asks nothing', async () => {
  expect(await run(['jobs', 'cancel', '--kind', 'nobody'], at)).toMatchObject({
    code: 0,
    stdout: 'no job matches the filter; nothing was changed\n',
  })
})

test.each([
  [['jobs', 'cancel'], 'give either ids of jobs or a filter'],
  [['jobs', 'cancel', '1', '--kind', 'mail'], 'give either ids of jobs or a filter'],
  [['jobs', 'retry', '1', '--yes'], '--yes and --dry-run go with a filter'],
  [['jobs', 'retry', '--kind', 'mail', '--from-scratch'], '--from-scratch takes ids'],
  [['jobs', 'retry', '--state', 'running', '--yes'], 'it is one of failed, skipped, cancelled'],
])('%j is wrong use', async (args, sentence) => {
  expect(await run(args, at)).toMatchObject({ code: 2, stderr: expect.stringContaining(sentence) })
})

describe.runIf(hasTerminal)('in a terminal', () => {
  test('it asks with the count: any answer but yes changes nothing, and yes does it', async () => {
    const asked = start(['jobs', 'cancel', '--kind', 'sync'], { ...at, terminal: true })
    await asked.said('cancel 2 jobs? [y/N]')
    asked.type('\n')
    expect(await asked.ended).toMatchObject({ code: 1, stdout: expect.stringContaining('nothing was changed') })
    expect(await count('sync', 'waiting')).toBe(2)
    const again = start(['jobs', 'cancel', '--kind', 'sync'], { ...at, terminal: true })
    await again.said('[y/N]')
    again.type('y\n')
    expect(await again.ended).toMatchObject({ code: 0, stdout: expect.stringContaining('2 jobs are cancelled') })
    expect(await count('sync', 'waiting')).toBe(0)
  })
})

test('a waiting job is changed, final jobs are erased, a queue is cleared', async () => {
  const { items } = await here.engine.jobs.list({ kind: 'sync', state: 'waiting' })
  const { id } = items[0]!
  expect(await answer(['jobs', 'update', id, '--priority', '0', '--delay', '1h'], at)).toMatchObject({
    id,
    changed: true,
  })
  expect(await here.engine.job(id)).toMatchObject({ priority: 0 })
  expect(await run(['jobs', 'update', id], at)).toMatchObject({ code: 2 })
  expect(await run(['queues', 'clear', 'default'], at)).toMatchObject({ code: 2 })
  expect(await run(['queues', 'clear', 'default', '--dry-run'], at)).toMatchObject({
    stdout: 'queue default: 2 jobs would be cancelled; nothing was changed\n',
  })
  expect(await run(['queues', 'clear', 'default', '--yes'], at)).toMatchObject({
    code: 0,
    stdout: 'queue default: 2 jobs cancelled\n',
  })
  expect(await run(['jobs', 'erase', id], at)).toMatchObject({ code: 0, stdout: `job ${id} is erased\n` })
  expect(await run(['jobs', 'erase', '--kind', 'mail', '--state', 'failed', '--dry-run'], at)).toMatchObject({
    stdout: '5 jobs would be erased; nothing was changed\n',
  })
  expect(await answer(['jobs', 'erase', '--kind', 'mail', '--state', 'failed', '--yes'], at)).toMatchObject({
    changed: 5,
  })
})
