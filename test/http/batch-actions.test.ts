import { expect, test } from 'vitest'
import { seconds } from '../../src/index.ts'
import { batchDoor, submitted } from './batch-support.ts'
import type { Door } from './support.ts'

const items = [{ n: 1 }, { n: 2 }]

/** For longer than a batch may stop, with a watchdog that looks all the time. */
async function nobodyWorks({ clock, tick }: Door): Promise<void> {
  for (let passed = 0; passed <= 70; passed += 5) {
    await tick()
    await clock.advance(seconds(5))
  }
  await tick()
}

test('a batch is paused and goes on, and a repeated call changes nothing', async () => {
  const { ask, run } = await batchDoor()
  const id = await submitted(ask, items)
  const act = async (name: string) => (await ask('POST', `/api/v1/batches/${id}/${name}`)).body
  expect(await act('pause')).toEqual({ id, state: 'paused', changed: true })
  expect(await act('pause')).toEqual({ id, state: 'paused', changed: false })
  await run()
  expect((await ask('GET', `/api/v1/batches/${id}`)).body).toMatchObject({ state: 'paused', succeeded: 0 })
  expect(await act('resume')).toMatchObject({ id, changed: true, resumed: 2 })
  await run()
  expect((await ask('GET', `/api/v1/batches/${id}`)).body).toMatchObject({ state: 'succeeded', succeeded: 2 })
})

test('a stalled batch is resumed, and answers how many go on', async () => {
  const door = await batchDoor()
  const { ask } = door
  const id = await submitted(ask, items)
  await nobodyWorks(door)
  expect((await ask('GET', `/api/v1/batches/${id}`)).body).toMatchObject({ state: 'stalled', resumes: 0 })
  const { body } = await ask('POST', `/api/v1/batches/${id}/resume`)
  expect(body).toMatchObject({ id, changed: true, resumed: 2 })
  expect((await ask('POST', `/api/v1/batches/${id}/resume`)).body).toMatchObject({ changed: false, resumed: 0 })
})

test('what failed runs again, all of it or of one cause', async () => {
  const { ask, run } = await batchDoor()
  const id = await submitted(ask, [{ n: 1, fails: 'no paper' }, { n: 2, fails: 'no ink' }, { n: 3 }])
  await run()
  const { body: groups } = await ask('GET', `/api/v1/batches/${id}/failures/causes`)
  const { cause } = groups.items.find((each: { message: string }) => each.message === 'no ink')
  const act = (body?: object) => ask('POST', `/api/v1/batches/${id}/retry-failed`, { body })
  expect((await act({ cause })).body).toMatchObject({ id, retried: 1, conflicts: 0, changed: true })
  await run()
  expect((await act()).body).toMatchObject({ retried: 2, conflicts: 0 })
  await run()
  expect((await act({})).body).toMatchObject({ retried: 2 })
  expect(await act({ cause: 'XYZ' })).toMatchObject({ status: 400, body: { error: { field: 'cause' } } })
})

test('another priority is given to what waits', async () => {
  const { ask } = await batchDoor()
  const id = await submitted(ask, items)
  const act = (body: unknown) => ask('POST', `/api/v1/batches/${id}/priority`, { body })
  expect((await act({ priority: 0 })).body).toMatchObject({ id, changed: true, moved: 2 })
  expect((await ask('GET', `/api/v1/batches/${id}`)).body.priority).toBe(0)
  for (const priority of [-1, 10, 1.5, '1', null, undefined])
    expect(await act({ priority })).toMatchObject({ status: 400, body: { error: { field: 'priority' } } })
})

test('what a cancelled batch is reported is 409 with the code, but to cancel it again', async () => {
  const { ask } = await batchDoor()
  const id = await submitted(ask, items)
  const act = (name: string, body?: object) => ask('POST', `/api/v1/batches/${id}/${name}`, { body })
  expect((await act('cancel')).body).toEqual({ id, state: 'cancelled', changed: true })
  expect((await act('cancel')).body).toEqual({ id, state: 'cancelled', changed: false })
  for (const name of ['resume', 'retry-failed', 'pause'])
    expect(await act(name), name).toMatchObject({ status: 409, body: { error: { code: 'batch_cancelled', id } } })
  expect(await act('priority', { priority: 1 })).toMatchObject({ status: 409 })
  const [item] = (await ask('GET', `/api/v1/batches/${id}/items`)).body.items
  expect(await act(`items/${item.id}/retry`)).toMatchObject({
    status: 409,
    body: { error: { code: 'batch_cancelled' } },
  })
})

test('what is in no state for it is 409 with the code of the engine', async () => {
  const { ask, run } = await batchDoor()
  const over = await submitted(ask, items)
  await run()
  for (const name of ['pause', 'cancel', 'priority'])
    expect(
      await ask('POST', `/api/v1/batches/${over}/${name}`, name === 'priority' ? { body: { priority: 1 } } : {}),
      name,
    ).toMatchObject({
      status: 409,
      body: { error: { code: 'batch_state', state: 'succeeded' } },
    })
})

test('a batch that has spent its resumes is shown the action to run instead', async () => {
  const door = await batchDoor()
  const { ask } = door
  const id = await submitted(ask, items)
  await nobodyWorks(door)
  await ask('POST', `/api/v1/batches/${id}/resume`)
  await nobodyWorks(door)
  expect(await ask('POST', `/api/v1/batches/${id}/resume`)).toMatchObject({
    status: 409,
    body: { error: { code: 'resumes_spent', message: expect.stringContaining('retry its failed items') } },
  })
  expect((await ask('POST', `/api/v1/batches/${id}/retry-failed`)).body).toMatchObject({ retried: 2 })
})
