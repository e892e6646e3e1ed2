/**
 * One throw-away server for a whole test run; every test makes a database of its own on it. One list of what was refused. And
 * dist/ as the sources are: the processes and threads that tests start run what was built, because Node 20 cannot read TypeScript.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { createEngine } from '../../src/index.ts'
import { createTestDatabase, startTestServer } from '../../src/testing/index.ts'
import { sawAll, unseen } from './seen-codes.ts'

const { setup: build } = await import(new URL('../../scripts/setup.mjs', import.meta.url).href)

declare module 'vitest' {
  interface ProvidedContext {
    serverUrl: string
    /** The database that has our tables and nothing in them: to be copied, never to be connected to. */
    template: string
    seenCodes: string
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  await build({ build: true })
  const server = await startTestServer()
  project.provide('serverUrl', server.url)
  const { url } = await createTestDatabase(server.url)
  await (await createEngine({ databaseUrl: url })).close()
  project.provide('template', new URL(url).pathname.slice(1))
  const folder = await mkdtemp(join(tmpdir(), 'retoma-seen-'))
  const seen = join(folder, 'codes')
  await writeFile(seen, '')
  project.provide('seenCodes', seen)
  return async () => {
    const missing = sawAll(project) ? unseen(seen) : []
    await Promise.all([server.stop(), rm(folder, { recursive: true, force: true })])
    if (missing.length === 0) return
    console.error(`told by a route, and seen by no test:\n${missing.join('\n')}`)
    // What is thrown here is printed, and no more.
    process.exitCode = 1
  }
}
