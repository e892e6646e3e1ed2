/** Connections that the server closes: the log has one short line. */
import pg from 'pg'
import { expect, inject, onTestFinished, test } from 'vitest'
import { openDb } from '../../src/database/db.ts'
import { createLog } from '../../src/lib/logging/log.ts'
import { until } from '../support/engine.ts'

test('however many connections are lost at once, one short line says so, and the next statement has another one', async () => {
  const lines: string[] = []
  const log = createLog({ level: 'debug', format: 'pretty', colour: false, write: line => lines.push(line) })
  const db = openDb({ url: inject('serverUrl'), log })
  onTestFinished(() => db.close())
  const mine = { name: '', text: 'select pg_backend_pid() as id, pg_sleep(0.1)' }
  const rows = await Promise.all([1, 2, 3].map(() => db.run<{ id: number }>(mine, [])))
  const ids = [...new Set(rows.map(([row]) => row!.id))]
  expect(ids).toHaveLength(3)
  const client = new pg.Client({ connectionString: inject('serverUrl') })
  await client.connect()
  await client.query('select pg_terminate_backend(id) from unnest($1::int[]) as u (id)', [ids])
  await client.end()
  await until(() => lines.length === 3)
  const [reported, ...others] = lines.filter(line => line.includes(' warn '))
  expect(reported).toMatch(
    /^\S+ warn {2}a database connection was lost; the engine opens another one problem=[^\n]{1,100}\n$/,
  )
  expect(others).toEqual([])
  expect(await db.run(mine, [])).toHaveLength(1)
})
