/** `retoma init` with an existing database: the proposed guards, and no change before a confirmation. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { expect, inject, onTestFinished, test } from 'vitest'
import { createTestDatabase } from '../../src/testing/index.ts'
import { answer, folderWith, run } from './support.ts'

interface Proposed {
  guards: object[]
  next: string[]
}

async function databaseWith(tables: string) {
  const { url, drop } = await createTestDatabase(inject('serverUrl'))
  onTestFinished(drop)
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(tables)
  await client.end()
  return { DATABASE_URL: url }
}

test('init proposes guards for the tables it finds: none is active, each can be looked at, and they hold as they stand', async () => {
  const env = await databaseWith(`
    create table documents (id int primary key, status text, updated_at timestamptz, error_message text);
    insert into documents values (1, 'DONE', now(), null), (2, 'PROCESSING', now() - interval '1 hour', null);
    create table plain (id int primary key, status text, updated_at timestamptz);
    create schema "odd.one";
    create type "odd.one".phase as enum ('queued', 'running', 'failed');
    create table "odd.one"."it's" (id int primary key, state "odd.one".phase, heartbeat_at timestamptz, updated_at timestamp)`)
  const folder = folderWith()
  const { guards, next } = await answer<Proposed>(['init'], { folder, env })
  expect(guards).toMatchObject([
    { table: `"odd.one".it's`, signal: ['heartbeat_at', 'updated_at'], set: { state: 'failed' } },
    { table: 'documents', set: { status: 'FAILED', error_message: 'Processing timeout (watchdog)' } },
  ])
  const file = join(folder, 'retoma.config.ts')
  const text = readFileSync(file, 'utf8')
  expect(next.filter(each => text.includes(`// ${each}\n`))).toHaveLength(2)
  expect(text).toContain('defineConfig({ jobs: [hello], guards: [] })')

  writeFileSync(file, text.replace('guards: []', 'guards: proposed'))
  await answer(['migrate'], { folder, env })
  const { items } = await answer<{ items: object[] }>(['guard', '--dry-run'], { folder, env })
  expect(items).toMatchObject([
    { name: 'odd.one.it_s', marked: 0 },
    { name: 'documents', marked: 1 },
  ])
})

test('init says why it proposes none, and writes its files all the same', async () => {
  const folder = folderWith()
  const { code, stderr } = await run(['init'], { folder, env: { DATABASE_URL: 'postgres://127.0.0.1:1/app' } })
  expect(code).toBe(0)
  expect(stderr).toContain('no guards are proposed: the database at 127.0.0.1:1/app does not answer')
  expect(readFileSync(join(folder, 'retoma.config.ts'), 'utf8')).not.toContain('defineGuard')
})

test.each([
  ['package-lock.json', 'npm install retoma', 'npx retoma up', 'node --import retoma/register --test hello.test.ts'],
  ['pnpm-lock.yaml', 'pnpm add retoma', 'pnpm exec retoma up', 'node --import retoma/register --test hello.test.ts'],
  ['yarn.lock', 'yarn add retoma', 'yarn retoma up', 'yarn node --import retoma/register --test hello.test.ts'],
])('where there is a %s, the next commands are those of its package manager', async (lockfile, ...commands) => {
  const folder = folderWith({ [lockfile]: '' })
  expect((await answer<Proposed>(['init'], { folder })).next).toEqual(expect.arrayContaining(commands))
})
