import { expect, test } from 'vitest'
import { defineJob } from '../../src/index.ts'
import { engineWith } from '../support/engine.ts'

const quick = defineJob({ kind: 'quick', run: () => 'done' })

test.each(['day', 'final'] as const)('a job run again holds its key again (held until: %s)', async keyUntil => {
  const { engine } = await engineWith(quick)
  const first = await engine.enqueue(quick, undefined, { key: 'x', keyUntil })
  await engine.cancel(first.id)
  expect(await engine.retry(first.id)).toMatchObject({ state: 'waiting', changed: true })
  expect(await engine.enqueue(quick, undefined, { key: 'x' })).toEqual({ id: first.id, created: false })
})

test('a job whose key another has by now is not run again, and the other is named', async () => {
  const { engine } = await engineWith(quick)
  const first = await engine.enqueue(quick, undefined, { key: 'x', keyUntil: 'final' })
  await engine.cancel(first.id)
  const second = await engine.enqueue(quick, undefined, { key: 'x' })
  await expect(engine.retry(first.id)).rejects.toMatchObject({
    code: 'key_held',
    facts: { id: first.id, holder: second.id },
  })
  expect(await engine.job(first.id)).toMatchObject({ state: 'cancelled' })
})

test('of two that would take one key again at the same instant one does', async () => {
  const { engine } = await engineWith(quick)
  const ids: string[] = []
  for (let i = 0; i < 2; i++) {
    const { id } = await engine.enqueue(quick, undefined, { key: 'x', keyUntil: 'final' })
    await engine.cancel(id)
    ids.push(id)
  }
  const pressed = await Promise.allSettled(ids.map(id => engine.retry(id)))
  expect(pressed.map(each => each.status).sort()).toEqual(['fulfilled', 'rejected'])
})
