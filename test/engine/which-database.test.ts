/** The database of an engine in an application: the same settings, from the same sources, as for the command line. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, expect, inject, test, vi } from 'vitest'
import { withSettings } from '../../src/engine/engine-options.ts'
import { createEngine, days, hours, isRetomaError } from '../../src/index.ts'
import { silentLog } from '../../src/lib/logging/log.ts'
import { folderWith, run } from '../cli/support.ts'
import { shareDatabase } from '../support/engine.ts'
import { englishIn } from '../support/portuguese.ts'

afterEach(() => vi.unstubAllEnvs())

const elsewhere = 'postgres://ana:secret@db.example.com:6432/app'

function refusalOf(work: () => unknown) {
  try {
    work()
  } catch (error) {
    if (isRetomaError(error)) return error
    throw error
  }
  throw new Error('it was accepted')
}

test('an option wins over the environment, and the environment over .env', () => {
  const folder = folderWith({ '.env': `DATABASE_URL=${elsewhere}\nRETENTION_DAYS=7\n` })
  expect(withSettings({}, folder)).toMatchObject({ databaseUrl: elsewhere, retention: days(7) })
  vi.stubEnv('DATABASE_URL', 'postgres://other.example.com/app')
  expect(withSettings({}, folder).databaseUrl).toBe('postgres://other.example.com/app')
  const options = { databaseUrl: 'postgres://third.example.com/app', retention: hours(1) }
  expect(withSettings(options, folder)).toMatchObject(options)
  expect(process.env.RETENTION_DAYS).toBeUndefined()
})

test('every setting of the engine counts in the library, too', () => {
  const lines = ['RETOMA_DATA_DIR=data', 'RETOMA_NOTIFY_URL=https://example.com/hook', 'RETOMA_NOTIFY_SECRET=s']
  const more = ['RETOMA_NOTIFY_LANGUAGE=en', 'PUBLIC_URL=https://jobs.example.com', 'RETOMA_WORKER_MEMORY=512']
  const upstash = ['UPSTASH_REDIS_REST_URL=https://redis.example.com', 'UPSTASH_REDIS_REST_TOKEN=t']
  const folder = folderWith({ '.env': [...lines, ...more, ...upstash].join('\n') })
  expect(withSettings({}, folder)).toMatchObject({
    databaseUrl: undefined,
    dataDir: join(folder, 'data'),
    notify: { url: 'https://example.com/hook', secret: 's', link: 'https://jobs.example.com', language: 'en' },
    rateLimits: { url: 'https://redis.example.com', token: 't' },
    workerMemory: 512 * 1024 * 1024,
  })
  expect(withSettings({}, folderWith({ '.env': 'RETOMA_LIMITS=off' })).rateLimits).toBe('off')
})

test.each<[what: string, line: string, says: string]>([
  ['a typo', 'RETOMA_NOTIFY_ULR=https://example.com', 'did you mean "RETOMA_NOTIFY_URL"?'],
  ['an address that is none', 'DATABASE_URL=localhost', 'DATABASE_URL is not usable'],
  ['an empty address', 'DATABASE_URL=', 'it is set to nothing'],
  ['half of a pair', 'UPSTASH_REDIS_REST_URL=https://redis.example.com', 'UPSTASH_REDIS_REST_TOKEN is not usable'],
  ['a number that is none', 'RETENTION_DAYS=ninety', 'RETENTION_DAYS is not usable'],
])('%s in the settings is refused by name', (_, line, says) => {
  const error = refusalOf(() => withSettings({}, folderWith({ '.env': line })))
  expect(error.message).toContain(says)
  expect(englishIn(error)).toEqual([])
})

test('the direct address of DATABASE_URL is used for no other database', () => {
  vi.stubEnv('DATABASE_URL', elsewhere)
  vi.stubEnv('DATABASE_DIRECT_URL', 'postgres://direct.example.com/app')
  const folder = folderWith()
  expect(withSettings({}, folder).databaseDirectUrl).toBe('postgres://direct.example.com/app')
  expect(withSettings({ databaseUrl: 'postgres://test.example.com/app' }, folder).databaseDirectUrl).toBeUndefined()
  expect(withSettings({ databaseUrl: 'embedded' }, folder)).toMatchObject({
    databaseUrl: undefined,
    databaseDirectUrl: undefined,
  })
})

test('in production an engine without a database is refused with what to set, and makes no data folder', async () => {
  vi.stubEnv('NODE_ENV', 'production')
  const error = await createEngine({ jobs: [] }).catch((refusal: unknown) => refusal)
  expect(error).toMatchObject({ code: 'no_database', message: expect.stringContaining('set DATABASE_URL') })
  expect(englishIn(error)).toEqual([])
  expect(withSettings({ databaseUrl: 'embedded' }, folderWith())).toMatchObject({ embeddedByDefault: false })
  vi.stubEnv('DATABASE_URL', 'embedded')
  expect(withSettings({}, folderWith())).toMatchObject({ databaseUrl: undefined, embeddedByDefault: false })
  expect(refusalOf(() => withSettings({}, folderWith({ '.env': 'RETOMA_LIMITS=off' }))).code).toBe('bad_setting')
})

test.each(['', ' ', 'localhost', 'mysql://x/y'])(
  'databaseUrl %j is refused, also where DATABASE_URL is set',
  async url => {
    vi.stubEnv('DATABASE_URL', inject('serverUrl'))
    const error = await createEngine({ databaseUrl: url }).catch((refusal: unknown) => refusal)
    expect(error).toMatchObject({ code: 'bad_option', facts: { option: 'databaseUrl' } })
  },
)

test('one line of the log says which database it is, without user and password', async () => {
  const lines: unknown[] = []
  const log = { ...silentLog, info: (facts: object, message: string) => void lines.push({ ...facts, message }) }
  const url = await shareDatabase()
  await (await createEngine({ databaseUrl: url, log })).close()
  const reported = lines.filter(line => JSON.stringify(line).includes('the database of this engine'))
  expect(reported).toHaveLength(1)
  expect(JSON.stringify(reported)).toContain(new URL(url).pathname.slice(1))
  expect(JSON.stringify(reported)).not.toContain('://')
})

const library = new URL('../../dist/index.js', import.meta.url).href

test('a program without options finds its database in .env, and logs JSON lines to a pipe; with log: false the program logs nothing', async () => {
  const url = await shareDatabase()
  const folder = folderWith({ '.env': `DATABASE_URL="${url}"\n` })
  const program = `
    const { createEngine } = await import(${JSON.stringify(library)})
    const engine = await createEngine()
    const { rows } = await engine.query('select current_database() as name')
    console.log(rows[0].name)
    await engine.close()
    await (await createEngine({ log: false })).close()`
  const { DATABASE_URL: _, LOG_LEVEL: __, ...env } = process.env
  const args = ['--input-type=module', '-e', program]
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { cwd: folder, env })
  expect(stdout.trim()).toBe(new URL(url).pathname.slice(1))
  const [line, ...others] = stderr.trim().split('\n')
  expect(JSON.parse(line!)).toMatchObject({ level: 'info', msg: 'the database of this engine' })
  expect(others).toEqual([])
  expect(existsSync(join(folder, '.retoma'))).toBe(false)
})

test.each([['serve'], ['worker']])(
  'retoma %s in production without a database is refused with what to set',
  async command => {
    const folder = folderWith({
      'retoma.config.mjs': `import { defineJob } from 'retoma'
    export default { jobs: [defineJob({ kind: 'x', run: () => 1 })] }`,
    })
    const env = { NODE_ENV: 'production', RETOMA_SUPERVISE: 'off', PORT: '0' }
    const { code, stderr } = await run([command], { folder, env })
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringContaining('error no_database: no database is set'),
    })
    expect(existsSync(join(folder, '.retoma'))).toBe(false)
  },
)
