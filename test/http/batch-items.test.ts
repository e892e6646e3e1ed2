import { expect, test } from 'vitest'
import { batchDoor, failing, submitted } from './batch-support.ts'

const some = [{ n: 1 }, { n: 2, fails: 'no ink' }, { n: 3, fails: 'no paper' }, { n: 4, fails: 'no ink' }]
const refs = ['a', 'b', 'c', 'd']

async function ended() {
  const door = await batchDoor()
  const id = await submitted(door.ask, some, { refs })
  await door.run()
  const { body } = await door.ask('GET', `/api/v1/batches/${id}/items`)
  return { ...door, id, path: `/api/v1/batches/${id}`, ids: body.items.map((each: { id: string }) => each.id) }
}

test('items are listed in the order of their list, by state, a page at a time', async () => {
  const { ask, path } = await ended()
  const list = async (query: string) => {
    const { body } = await ask('GET', `${path}/items?${query}`)
    return { refs: body.items.map((each: { ref: string }) => each.ref), next: body.next }
  }
  expect(await list('')).toEqual({ refs, next: null })
  expect(await list('state=succeeded')).toEqual({ refs: ['a'], next: null })
  expect(await list('state=waiting')).toEqual({ refs: [], next: null })
  const page = await list('limit=3')
  expect(page.refs).toEqual(['a', 'b', 'c'])
  expect(await list(`limit=3&after=${page.next}`)).toEqual({ refs: ['d'], next: null })
})

test('failures are listed by cause, a page at a time, and grouped', async () => {
  const { ask, path } = await ended()
  const { body: groups } = await ask('GET', `${path}/failures/causes`)
  expect(groups).toMatchObject({
    items: [
      { count: 2, more: false, message: 'no ink', refs: ['b', 'd'] },
      { count: 1, message: 'no paper', refs: ['c'] },
    ],
    next: null,
  })
  const { cause } = groups.items[0]
  const { body } = await ask('GET', `${path}/failures?cause=${cause}`)
  expect(body).toMatchObject({ items: [{ ref: 'b', message: 'no ink', cause, attempt: 1 }, { ref: 'd' }], next: null })
  const seen: string[] = []
  for (let after = ''; ; ) {
    const { body: page } = await ask('GET', `${path}/failures?limit=1${after}`)
    seen.push(...page.items.map((each: { ref: string }) => each.ref))
    if (page.next === null) break
    after = `&after=${page.next}`
  }
  expect(seen.sort()).toEqual(['b', 'c', 'd'])
  expect((await ask('GET', `${path}/items?cause=${cause}`)).body.items).toHaveLength(2)
})

test('a stack is for those who act, not for those who read', async () => {
  const { ask, engine, path } = await ended()
  const stacks = async (role: 'viewer' | 'operator') => {
    const { token } = await engine.tokens.create({ user: role, role })
    return [
      (await ask('GET', `${path}/failures`, { token })).body.items[0].stack,
      (await ask('GET', `${path}/items?state=failed`, { token })).body.items[0].error.stack,
    ]
  }
  for (const stack of await stacks('operator')) expect(stack).toContain('batch-support.ts')
  expect(await stacks('viewer')).toEqual([null, null])
})

test('one item runs again', async () => {
  const { ask, path, ids } = await ended()
  expect((await ask('POST', `${path}/items/${ids[1]}/retry`)).body).toEqual({
    id: ids[1],
    state: 'waiting',
    changed: true,
  })
  expect((await ask('POST', `${path}/items/${ids[1]}/retry`)).body).toMatchObject({ changed: false })
  expect(await ask('POST', `${path}/items/${ids[0]}/retry`)).toMatchObject({
    status: 409,
    body: { error: { code: 'wrong_state', state: 'succeeded' } },
  })
})

test('one item is skipped with the reason', async () => {
  const { ask, path, ids } = await ended()
  const skip = (id: string, body: unknown) => ask('POST', `${path}/items/${id}/skip`, { body })
  expect((await skip(ids[1], { reason: 'not ours' })).body).toMatchObject({ id: ids[1], state: 'skipped' })
  expect((await ask('GET', path)).body).toMatchObject({ skipped: 1, failed: 2 })
  for (const [field, body] of [
    ['reason', { reason: '' }],
    ['reason', { reason: 7 }],
    ['resaon', { reason: 'x', resaon: 'x' }],
  ] as const)
    expect(await skip(ids[2], body), field).toMatchObject({ status: 400, body: { error: { field } } })
  expect(await skip(ids[0], { reason: 'x' })).toMatchObject({ status: 409, body: { error: { code: 'wrong_state' } } })
})

test.each([undefined, {}])('an item is skipped with a body of %j too: a button has no reason to send', async body => {
  const { ask, path, ids } = await ended()
  const skipped = await ask('POST', `${path}/items/${ids[1]}/skip`, { body })
  expect(skipped).toMatchObject({ status: 200, body: { id: ids[1], state: 'skipped' } })
  expect(JSON.stringify((await ask('GET', `/api/v1/jobs/${ids[1]}`)).body)).toContain('no reason was given')
})

test('an item of another batch, or of none, is 404 and stays as it is', async () => {
  const { ask, engine, path, ids } = await ended()
  const other = await submitted(ask, [{ n: 1 }])
  const { id: single } = await engine.enqueue(failing, { n: 1 })
  const call = async (batch: string, item: string, action: string) =>
    (await ask('POST', `${batch}/items/${item}/${action}`, { body: { reason: 'x' } })).body.error.code
  for (const action of ['skip', 'retry']) {
    expect(await call(`/api/v1/batches/${other}`, ids[1], action)).toBe('not_found')
    expect(await call(path, single, action)).toBe('not_found')
    for (const none of ['0', 'x', '%00', '99999999999999999999'])
      expect(await call(path, none, action)).toBe('not_found')
  }
  expect(await engine.job(single)).toMatchObject({ state: 'waiting' })
})

test('only failed items have a cause', async () => {
  const { ask, path } = await ended()
  const { status, body } = await ask('GET', `${path}/items?state=running&cause=ab`)
  expect({ status, field: body.error.field }).toEqual({ status: 400, field: 'cause' })
  expect((await ask('GET', `${path}/failures?cause=NO`)).body.error.field).toBe('cause')
  expect((await ask('GET', `${path}/failures?after=NO`)).body.error.option).toBe('after')
})
