/** The report of the doctor if one of its own queries fails. */
import { expect, test } from 'vitest'
import type { Db } from '../../src/database/db.ts'
import { RetomaError } from '../../src/errors/errors.ts'
import { checkAll } from '../../src/maintenance/doctor.ts'
import { databaseError } from '../support/faulty-db.ts'
import { storeForFile } from '../support/store.ts'

const store = storeForFile()

/** The look at the workers fails by this; whatever else is asked is answered. */
async function withoutWorkers(error: Error): Promise<Record<string, { verdict: string; advice?: { en: string } }>> {
  const db: Db = {
    ...store.db,
    run: async (statement, values, deadlineMs) => {
      if (statement.text.includes('as lost')) throw error
      return store.db.run(statement, values, deadlineMs)
    },
  }
  const { checks } = await checkAll(db, { databaseUrl: store.url })
  return Object.fromEntries(checks.map(each => [each.name, each]))
}

test('what is judged by the workers is not judged when they could not be looked at', async () => {
  expect(await withoutWorkers(databaseError('XX000'))).toMatchObject({
    starved: { verdict: 'ok' },
    workers: { verdict: 'failure' },
    paused: { verdict: 'unseen' },
    watchdog: { verdict: 'unseen' },
  })
})

test('a lock that is in the way is no fault of the database, and the advice for one that is away goes to no other', async () => {
  const locked = new RetomaError('database_locked', { problem: 'canceling statement due to lock timeout' })
  expect((await withoutWorkers(locked)).workers).toMatchObject({ verdict: 'unseen' })
  const advice = async (error: Error) => (await withoutWorkers(error)).workers!.advice!.en
  expect(await advice(databaseError('42703'))).not.toContain('DATABASE_URL')
  const away = new RetomaError('database_unreachable', { address: 'here', problem: 'gone', outcome: '' })
  expect(await advice(away)).toContain('DATABASE_URL')
})
