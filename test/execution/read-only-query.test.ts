/** `ctx.query` reports an error of the statement, and waits while the database is away. */
import { expect, test } from 'vitest'
import { readOnlyQuery } from '../../src/database/read-only-query.ts'
import { seconds } from '../../src/index.ts'
import { until } from '../support/engine.ts'
import { databaseError, linkLost } from '../support/faulty-db.ts'
import { faultyWorker } from '../support/faulty-worker.ts'
import { storeForFile } from '../support/store.ts'

const store = storeForFile()

test('one that takes too long is ended by PostgreSQL, which says so, and the next is not', async () => {
  const { db } = store
  await expect(readOnlyQuery(db, { text: 'select pg_sleep(20)' }, 200)).rejects.toMatchObject({ code: '57014' })
  expect((await readOnlyQuery(db, { text: 'select 1 as one' }, 200)).rows).toEqual([{ one: 1 }])
})

test.each([
  { what: 'that it took too long', error: databaseError('57014'), asked: 1 },
  { what: 'that the link is gone', error: linkLost(), asked: 2 },
  { what: 'that the server goes down', error: databaseError('57P01'), asked: 2 },
])('$what: asked $asked times', async ({ error, asked }) => {
  const shown: unknown[] = []
  const w = await faultyWorker({
    run: ctx =>
      ctx.query('select 1').then(
        () => shown.push('ok'),
        thrown => void shown.push(thrown.code),
      ),
  })
  w.db.fail('tx.query', 'after', error)
  const id = await w.enqueue()
  await w.begin()
  await until(async () => {
    await w.clock.advance(seconds(0.1))
    return (await w.row(id)).state === 'succeeded'
  })
  expect(shown).toEqual([asked === 1 ? '57014' : 'ok'])
  expect(w.db.asked.filter(each => each === 'tx.query')).toHaveLength(asked)
})
