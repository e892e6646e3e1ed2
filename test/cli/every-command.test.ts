/**
 * Every command in a process of its own. The other tests of the command line run most commands inside their own process, so one test
 * shows for each command that a process prints the same and exits with the same code.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { TestDatabase } from '../../src/testing/index.ts'
import { migratedDatabase } from '../support/database.ts'
import { folderWith, run, spawned } from './support.ts'

let database: TestDatabase
let folder: string
beforeAll(async () => {
  database = await migratedDatabase()
  folder = folderWith({}, 'file')
})
afterAll(() => database.drop())

const there = () => ({ folder, env: { DATABASE_URL: database.url } })

const commands = {
  migrate: ['migrate'],
  init: ['init', '--nonsense'],
  status: ['status'],
  workers: ['workers', '--json'],
  queues: ['queues', 'list'],
  jobs: ['jobs', 'list'],
  batch: ['batch', 'list', '--json'],
  explain: ['explain', '999'],
  providers: ['providers'],
  schedules: ['schedules', '--json'],
  guard: ['guard', 'check', 'none'],
  notify: ['notify', 'test'],
  token: ['token', 'list'],
  doctor: ['doctor', '--nonsense'],
  restore: ['restore', 'none'],
  backup: ['backup', 'none/b.gz'],
}

/** They run until a signal: test/cli/up.test.ts, supervise.test.ts, token.test.ts, watchdog.test.ts. */
const services = ['up', 'serve', 'worker', 'watchdog']

test('every command has a line here', async () => {
  const { stdout } = await run(['--help'], there())
  const named = [...stdout.slice(stdout.indexOf('Commands:')).matchAll(/^ {2}([a-z]+)/gm)].map(([, name]) => name)
  expect(named.filter(name => name !== 'help').sort()).toEqual([...Object.keys(commands), ...services].sort())
})

test.each(Object.entries(commands))('%s prints the same in a process of its own', async (_, args) => {
  const inside = await run(args, there())
  expect(await spawned(args, there())).toEqual(inside)
  expect(inside.stdout + inside.stderr).not.toBe('')
})
