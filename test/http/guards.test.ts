import { expect, test } from 'vitest'
import { minutes } from '../../src/index.ts'
import { guardStage, watchdog } from '../support/guards.ts'
import { doorOf } from './support.ts'

test('a guard is shown, says what it would mark, and marks it', async () => {
  const { process, put, clock, statuses } = await guardStage()
  const { ask } = doorOf(await process())
  await put(2)
  await clock.advance(minutes(11))
  const { body: list } = await ask('GET', '/api/v1/guards')
  expect(list).toMatchObject({ items: [{ name: 'documents', table: 'documents', after_ms: 600_000 }], next: null })

  const check = (body?: unknown) => ask('POST', '/api/v1/guards/documents/run', { body })
  expect((await check({ dry_run: true })).body).toMatchObject({ name: 'documents', dry_run: true, marked: 2, jobs: 0 })
  expect(await statuses()).toEqual({ 1: 'PROCESSING', 2: 'PROCESSING' })
  expect((await check()).body).toMatchObject({ dry_run: false, marked: 2, rows: [{ key: expect.anything() }, {}] })
  expect(await statuses()).toEqual({ 1: 'FAILED', 2: 'FAILED' })
  expect((await check({})).body).toMatchObject({ marked: 0, rows: [] })
  expect((await ask('GET', '/api/v1/guards')).body.items[0]).toMatchObject({ total: 2, last_error: null })
})

test('a guard that is not there is 404, and a body that it does not take is 400', async () => {
  const { process } = await guardStage()
  const { ask } = doorOf(await process())
  for (const name of ['documnets', '%00'])
    expect(await ask('POST', `/api/v1/guards/${name}/run`)).toMatchObject({
      status: 404,
      body: { error: { code: 'unknown_guard' } },
    })
  for (const [field, body] of [
    ['dryrun', { dryrun: true }],
    ['dry_run', { dry_run: 'yes' }],
    ['body', []],
  ] as const)
    expect(await ask('POST', '/api/v1/guards/documents/run', { body })).toMatchObject({
      status: 400,
      body: { error: { code: 'bad_request', field } },
    })
})

test('a table that cannot be watched is 409 with the code', async () => {
  const { process } = await guardStage()
  const { ask } = doorOf(await process([watchdog({ table: 'documets' })]))
  expect(await ask('POST', '/api/v1/guards/documents/run')).toMatchObject({
    status: 409,
    body: { error: { code: 'guard_no_table' } },
  })
})
