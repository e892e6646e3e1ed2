/** Every example with a `main.ts` runs as its reader would run it, with what its own package.json asks for and no more. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, mkdtemp, readFile, realpath, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, inject, onTestFinished, test } from 'vitest'
import { createTestDatabase } from '../src/testing/index.ts'

const here = dirname(fileURLToPath(import.meta.url))
const root = dirname(here)

async function packageOf(folder: string): Promise<{ dependencies: Record<string, string> }> {
  return JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'))
}

/** A copy of the example with its dependencies as they are installed here. */
async function installed(name: string): Promise<string> {
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

const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
const compile = [
  compiler,
  '--noCheck',
  '--target',
  'es2022',
  '--module',
  'nodenext',
  '--rewriteRelativeImportExtensions',
]

async function run(folder: string, args: string[], databaseUrl = ''): Promise<{ code: number; output: string }> {
  const env = { ...process.env, DATABASE_URL: databaseUrl }
  const child = spawn(process.execPath, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', chunk => (output += chunk))
  const [code] = await once(child, 'close')
  return { code, output }
}

for (const name of ['pg', 'drizzle', 'kysely', 'prisma']) {
  test(`the example with ${name}: the job comes with the commit, and not without it`, async () => {
    const [database, folder] = await Promise.all([createTestDatabase(inject('serverUrl')), installed(name)])
    onTestFinished(database.drop)
    expect(await run(folder, [...compile, 'main.ts'])).toEqual({ code: 0, output: '' })
    const { code, output } = await run(folder, ['main.js'], database.url)
    expect(output).toBe('the invoice of order 1 is made\ncommitted: succeeded\nrolled back: no job\n')
    expect(code).toBe(0)
  })

  test(`the example with ${name} asks for the versions it is tested with`, async () => {
    const [asked, tested, ours] = await Promise.all([join(here, name), here, root].map(packageOf))
    const version = (await readFile(join(root, 'package.json'), 'utf8')).match(/"version": "(.*)"/)![1]
    const known = { ...tested!.dependencies, pg: ours!.dependencies.pg, retoma: version }
    expect(known).toMatchObject(asked!.dependencies)
  })
}

test('the Prisma client is generated from the schema beside it', async () => {
  const schema = await readFile(join(here, 'prisma', 'schema.prisma'), 'utf8')
  const generated = await readFile(join(here, 'prisma', 'generated', 'internal', 'class.ts'), 'utf8')
  expect(generated).toContain(JSON.stringify(schema))
})
