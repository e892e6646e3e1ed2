/** One throw-away server for a whole test run; every test makes a database of its own on it. */
import type { TestProject } from 'vitest/node'
import { startTestServer } from '../../src/testing/index.ts'

declare module 'vitest' {
  interface ProvidedContext {
    serverUrl: string
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startTestServer()
  project.provide('serverUrl', server.url)
  return () => server.stop()
}
