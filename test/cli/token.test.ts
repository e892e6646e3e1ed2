/** Tokens on the command line, beside a server that runs: real processes on one database. The order matters. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { TestDatabase } from '../../src/testing/index.ts'
import { migratedDatabase } from '../support/database.ts'
import { answer, folderWith, type Program, run, start } from './support.ts'

interface Token {
  id: string
  user: string
  role: string
  token: string
  revoked_at: string | null
}

let database: TestDatabase
let folder: string
let env: Record<string, string>
let serve: Program
let address: string

beforeAll(async () => {
  database = await migratedDatabase()
  folder = folderWith({}, 'file')
  env = { DATABASE_URL: database.url, PORT: '0' }
  serve = start(['serve', '--json'], { folder, env })
  const reported = JSON.parse(await serve.said('}\n'))
  expect(reported.open).toBe(true)
  address = reported.address
})

afterAll(async () => {
  serve.tell('SIGTERM')
  await serve.ended
  await database.drop()
})

const ask = (token?: string, path = '/api/v1/me') =>
  fetch(`${address}${path}`, token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } })

/** Asked again until it is so; the test's own time ends it. */
async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition()));
}

test('another HOST without any token is refused, before anything is made, and the message names the way out', async () => {
  for (const command of ['up', 'serve']) {
    const empty = folderWith()
    const { code, stderr } = await run([command], { folder: empty, env: { HOST: '0.0.0.0', PORT: '0' } })
    expect(code).toBe(1)
    expect(stderr).toContain('host_needs_token')
    expect(stderr).toContain('RETOMA_ADMIN_TOKEN')
    expect(existsSync(join(empty, '.retoma'))).toBe(false)
  }
  const shared = await run(['serve', '--json'], { folder, env: { ...env, HOST: '0.0.0.0' } })
  expect(shared.code).toBe(1)
  expect(JSON.parse(shared.stdout).error.code).toBe('host_needs_token')
})

test('an open server says so, and a token made beside it closes it within seconds', async () => {
  expect(await (await ask()).json()).toMatchObject({ user: 'local', via: 'open' })
  const made = await answer<Token>(['token', 'create', '--user', 'ana', '--role', 'admin'], { folder, env })
  expect(made).toMatchObject({ user: 'ana', role: 'admin', token: expect.stringMatching(/^rt_/) })
  await until(async () => (await ask()).status === 401)
  expect(await (await ask(made.token)).json()).toMatchObject({ user: 'ana', role: 'admin' })
})

test('a person is shown the token once, in either language', async () => {
  const english = await run(['token', 'create', '--user', 'rui', '--role', 'viewer'], { folder, env })
  expect(english.stdout).toMatch(/^token \d+ for rui \(viewer\):\nrt_[\w-]{43}\nkeep it now/)
  const brazilian = { ...env, LANG: 'pt_BR.UTF-8' }
  const portuguese = await run(['token', 'create', '--user', 'rui', '--role', 'viewer'], { folder, env: brazilian })
  expect(portuguese.stdout).toMatch(/^token \d+ para rui \(viewer\):\nrt_[\w-]{43}\nguarde-o agora/)
  const list = await run(['token', 'list', '--user', 'rui'], { folder, env })
  expect(list.stdout).toMatch(/^id +user +role +token +made +by\n\d+ +rui +viewer +rt_[\w-]{4}… /)
  expect(list.stdout).not.toMatch(/rt_[\w-]{5}/)
})

test('revoked on the command line, a token opens nothing within five seconds', async () => {
  const { id, token } = await answer<Token>(['token', 'create', '--user', 'eva', '--role', 'viewer'], { folder, env })
  expect((await ask(token)).status).toBe(200)
  const { stdout } = await run(['token', 'revoke', id], { folder, env })
  const revoked = performance.now()
  expect(stdout).toContain(`token ${id} of eva is revoked`)
  await until(async () => (await ask(token)).status === 401)
  expect(performance.now() - revoked).toBeLessThan(5000)
  expect((await run(['token', 'revoke', id], { folder, env })).stdout).toContain('was revoked already')
})

test('all tokens of a user are revoked at once, the last of an admin too, with a word about it', async () => {
  const { items } = await answer<{ items: Token[] }>(['token', 'revoke', '--user', 'rui'], { folder, env })
  expect(items.map(each => each.user)).toEqual(['rui', 'rui'])
  const last = await run(['token', 'revoke', '--user', 'ana'], { folder, env })
  expect(last.code).toBe(0)
  expect(last.stderr).toContain('no token of an admin is left')
})

test('with a token in the database, or in RETOMA_ADMIN_TOKEN, another HOST is served, and closed', async () => {
  const secret = 'a-long-and-random-value'
  for (const more of [{}, { RETOMA_ADMIN_TOKEN: secret }] as Record<string, string>[]) {
    const other = start(['serve', '--json'], { folder, env: { ...env, HOST: '0.0.0.0', ...more } })
    const reported = JSON.parse(await other.said('}\n'))
    expect(reported.open).toBe(false)
    const at = reported.address.replace('0.0.0.0', '127.0.0.1')
    expect((await fetch(`${at}/api/v1/me`)).status).toBe(401)
    const headers = { authorization: `Bearer ${secret}` }
    expect((await fetch(`${at}/api/v1/me`, { headers })).status).toBe('RETOMA_ADMIN_TOKEN' in more ? 200 : 401)
    other.tell('SIGTERM')
    const { stdout, stderr } = await other.ended
    expect(stdout + stderr).not.toContain(secret)
  }
})

test.each([
  [['create', '--role', 'admin'], 'the option --user is missing'],
  [['create', '--user', 'ana'], 'the option --role is missing'],
  [['create', '--user', 'ana', '--role', 'adnin'], 'there is no role "adnin", did you mean "admin"?'],
  [['create', '--user', '', '--role', 'admin'], 'the option user is not usable'],
  [['revoke'], 'give either ids of tokens or --user'],
  [['revoke', '1', '--user', 'ana'], 'give either ids of tokens or --user'],
])('token %j is wrong use', async (args, sentence) => {
  const { code, stderr } = await run(['token', ...args], { folder, env })
  expect(stderr).toContain(sentence)
  expect(code).toBe(2)
})
