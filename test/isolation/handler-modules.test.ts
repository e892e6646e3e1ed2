/** The module of a handler is found, or the error names the reason. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { createEngineOn, openDb } from '../../src/engine/create-engine.ts'
import { defineJob, type Isolation } from '../../src/index.ts'
import type { ConfiguredHandlers } from '../../src/isolation/isolation-mode.ts'
import { liveEngine } from '../support/engine.ts'
import { jobIn } from './jobs.ts'
import { workingOn } from './support.ts'

async function fileWith(name: string, text: string): Promise<URL> {
  const folder = await mkdtemp(join(tmpdir(), 'retoma-handler-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  await writeFile(join(folder, name), text)
  return pathToFileURL(join(folder, name))
}

test('a worker does not start with a handler that is not there', async () => {
  const missing = new URL('./broken/nowhere.mjs', import.meta.url)
  const { engine } = await liveEngine([defineJob({ kind: 'k', handler: missing, isolation: 'process' })])
  await expect(engine.work()).rejects.toMatchObject({
    code: 'bad_definition',
    message: expect.stringContaining(fileURLToPath(missing)),
  })
})

test.each<[Isolation, string, string]>([
  ['inline', 'export const nothing = 1', 'it exports no function'],
  ['thread', 'export const nothing = 1', 'it exports no function'],
  ['process', 'export const nothing = 1', 'it exports no function'],
  ['process', 'this is no module', 'handler.mjs, cannot be used: '],
  ['process', `import './not-there.mjs'`, 'not-there.mjs'],
])('%s: a module of %j is a failure that names the file, not a crash', async (isolation, text, problem) => {
  const handler = await fileWith('handler.mjs', text)
  const job = defineJob({ kind: 'k', handler, isolation, maxAttempts: 1 })
  const { ends } = await workingOn(job)
  const ended = await ends(job as never, undefined as never)
  expect(ended).toMatchObject({ state: 'failed', failures: 1, crashes: 0, error: { code: 'handler_unusable' } })
  expect(ended.error!.message).toContain(fileURLToPath(handler))
  expect(ended.error!.message).toContain(problem)
})

test('a function named run, and a CommonJS module, are handlers too', async () => {
  const named = defineJob({ kind: 'named', handler: await fileWith('h.mjs', 'export const run = () => "named"') })
  const common = defineJob({ kind: 'common', handler: await fileWith('h.cjs', 'module.exports = () => "common"') })
  const { ends } = await workingOn(named, common)
  expect((await ends(named as never, undefined as never)).result).toBe('named')
  expect((await ends(common as never, undefined as never)).result).toBe('common')
})

test.each<[Isolation, string, string]>([
  ['inline', 'handler.ts', 'handler.js'],
  ['thread', 'handler.mts', 'handler.mjs'],
  ['process', 'handler.ts', 'handler.js'],
  ['inline', 'handler.mjs', 'handler.mts'],
])('%s: the module %s is found by the name %s', async (isolation, file, name) => {
  const types = file.endsWith('ts')
  const text = `export default (_ctx${types ? ': unknown' : ''}) => 'found'`
  const handler = new URL(name, await fileWith(file, text)).href
  const job = defineJob({ kind: 'k', handler, isolation, maxAttempts: 1 })
  const { ends } = await workingOn(job)
  expect(await ends(job as never, undefined as never)).toMatchObject({ error: null, result: 'found' })
})

test('an error of a TypeScript module is told as it is, and the module runs once', async () => {
  const text = `globalThis.evaluated = (globalThis.evaluated ?? 0) + 1\nthrow new Error('evaluated ' + globalThis.evaluated)`
  const handler = await fileWith('handler.ts', `const a: number = 1\n${text}`)
  const job = defineJob({ kind: 'k', handler, isolation: 'thread', maxAttempts: 1 })
  const { ends } = await workingOn(job)
  const ended = await ends(job as never, undefined as never)
  expect(ended.error!.message).toContain('evaluated 1')
})

test.each(['./handler.js', 'https://example.com/handler.js', 'file:'])('%s is no address of a module', text => {
  expect(() => defineJob({ kind: 'k', handler: text })).toThrow(/handler must be the URL of a file/)
})

test('an input that a child would get as something else is refused', async () => {
  class Money {}
  const input = {
    '~standard': { version: 1, vendor: 'test', validate: () => ({ value: { price: new Money() } }) },
  } as const
  const handler = new URL('./handler.mjs', import.meta.url)
  const job = defineJob({ kind: 'k', input, handler, isolation: 'thread' })
  const { ends } = await workingOn(job)
  const ended = await ends(job as never, {} as never)
  expect(ended).toMatchObject({ state: 'failed', attempt: 1, error: { code: 'bad_value' } })
  expect(ended.error!.message).toContain('input.price is an instance of Money')
})

test('a suspect that is to run alone runs in a process of its own, whatever its kind says', async () => {
  const job = jobIn('inline')
  const { engine, ends, sql } = await workingOn(job)
  expect((await ends(job, { do: 'answer' })).result).toMatchObject({ at: `${process.pid}/0` })
  const { id } = await engine.enqueue(job, { do: 'exit' }, { delay: 60_000 as never })
  await sql(`update retoma.job set crash_suspicion = '{"level": 2}', run_at = now() where id = $1`, [id])
  expect(await engine.wait({ job: id })).toMatchObject({ state: 'failed', crashes: 3, error: { code: 'poison' } })
})

test('so does one whose function is in the configuration that its worker was started from', async () => {
  const config = await fileWith(
    'retoma.config.mjs',
    `export default { jobs: [{ kind: 'k', policy: {}, parse() {}, handler: null, run: async () => process.pid }] }`,
  )
  const job = defineJob({ kind: 'k', run: () => process.pid })
  const { url, sql } = await workingOn(defineJob({ kind: 'other', run: () => 1 }))
  const alone = async (handlers?: ConfiguredHandlers) => {
    await using engine = await createEngineOn(openDb, {
      databaseUrl: url,
      jobs: [job],
      ...(handlers && { handlers }),
    })
    await engine.work()
    const { id } = await engine.enqueue(job, undefined, { delay: 60_000 as never })
    await sql(`update retoma.job set crash_suspicion = '{"level": 2}', run_at = now() where id = $1`, [id])
    return (await engine.wait({ job: id })).result
  }
  expect(await alone()).toBe(process.pid)
  const file = fileURLToPath(config)
  const loader = new URL('../../dist/cli/child-loader.js', import.meta.url)
  const handlers = { loader, config: { folder: join(file, '..'), file }, here: [] }
  expect(await alone(handlers)).not.toBe(process.pid)
  // A handler that needs the engine, which no child has, runs in the process of the worker.
  expect(await alone({ ...handlers, here: ['k'] })).toBe(process.pid)
})
