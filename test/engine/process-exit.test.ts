import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { migratedDatabase } from '../support/database.ts'
import { until } from '../support/engine.ts'

test('a process whose engine is closed ends by itself: no timer, no connection, no worker is left', async () => {
  const { url, drop } = await migratedDatabase()
  onTestFinished(drop)
  const script = fileURLToPath(new URL('./exit-guest.mjs', import.meta.url))
  const child = spawn(process.execPath, [script, url], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let said = ''
  child.stdout.on('data', chunk => {
    said += chunk
  })
  const code = await new Promise(resolve => child.on('close', resolve))
  expect(code).toBe(0)
  const { before, after } = JSON.parse(said) as { before: string[]; after: string[] }
  expect(before).toContain('Timeout')
  expect(after).not.toContain('Timeout')

  const client = new pg.Client({ connectionString: url })
  await client.connect()
  onTestFinished(() => client.end())
  const left = async () => {
    const { rows } = await client.query(
      `select (select count(*)::int from retoma.worker) as workers,
         (select count(*)::int from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()) as sessions`,
    )
    return rows[0] as { workers: number; sessions: number }
  }
  expect((await left()).workers).toBe(0)
  // The server takes a moment to end the session of a client that has gone.
  await until(async () => (await left()).sessions === 0)
})
