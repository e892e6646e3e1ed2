/**
 * Packs the package once for all tests of packages, and installs the tarball in an empty folder without development dependencies. A test
 * makes its project in a folder below, which finds the installed package as any project does.
 */
import { execFile } from 'node:child_process'
import { chmodSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { TestProject } from 'vitest/node'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../../', import.meta.url))

declare module 'vitest' {
  interface ProvidedContext {
    /** The folder with the installed package, and the tarball. */
    packed: { folder: string; tarball: string }
  }
}

export default async function setup(project: TestProject): Promise<() => void> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'retoma-pack-')))
  // As root, a server of a test runs as another user, which has to be able to pass through.
  chmodSync(folder, 0o711)
  // dist/ is fresh already; prepack would look a second time, and another run may be building beside this one.
  const pack = ['pack', '--ignore-scripts', '--json', '--pack-destination', folder]
  const { stdout } = await run('npm', pack, { cwd: root })
  const [{ filename }] = JSON.parse(stdout) as [{ filename: string }]
  const tarball = join(folder, filename)
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'someone', private: true, type: 'module' }))
  const install = ['install', '--omit=dev', '--no-audit', '--no-fund', '--prefer-offline', tarball]
  await run('npm', install, { cwd: folder })
  project.provide('packed', { folder, tarball })
  return () => rmSync(folder, { recursive: true, force: true })
}
