/** A handler in a module has a single source: the same line of code finds it under tsx, under vitest and in the build. */
import { join } from 'node:path'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { databaseOfTest, output, project, toolFolder } from './support.ts'

const from = new URL('./projects/handler-source/', import.meta.url)
let folder: string
let remove: () => Promise<void> = async () => {}

beforeAll(async () => {
  ;({ folder, remove } = await project({ from, tools: ['@types/node', 'vitest', 'tsx'] }))
})
afterAll(() => remove())

const linesFrom = (file: string) =>
  ['inline', 'thread', 'process'].map(place => `${place}: Hello, Ana from ${file}, skipped\n`).join('')

test('tsx runs the source of the handler, in the worker, in a thread and in a process', async () => {
  const tsx = join(toolFolder('tsx')!, 'dist', 'cli.mjs')
  // tsx leaves a folder of its own in the temporary folder.
  const env = { DATABASE_URL: await databaseOfTest(), TMPDIR: folder }
  expect(await output(folder, [process.execPath, tsx, 'src/main.ts'], env)).toEqual({
    code: 0,
    output: linesFrom('greet.ts'),
  })
})

test('vitest runs the source of the handler, in the worker, in a thread and in a process', async () => {
  const vitest = join(toolFolder('vitest')!, 'vitest.mjs')
  const env = { SERVER_URL: inject('serverUrl') }
  const ended = await output(folder, [process.execPath, vitest, 'run'], env)
  expect(ended, ended.output).toMatchObject({ code: 0, output: expect.stringContaining('3 passed') })
})

test('the build runs the compiled handler, in the worker, in a thread and in a process', async () => {
  const tsc = join(toolFolder('typescript')!, 'bin', 'tsc')
  expect(await output(folder, [process.execPath, tsc])).toEqual({ code: 0, output: '' })
  const env = { DATABASE_URL: await databaseOfTest() }
  expect(await output(folder, [process.execPath, 'dist/main.js'], env)).toEqual({
    code: 0,
    output: linesFrom('greet.js'),
  })
})
