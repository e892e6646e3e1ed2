/**
 * One throw-away server for a whole test run; every test makes a database of its own on it. And dist/ as the sources are: the
 * processes and threads that tests start run what was built, because Node 20 cannot read TypeScript.
 */
import type { TestProject } from 'vitest/node'
import { createEngine } from '../../src/index.ts'
import { createTestDatabase, startTestServer } from '../../src/testing/index.ts'

const { setup: build } = await import(new URL('../../scripts/setup.mjs', import.meta.url).href)

declare module 'vitest' {
  interface ProvidedContext {
    serverUrl: string
    /** The database that has our tables and nothing in them: to be copied, never to be connected to. */
    template: string
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  await build({ build: true })
  const server = await startTestServer()
  project.provide('serverUrl', server.url)
  const { url } = await createTestDatabase(server.url)
  await (await createEngine({ databaseUrl: url })).close()
  project.provide('template', new URL(url).pathname.slice(1))
  return () => server.stop()
}
