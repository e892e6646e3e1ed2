/** `connection` in retoma.config: the database of every command, as a team with expiring tokens or a connector has it. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../src/testing/index.ts'
import { answer, folderWith, run, start } from './support.ts'

let database: TestDatabase
let folder: string
const env = { PORT: '0' }

beforeAll(async () => {
  database = await createTestDatabase(inject('serverUrl'))
  const { host, port, user, database: name } = new pg.Client({ connectionString: database.url })
  const place = JSON.stringify({ host, port, user, database: name })
  const config = `import { defineConfig, defineJob } from 'retoma'
const hello = defineJob({ kind: 'hello', run: async () => 'done' })
export default defineConfig({
  jobs: [hello],
  connection: async () => ({ ...${place}, password: async () => 'a token' }),
})`
  folder = folderWith({ 'retoma.config.ts': config }, 'file')
})
afterAll(() => database.drop())

test('migrate, status, jobs, token, backup and doctor use the connection of the config, and make no embedded database', async () => {
  const here = { folder, env }
  expect(await answer(['migrate'], here)).toMatchObject({ from: 0 })
  const { id } = await answer<{ id: string }>(['jobs', 'enqueue', 'hello', '{}'], here)
  expect(await answer(['jobs', 'show', id], here)).toMatchObject({ id, state: 'waiting' })
  expect((await run(['status'], here)).code).toBe(0)
  expect(await answer(['token', 'create', '--user', 'ana', '--role', 'viewer'], here)).toMatchObject({ user: 'ana' })
  expect(await answer(['backup', 'all.backup'], here)).toMatchObject({ rows: { job: 1 } })
  const { bundle, checks } = await answer<{ bundle: string; checks: object[] }>(['doctor', '--bundle'], here)
  expect(checks).toContainEqual(expect.objectContaining({ check: 'database', verdict: 'ok' }))
  const text = readFileSync(join(folder, bundle), 'utf8')
  expect(text).toContain('"database": "connection"')
  expect(text).not.toContain(new URL(database.url).pathname.slice(1))
  expect(existsSync(join(folder, '.retoma'))).toBe(false)
})

test('up runs jobs over the connection of the config', async () => {
  const here = { folder, env }
  const up = start(['up', '--json'], here)
  onTestFinished(() => up.tell('SIGKILL'))
  await up.said('}\n')
  const { id } = await answer<{ id: string }>(['jobs', 'enqueue', 'hello', '{}', '--wait'], here)
  expect(await answer(['jobs', 'show', id], here)).toMatchObject({ state: 'succeeded' })
  up.tell('SIGTERM')
  await up.ended
  expect(existsSync(join(folder, '.retoma'))).toBe(false)
})

test('a connection beside DATABASE_URL is refused, and so is a function that answers no configuration', async () => {
  const both = await run(['migrate'], { folder, env: { ...env, DATABASE_URL: database.url } })
  expect(both).toMatchObject({ code: 1, stderr: expect.stringContaining('connection does not go with DATABASE_URL') })
  const wrong = folderWith({ 'retoma.config.ts': 'export default { connection: () => ({ hostname: "db" }) }' })
  const refused = await run(['status'], { folder: wrong, env })
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('did you mean "host"?') })
  expect(existsSync(join(wrong, '.retoma'))).toBe(false)
})
