/** Finding, loading and checking a retoma.config, TypeScript on a bare Node included. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadConfig, strayLimits } from '../../src/cli/load-config.ts'
import { isRetomaError } from '../../src/errors/errors.ts'
import * as library from '../../src/index.ts'
import { folderWith } from './support.ts'

const load = (files: Record<string, string>, configFile?: string) =>
  loadConfig({ folder: folderWith(files), configFile })

async function refusal(files: Record<string, string>, configFile?: string): Promise<string> {
  const error = await load(files, configFile).catch(thrown => thrown)
  if (isRetomaError(error, 'bad_config')) return error.in('en')
  throw new Error(`no bad_config: ${error}`)
}

const hello = `import { defineConfig, defineJob, skip } from 'retoma'
const hello = defineJob({ kind: 'hello', queue: 'greetings', run: async (ctx, input: { name: string }) => skip(input.name) })
export default defineConfig({ jobs: [hello] })`

test('a config in TypeScript is loaded, and its queues have a size', async () => {
  const { file, jobs, queues } = await load({ 'retoma.config.ts': hello })
  expect(file).toMatch(/retoma\.config\.ts$/)
  expect(jobs.map(job => job.kind)).toEqual(['hello'])
  expect(queues).toEqual({ greetings: 10 })
})

test('a config uses this very copy of the library, through its own modules too', async () => {
  const { jobs } = await load({
    'retoma.config.ts': `import { hello } from './jobs/hello.ts'\nexport default { jobs: [hello] }`,
    'jobs/hello.ts': `import { defineJob, skip } from 'retoma'\nexport const hello = defineJob({ kind: 'hello', run: async () => skip('x') })`,
  })
  const answered = await jobs[0]!.run!({} as never, undefined as never)
  expect((answered as object).constructor).toBe(library.skip('x').constructor)
})

test.each([
  ['retoma.config.js', 'export default { queues: { a: 3 } }'],
  ['retoma.config.js', 'module.exports = { queues: { a: 3 } }'],
  ['retoma.config.mjs', 'await Promise.resolve(1)\nexport default { queues: { a: 3 } }'],
  ['retoma.config.ts', 'await Promise.resolve(1)\nexport default { queues: { a: 3 } as Record<string, number> }'],
])('%s may be written as: %s', async (name, text) => {
  expect((await load({ [name]: text })).queues).toEqual({ a: 3 })
})

test('the jobs of schedules are jobs of the config, named once', async () => {
  const tidy = `const tidy = defineSchedule({ name: 'tidy', job: hello, every: minutes(5), input: { name: 'Ana' } })`
  const text = hello
    .replace('skip }', 'defineSchedule, minutes, skip }')
    .replace('export default', `${tidy}\nexport default`)
  for (const jobs of ['jobs: [hello]', 'jobs: []']) {
    const config = await load({ 'retoma.config.ts': text.replace('jobs: [hello]', `${jobs}, schedules: [tidy]`) })
    expect(config.jobs.map(job => job.kind)).toEqual(['hello'])
    expect(config.schedules.map(schedule => schedule.name)).toEqual(['tidy'])
    expect(config.queues).toEqual({ greetings: 10 })
  }
})

test('the jobs of batches are jobs of the config, and so is what runs at their end', async () => {
  const made = `const done = defineJob({ kind: 'done', queue: 'ends', run: () => {} })
const all = defineBatch({ name: 'all', job: hello, onComplete: done })`
  const text = hello
    .replace('skip }', 'defineBatch, skip }')
    .replace('export default', `${made}\nexport default`)
    .replace('jobs: [hello]', 'batches: [all]')
  const config = await load({ 'retoma.config.ts': text })
  expect(config.jobs.map(job => job.kind)).toEqual(['hello', 'done'])
  expect(config.batches.map(batch => batch.name)).toEqual(['all'])
  expect(config.queues).toEqual({ greetings: 10, ends: 10 })
})

test('without a config there is nothing registered', async () => {
  const { connection, ...config } = await load({})
  expect(await connection()).toBe(undefined)
  expect(config).toEqual({
    file: undefined,
    systems: [],
    simulated: [],
    jobs: [],
    batches: [],
    schedules: [],
    guards: [],
    queues: {},
    workerOnly: [],
    limits: {},
    routes: [],
    errors: {},
  })
})

test('--config names another file, which must be there', async () => {
  expect((await load({ 'other.ts': hello }, 'other.ts')).jobs).toHaveLength(1)
  expect(await refusal({}, 'other.ts')).toBe('other.ts cannot be used: there is no such file')
})

test.each([
  ['const x: number =\n\n}', 'retoma.config.ts:3 cannot be used: ParseError: Unexpected token'],
  ['\n\nthrow new TypeError("boom")', 'retoma.config.ts:3 cannot be used: TypeError: boom'],
  ['throw "boom"', 'retoma.config.ts cannot be used: boom'],
  [
    'import x from "./nothing.ts"\nexport default x',
    "retoma.config.ts cannot be used: Error: Cannot find module './nothing.ts'",
  ],
  [
    'import { defineJob } from "retoma"\nexport default { jobs: [defineJob({ kind: "a", atempts: 3, run: async () => 1 })] }',
    'retoma.config.ts:2 cannot be used: the definition of the job "a" is not usable: there is no option "atempts", did you mean "maxAttempts"?',
  ],
  ['export const a = 1', 'retoma.config.ts cannot be used: it must export a config by default'],
  ['export default []', 'it must export a config by default'],
  ['export default { job: [] }', 'there is no "job" in a config, did you mean "jobs"?'],
  ['export default { connection: { hostname: "db" } }', 'pg has no such option, did you mean "host"?'],
  ['export default { connection: "postgres://h/d" }', 'a connection string is databaseUrl'],
  ['export default { pool: {} }', 'there is no "pool" in a config; the command line takes connection'],
  ['export default { systems: [{ name: "a", connection: { host: "db" } }] }', 'there is no "connection"'],
  ["export default { databaseUrl: 'postgres://h/d' }", 'there is no "databaseUrl" in a config; set DATABASE_URL'],
  ['export default { concurrency: 5 }', 'there is no "concurrency" in a config, did you mean "queues"?'],
  ['export default { tasks: [] }', 'there is no "tasks" in a config, did you mean "jobs"?'],
  ['export default { jobs: {} }', 'jobs must be a list of what defineJob answers'],
  ['export default { jobs: [{ kind: "a", run() {} }] }', 'jobs[0] was not made by defineJob'],
  [hello.replace('[hello]', '[hello, hello]'), 'two jobs have the kind "hello"'],
  ['export default { batches: {} }', 'batches must be a list of what defineBatch answers'],
  ['export default { batches: [{ name: "a" }] }', 'batches[0] was not made by defineBatch'],
  [
    hello.replace(
      'jobs: [hello]',
      'batches: [1, 2].map(() => ({ name: "a", job: hello, onComplete: null, policy: {} }))',
    ),
    'two batches have the name "a"',
  ],
  ['export default { schedules: {} }', 'schedules must be a list of what defineSchedule answers'],
  ['export default { schedules: [{ name: "a" }] }', 'schedules[0] was not made by defineSchedule'],
  [
    hello.replace(
      'jobs: [hello]',
      'schedules: [1, 2].map(() => ({ name: "a", job: hello, recurrence: {}, input() {} }))',
    ),
    'two schedules have the name "a"',
  ],
  ['export default { guards: {} }', 'guards must be a list of what defineGuard answers'],
  ['export default { guards: [{ name: "a", table: "b" }] }', 'guards[0] was not made by defineGuard'],
  [
    'export default { guards: [1, 2].map(() => ({ name: "a", table: {}, signal: [], enqueue: null })) }',
    'two guards have the name "a"',
  ],
  ['export default { queues: { a: 0 } }', 'queues.a must be a whole number from 1 to 10000'],
  ['export default { workerOnly: "a" }', 'workerOnly must be a list of queue names'],
  [
    'export default { limits: { default: { concurency: 3 } } }',
    'retoma.config.ts cannot be used: the option limits.default.concurency is not usable: there is no such option',
  ],
  [
    'export default { limits: { default: { rate: { limit: 3, per: 60 } } } }',
    'retoma.config.ts cannot be used: the option limits.default.rate.per is not usable: it is a duration from 1 second',
  ],
  ['export default { limits: 3 }', 'retoma.config.ts cannot be used: the option limits is not usable'],
  ['export default { queues: [1] }', 'queues must map queue names'],
])('refused: %s', async (text, sentence) => {
  expect(await refusal({ 'retoma.config.ts': text })).toContain(sentence)
})

test('limits of a queue that no job is in are known as such, those that are lifted excepted', async () => {
  const limits = '{ greetings: { concurrency: 1 }, greeting: { concurrency: 1 }, old: {} }'
  const text = hello.replace('jobs: [hello]', `jobs: [hello], limits: ${limits}`)
  expect(strayLimits(await load({ 'retoma.config.ts': text }))).toEqual(['greeting'])
})

test('an error in a module of the config is placed there', async () => {
  const sentence = await refusal({
    'retoma.config.ts': `import { a } from './jobs/a.ts'\nexport default a`,
    [join('jobs', 'a.ts')]: `\nexport const a = (() => { throw new Error('boom') })()`,
  })
  expect(sentence).toBe('jobs/a.ts:2 cannot be used: Error: boom')
})
