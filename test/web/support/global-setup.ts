/** One browser for all browser tests. The package of the browser unpacks into the temporary folder, which the run owns. */
import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chromium } from 'playwright-core'
import type { TestProject } from 'vitest/node'
import { browserProgram } from '../../support/browser-program.ts'

declare module 'vitest' {
  interface ProvidedContext {
    browserUrl: string
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = mkdtempSync(join(tmpdir(), 'retoma-browser-'))
  const server = await chromium.launchServer(await launchOptions(folder))
  project.provide('browserUrl', server.wsEndpoint())
  return async () => {
    await server.close()
    await rm(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

async function launchOptions(folder: string) {
  const env = { ...process.env, TMPDIR: folder, HOME: folder } as Record<string, string>
  return { ...(await browserProgram(folder)), env, chromiumSandbox: false }
}
