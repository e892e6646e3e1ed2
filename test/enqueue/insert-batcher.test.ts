/** Enqueues that come at the same time share a statement, and nothing else: not each other's trouble. */
import { expect, test } from 'vitest'
import type { Db } from '../../src/database/db.ts'
import type { NewJob } from '../../src/enqueue/enqueue.sql.ts'
import { createInsertBatcher } from '../../src/enqueue/insert-batcher.ts'
import { databaseTimeout } from '../../src/errors/database-unreachable.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { storeForFile } from '../support/store.ts'

const store = storeForFile()

const job = (input: string): NewJob => ({
  ...{ queue: 'q', kind: 'k', key: null, keyHold: null, ref: null, groupKey: null },
  ...{ priority: 4, runAt: null, delayMs: 0, input },
})

function counted(change: Partial<Db> = {}): { db: Db; sent: string[] } {
  const sent: string[] = []
  const run: Db['run'] = (statement, values, deadline) => {
    sent.push(statement.name)
    return (change.run ?? store.db.run)(statement, values, deadline)
  }
  return { db: { ...store.db, run }, sent }
}

test('a hundred at once are all written, each with an id of its own, in a few statements', async () => {
  const { db, sent } = counted()
  const write = createInsertBatcher({ db, clock: systemClock })
  const made = await Promise.all(Array.from({ length: 100 }, (_, n) => write(job(String(n)))))
  const rows = await store.sql<{ id: string; input: number }>(
    'select id::text as id, input from retoma.job order by input',
  )
  expect(made).toEqual(rows.map(({ id }) => ({ id, created: true })))
  expect(rows.map(row => row.input)).toEqual(Array.from({ length: 100 }, (_, n) => n))
  expect(sent.length).toBeLessThanOrEqual(4)
})

test('what cannot be written fails alone', async () => {
  await store.sql(`create function public.refuse() returns trigger language plpgsql as $$ begin raise 'no'; end $$`)
  await store.sql(
    `create trigger refuse before insert on retoma.job for each row when (new.input = '"bad"') execute function public.refuse()`,
  )
  const write = createInsertBatcher({ db: store.db, clock: systemClock })
  const answers = await Promise.allSettled(['1', '2', '"bad"', '4', '5'].map(input => write(job(input))))
  await store.sql('drop function public.refuse cascade')
  expect(answers.map(each => each.status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled', 'fulfilled'])
  expect(await store.sql('select input from retoma.job order by input')).toHaveLength(4)
})

test('when nobody knows whether it was written it is not written a second time', async () => {
  const lost: Db['run'] = async (statement, values) => {
    await store.db.run(statement, values)
    throw new Error('the link broke before the answer')
  }
  const write = createInsertBatcher({ db: counted({ run: lost }).db, clock: systemClock })
  const answers = await Promise.allSettled(['1', '2', '3', '4'].map(input => write(job(input))))
  expect(answers.map(each => each.status)).toEqual(Array(4).fill('rejected'))
  expect(await store.sql('select id from retoma.job')).toHaveLength(4)
})

test('when the database does not answer an insert in time, the jobs behind it are not sent, and fail with nothing written', async () => {
  let expire = (_: Error) => {}
  const silent: Db['run'] = () =>
    new Promise((_, reject) => {
      expire = reject
    })
  const { db, sent } = counted({ run: silent })
  const write = createInsertBatcher({ db, clock: systemClock })
  const answers = ['1', '2', '3', '4'].map(input => write(job(input)).catch((error: unknown) => error))
  expire(databaseTimeout(30_000, true))
  const [sentSecond, ...behind] = await Promise.all(answers.slice(1))
  expect(sentSecond).toMatchObject({ code: 'database_timeout', maybeCommitted: true })
  for (const each of behind) expect(each).toMatchObject({ code: 'database_timeout', maybeCommitted: false })
  expect(sent).toHaveLength(2)
})

test('a large one takes no others with it', async () => {
  const { db, sent } = counted()
  const write = createInsertBatcher({ db, clock: systemClock })
  const large = JSON.stringify('x'.repeat(3 * 1024 * 1024))
  await Promise.all(Array.from({ length: 6 }, () => write(job(large))))
  expect(sent.length).toBe(6)
})
