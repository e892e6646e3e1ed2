/** Examples as their readers have them: a copy with what its own package.json asks for, compiled, on a database of its own. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, mkdtemp, readFile, realpath, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'

export const here = dirname(fileURLToPath(import.meta.url))
export const root = dirname(here)

interface Package {
  dependencies: Record<string, string>
  devDependencies?: Record<string, string>
}

export async function packageOf(folder: string): Promise<Package> {
  return JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'))
}

/** A copy of the example with its dependencies as they are installed here. */
export async function installed(name: string): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'retoma-example-')))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  await cp(join(here, name), folder, { recursive: true })
  for (const dependency of Object.keys((await packageOf(folder)).dependencies)) {
    const link = join(folder, 'node_modules', dependency)
    await mkdir(dirname(link), { recursive: true })
    await symlink(dependency === 'retoma' ? root : join(here, 'node_modules', dependency), link)
  }
  return folder
}

export const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
export const compile = [
  compiler,
  '--noCheck',
  '--target',
  'es2022',
  '--module',
  'nodenext',
  '--rewriteRelativeImportExtensions',
]

export function start(folder: string, args: string[], env: Record<string, string>): ChildProcess {
  const child = spawn(process.execPath, args, {
    cwd: folder,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

export async function run(folder: string, args: string[], databaseUrl = ''): Promise<{ code: number; output: string }> {
  const child = start(folder, args, { DATABASE_URL: databaseUrl })
  let output = ''
  for (const stream of [child.stdout!, child.stderr!]) stream.on('data', chunk => (output += chunk))
  const [code] = await once(child, 'close')
  return { code, output }
}

/** The example's client, with the types that a tool of others makes of the document at that address. */
export async function generatedClient(address: string): Promise<string> {
  const folder = await installed('client')
  const generator = join(folder, 'node_modules', 'openapi-typescript', 'bin', 'cli.js')
  const { code, output } = await run(folder, [generator, `${address}/api/openapi.json`, '-o', 'api.ts'])
  if (code !== 0) throw new Error(output)
  return folder
}

/** Compiles it with every check. */
export const strictly = [
  compiler,
  '--strict',
  '--skipLibCheck',
  '--target',
  'es2022',
  '--lib',
  'es2022,dom,dom.iterable',
  '--module',
  'nodenext',
  '--rewriteRelativeImportExtensions',
  '--types',
  'node',
  '--typeRoots',
  join(root, 'node_modules', '@types'),
]
