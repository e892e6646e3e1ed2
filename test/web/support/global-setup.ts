/** One browser for all browser tests. The package of the browser unpacks into the temporary folder, which the run owns. */
import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chromium } from 'playwright-core'
import type { TestProject } from 'vitest/node'

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

/** CHROMIUM_PATH names another browser of this machine. */
async function launchOptions(folder: string) {
  const env = { ...process.env, TMPDIR: folder, HOME: folder } as Record<string, string>
  const path = process.env.CHROMIUM_PATH
  if (path !== undefined) return { executablePath: path, env, args: ['--no-sandbox'] }
  // The package looks at the temporary folder when it is loaded.
  const before = process.env.TMPDIR
  process.env.TMPDIR = folder
  const { default: packaged } = await import('@sparticuz/chromium')
  packaged.setGraphicsMode = false
  const executablePath = await packaged.executablePath()
  if (before === undefined) delete process.env.TMPDIR
  else process.env.TMPDIR = before
  return {
    executablePath,
    env,
    args: packaged.args.filter(each => !/single-process|no-zygote/.test(each)),
    chromiumSandbox: false,
  }
}
