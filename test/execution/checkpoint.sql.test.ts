/** Checkpoints land while their attempt holds the job, and at no other time. */
import { beforeEach, expect, test } from 'vitest'
import { loadCheckpoints, noteProgress, saveCheckpoints } from '../../src/execution/sql/checkpoint.ts'
import { at, storeForFile } from '../support/store.ts'

const store = storeForFile()
beforeEach(() => store.worker('w'))

const checkpoint = (id: string, name: string, value = '1', attempt = 1) => ({ id, attempt, name, value })
const save = (...given: ReturnType<typeof checkpoint>[]) => saveCheckpoints(store.db, 'w', given, at(0))

test('what an attempt saved is there for the next, exactly as it was', async () => {
  const id = await store.put('running')
  const value = '{"b":1,"a":"\\u0000 \\ud800","long":12345678901234567890.10}'
  expect((await save(checkpoint(id, 'one', value), checkpoint(id, 'two', 'null'))).size).toBe(2)
  const [row] = await store.sql<{ text: string }>(
    `select value::text as text from retoma.checkpoint where name = 'one'`,
  )
  expect(row!.text).toBe(value)
  expect(await loadCheckpoints(store.db, id)).toEqual(
    new Map([
      ['one', JSON.parse(value)],
      ['two', null],
    ]),
  )
})

test('one sent twice is known as landed, and its value stays', async () => {
  const id = await store.put('running')
  await save(checkpoint(id, 's', '1'))
  const again = checkpoint(id, 's', '2')
  expect(await save(again)).toEqual(new Set([again]))
  expect(await loadCheckpoints(store.db, id)).toEqual(new Map([['s', 1]]))
})

test('of a flush those land whose attempt holds its job; of another attempt, another worker or none, nothing does', async () => {
  const mine = await store.put('running')
  const older = await store.put('running', { attempt: 2 })
  const others = await store.put('running', { worker: 'other' })
  const over = await store.put('succeeded')
  const good = checkpoint(mine, 's')
  const given = [checkpoint(older, 's'), checkpoint(others, 's'), good, checkpoint(over, 's'), checkpoint('999', 's')]
  expect(await save(...given)).toEqual(new Set([good]))
  expect(await store.sql(`select job_id as id from retoma.checkpoint`)).toEqual([{ id: mine }])
})

test('one on its way while the job is given away does not land after it', async () => {
  const id = await store.put('running')
  let letGo = () => {}
  const held = new Promise<void>(resolve => {
    letGo = resolve
  })
  let moved = () => {}
  const hasMoved = new Promise<void>(resolve => {
    moved = resolve
  })
  const recovering = store.another().transaction(async client => {
    await client.query(`update retoma.job set state = 'waiting', worker_id = null where id = $1`, [id])
    moved()
    await held
  })
  await hasMoved
  const saving = save(checkpoint(id, 's'))
  const waits = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  await expect.poll(async () => (await store.sql(waits)).length).toBe(1)
  letGo()
  await recovering
  expect(await saving).toEqual(new Set())
  expect(await loadCheckpoints(store.db, id)).toEqual(new Map())
})

test('notes of progress go by the fence, and change only what they say', async () => {
  const mine = await store.put('running')
  const lost = await store.put('running', { worker: 'other' })
  const note = { attempt: 1, checkpoint: null, checkpointData: null, progress: null }
  const first = { ...note, id: mine, checkpoint: 'PRICES', checkpointData: '{"page":3}' }
  expect(await noteProgress(store.db, 'w', [first, { ...note, id: lost, checkpoint: 'x' }], at(1))).toEqual(
    new Set([first]),
  )
  await noteProgress(store.db, 'w', [{ ...note, id: mine, progress: '{"done":1}' }], at(2))
  expect(
    await store.sql(`select checkpoint, checkpoint_data, progress, progress_at from retoma.job order by id`),
  ).toEqual([
    { checkpoint: 'PRICES', checkpoint_data: { page: 3 }, progress: { done: 1 }, progress_at: at(2) },
    { checkpoint: null, checkpoint_data: null, progress: null, progress_at: null },
  ])
})
