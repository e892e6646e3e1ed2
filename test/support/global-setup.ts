/** One throw-away server for a whole test run; every test makes a database of its own on it. And one list of what was refused. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { startTestServer } from '../../src/testing/index.ts'
import { sawAll, unseen } from './seen-codes.ts'

declare module 'vitest' {
  interface ProvidedContext {
    serverUrl: string
    seenCodes: string
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startTestServer()
  project.provide('serverUrl', server.url)
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
