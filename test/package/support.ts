/** Projects of users: a folder below the installed package, with tools that the repository has installed elsewhere. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { inject, onTestFinished } from 'vitest'
import { createTestDatabase } from '../../src/testing/index.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const places = ['node_modules', 'examples/node_modules', 'test/runtimes/node_modules'].map(each => join(root, each))

/** Where a tool is installed; undefined if the tool is not made for this system. */
export const toolFolder = (name: string): string | undefined =>
  places.map(place => join(place, name)).find(folder => existsSync(join(folder, 'package.json')))

/** Makes a project of a copy of `from` with these tools. The project lasts until `remove` is called. */
export async function project({ from, tools }: { from: URL; tools: readonly string[] }) {
  const folder = await mkdtemp(join(inject('packed').folder, 'project-'))
  await cp(fileURLToPath(from), folder, { recursive: true })
  await writeFile(join(folder, 'package.json'), JSON.stringify({ name: 'app', private: true, type: 'module' }))
  for (const tool of tools) {
    const link = join(folder, 'node_modules', tool)
    await mkdir(dirname(link), { recursive: true })
    await symlink(toolFolder(tool)!, link)
  }
  return { folder, remove: () => rm(folder, { recursive: true, force: true }) }
}

/** The URL of a database for the test. */
export async function databaseOfTest(): Promise<string> {
  const database = await createTestDatabase(inject('serverUrl'))
  onTestFinished(database.drop)
  return database.url
}

/** Runs a program to its end. The output is stdout and stderr in one text. */
export function output(
  folder: string,
  [program, ...args]: readonly [string, ...string[]],
  env: Record<string, string> = {},
): Promise<{ code: number; output: string }> {
  return new Promise(resolve => {
    const child = execFile(
      program,
      args,
      { cwd: folder, env: { ...process.env, LOG_LEVEL: 'warn', ...env }, maxBuffer: 2 ** 26 },
      error => resolve({ code: error === null ? 0 : Number(child.exitCode ?? 1), output: text }),
    )
    let text = ''
    for (const stream of [child.stdout!, child.stderr!]) stream.on('data', chunk => (text += chunk))
  })
}
