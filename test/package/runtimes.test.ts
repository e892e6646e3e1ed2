/** The twelfth task: the runtimes, bundlers, test runners and compilers that docs/runtimes.md names, with the packed package. */
import { copyFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { databaseOfTest, output, project, toolFolder } from './support.ts'

const from = new URL('./projects/runtimes/', import.meta.url)
let folder: string
let remove: () => Promise<void> = async () => {}

beforeAll(async () => {
  const tools = ['jest', '@jest/globals', 'esbuild']
  ;({ folder, remove } = await project({ from, tools }))
})
afterAll(() => remove())

/** How a program of the runtime starts; undefined if the runtime is not made for this system. */
function runtime(name: string, path: string, ...args: string[]): [string, ...string[]] | undefined {
  const installed = toolFolder(name)
  return installed === undefined ? undefined : [join(installed, path), ...args]
}

const runtimes = {
  'the oldest Node 20': runtime('node-20', 'bin/node'),
  'this Node': [process.execPath] as [string],
  'Node 22': runtime('node-22', 'bin/node'),
  'Node 24': runtime('node-24', 'bin/node'),
  Bun: runtime('@oven/bun-linux-x64', 'bin/bun'),
  Deno: runtime('@deno/linux-x64-glibc', 'deno', 'run', '--allow-all'),
}
const present = Object.entries(runtimes).flatMap(([name, command]) =>
  command === undefined ? [] : [{ name, command }],
)
const others = present.filter(({ name }) => name !== 'this Node')

const greeted = ['succeeded', 'Hello, Ana', 'skipped']
const ofEveryPlace = `${JSON.stringify({ inline: greeted, thread: greeted, process: greeted })}\n`

const run = async (command: readonly [string, ...string[]], file: string) =>
  output(folder, [...command, file] as [string, ...string[]], { DATABASE_URL: await databaseOfTest() })

test.each(others)(
  '$name works on jobs in the process, in a thread and in a process of their own',
  async ({ command }) => {
    expect(await run(command, 'app.mjs')).toEqual({ code: 0, output: ofEveryPlace })
  },
)

test.each(present.filter(({ name }) => name !== 'the oldest Node 20'))('$name requires the package', async each => {
  const ended = await run(each.command, 'app.cjs')
  expect(ended, ended.output).toMatchObject({ code: 0, output: expect.stringContaining('Hello, Ana 200\n') })
})

test.each(present.filter(({ name }) => name === 'the oldest Node 20'))(
  '$name cannot require the package, and import() loads it',
  async ({ command }) => {
    expect(await run(command, 'app.cjs')).toMatchObject({ output: expect.stringContaining('ERR_REQUIRE_ESM') })
    expect(await run(command, 'app-import.cjs')).toEqual({ code: 0, output: 'Hello, Ana\n' })
  },
)

test('a bundle of an app by esbuild runs, with the package outside the bundle and each handler as an entry', async () => {
  const esbuild = join(toolFolder('esbuild')!, 'bin', 'esbuild')
  const options = ['--bundle', '--platform=node', '--format=esm', '--packages=external', '--log-level=warning']
  const files = ['--outdir=bundle', '--out-extension:.js=.mjs', 'app.mjs', 'handler.mjs']
  expect(await output(folder, [esbuild, ...options, ...files])).toEqual({ code: 0, output: '' })
  expect(await run([process.execPath], 'bundle/app.mjs')).toEqual({ code: 0, output: ofEveryPlace })
})

test('Jest with ES modules runs tests of jobs', async () => {
  const jest = join(toolFolder('jest')!, 'bin', 'jest.js')
  const options = ['--rootDir', folder, '--testMatch', '**/*.jest.js', '--transform', '{}', '--cacheDirectory', '.jest']
  const command = [process.execPath, '--experimental-vm-modules', jest, ...options] as [string, ...string[]]
  const ended = await output(folder, command, { SERVER_URL: inject('serverUrl') })
  expect(ended, ended.output).toMatchObject({ code: 0, output: expect.stringContaining('Tests:       2 passed') })
})

/** CommonJS that requires the package: Node can since 20.19, and the compiler knows since 5.8, with `nodenext`. */
test.each([
  ['5.4', 'node16', ['types.ts']],
  ['5.4', 'bundler', ['types.ts']],
  ['6.0', 'nodenext', ['types.ts', 'types.cts']],
  ['newest', 'nodenext', ['types.ts', 'types.cts']],
  ['newest', 'bundler', ['types.ts']],
])('TypeScript %s resolves the types under moduleResolution %s', async (version, moduleResolution, files) => {
  await copyFile(new URL('./types.example.ts', import.meta.url), join(folder, 'types.ts'))
  const compilerOptions = {
    noEmit: true,
    strict: true,
    target: 'es2022',
    lib: ['es2023', 'esnext.disposable', 'dom'],
    types: [],
    module: moduleResolution === 'bundler' ? 'esnext' : moduleResolution,
    moduleResolution,
  }
  const config = `tsconfig.${version}.${moduleResolution}.json`
  await writeFile(join(folder, config), JSON.stringify({ compilerOptions, files }))
  const tsc = join(toolFolder(version === 'newest' ? 'typescript' : `typescript-${version}`)!, 'bin', 'tsc')
  expect(await output(folder, [process.execPath, tsc, '-p', config])).toEqual({ code: 0, output: '' })
})
