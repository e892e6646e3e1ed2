/**
 * A database with our tables, on the run's shared server: a copy of the one that global-setup has migrated. A copy takes a third
 * of the time that the migrations take. The tests of an application (apps/) get its tables too; the tests of the engine only when they
 * ask for them.
 */
import pg from 'pg'
import { inject } from 'vitest'
import { randomName } from '../../src/lib/random.ts'
import type { TestDatabase } from '../../src/testing/index.ts'

export async function migratedDatabase(tables?: 'with systems'): Promise<TestDatabase> {
  const name = randomName('retoma_test').replace('-', '_')
  const withSystems = tables !== undefined || isOfApplication()
  // Copied as files: by itself PostgreSQL writes each page into its log, which takes three times as long.
  const template = inject(withSystems ? 'systemsTemplate' : 'template')
  await tell(`create database ${name} template ${template} strategy file_copy`)
  const url = new URL(inject('serverUrl'))
  url.pathname = `/${name}`
  return { url: url.href, drop: () => tell(`drop database if exists ${name} with (force)`) }
}

/** Whether the current test file is one of apps/. `expect.getState()` names the previous file until the first test of a file starts. */
export function isOfApplication(): boolean {
  const { __vitest_worker__: worker } = globalThis as { __vitest_worker__?: { filepath?: string } }
  return worker?.filepath?.includes('/apps/') === true
}

async function tell(text: string): Promise<void> {
  const client = new pg.Client({ connectionString: inject('serverUrl') })
  await client.connect()
  await client.query(text).finally(() => client.end())
}
