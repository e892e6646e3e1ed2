/** Twelve tasks of a new user, as a TypeScript project on the packed package: tasks/ has eleven, runtimes.test.ts the twelfth. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { databaseOfTest, output, project, toolFolder } from './support.ts'

const from = new URL('./tasks/', import.meta.url)
const tools = ['@types/node', '@types/pg', '@types/express', 'drizzle-orm', 'express', 'kysely', 'pg']
let folder: string
let remove: () => Promise<void> = async () => {}

beforeAll(async () => {
  ;({ folder, remove } = await project({ from, tools }))
  const tsc = join(toolFolder('typescript')!, 'bin', 'tsc')
  expect(await output(folder, [process.execPath, tsc])).toEqual({ code: 0, output: '' })
})
afterAll(() => remove())

const helpers = ['07-export.ts', '10-handler.ts']
const tasks = readdirSync(from).filter(name => name.endsWith('.ts') && !helpers.includes(name))

test.each(tasks)('%s, compiled with every check, does what it says', async name => {
  const program = join('dist', name.replace('.ts', '.js'))
  const ended = await output(folder, [process.execPath, program], { DATABASE_URL: await databaseOfTest() })
  expect(ended, ended.output).toMatchObject({ code: 0 })
})
