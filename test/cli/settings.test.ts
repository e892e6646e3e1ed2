/** Every rule of the settings, and the words it is shown in. */
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { documents } from '../../apps/documents/index.ts'
import { readOpenFinanceSettings } from '../../apps/documents/open-finance/settings.ts'
import { quotes } from '../../apps/quotes/index.ts'
import { readQuotesSettings } from '../../apps/quotes/settings.ts'
import { isRetomaError, type RetomaError } from '../../src/errors/errors.ts'
import { readSystemSettings, settingChecks } from '../../src/index.ts'
import { printExample } from '../../src/settings/env-example.ts'
import { readEnvironment, readSettings } from '../../src/settings/index.ts'
import { variables } from '../../src/settings/settings-table.ts'
import { folderWith } from './support.ts'

function refused(work: () => unknown): RetomaError {
  try {
    work()
  } catch (error) {
    if (isRetomaError(error)) return error
    throw error
  }
  throw new Error('it was accepted')
}

const sentence = (environment: Record<string, string>) => refused(() => readSettings(environment)).in('en')

test('with nothing set everything has its default', () => {
  expect(readSettings({})).toMatchObject({
    DATABASE_URL: undefined,
    RETOMA_DATA_DIR: '.retoma',
    HOST: '127.0.0.1',
    PORT: 3000,
    TRUST_PROXY: 0,
    RETENTION_DAYS: 90,
    LOG_LEVEL: 'info',
    LOG_FORMAT: undefined,
  })
})

test('an empty variable counts as absent, and space around a value does not count', () => {
  expect(readSettings({ PORT: '', DATABASE_DIRECT_URL: ' ', LOG_LEVEL: ' debug ' })).toMatchObject({
    PORT: 3000,
    DATABASE_DIRECT_URL: undefined,
    LOG_LEVEL: 'debug',
  })
})

test.each(['', '  ', '\t'])(
  'DATABASE_URL set to nothing (%j) is refused: it would be another database than was meant',
  empty => {
    expect(sentence({ DATABASE_URL: empty })).toContain('DATABASE_URL is not usable: it is set to nothing')
  },
)

test('DATABASE_URL=embedded asks for the embedded PostgreSQL by name', () => {
  expect(readSettings({ DATABASE_URL: ' embedded ' }).DATABASE_URL).toBeUndefined()
})

test('what is well-formed is accepted', () => {
  const token = '0123456789abcdef'
  expect(readSettings({ PORT: '0' }).PORT).toBe(0)
  expect(readSettings({ DATABASE_URL: 'postgresql:///retoma?host=/tmp/socket' }).DATABASE_URL).toContain('/tmp/socket')
  expect(readSettings({ PUBLIC_URL: 'https://jobs.example.com/' }).PUBLIC_URL).toBe('https://jobs.example.com')
  expect(readSettings({ HOST: '::1', RETOMA_LIMITS: 'off' }).RETOMA_LIMITS).toBe('off')
  expect(readSettings({ HOST: '0.0.0.0', RETOMA_ADMIN_TOKEN: token }).HOST).toBe('0.0.0.0')
  expect(readSettings({ TRUST_PROXY: 'true' }).TRUST_PROXY).toBe(1)
  expect(readSettings({ RETOMA_FETCH_ALLOW: 'Localhost:8080, [::1]:9 10.0.0.7:80' }).RETOMA_FETCH_ALLOW).toEqual([
    'localhost:8080',
    '[::1]:9',
    '10.0.0.7:80',
  ])
})

describe('a bad setting is named, with what is wrong', () => {
  test.each<[Record<string, string>, string]>([
    [{ PORT: 'abc' }, 'PORT is not usable: it is a whole number from 0 to 65535, not "abc"'],
    [{ PORT: '65536' }, 'PORT is not usable: it is a whole number from 0 to 65535, not "65536"'],
    [{ PORT: '3000.5' }, 'PORT is not usable: it is a whole number from 0 to 65535, not "3000.5"'],
    [{ HOST: 'http://x' }, 'HOST is not usable: it is a name or an address without scheme or port'],
    [{ LOG_LEVEL: 'loud' }, 'LOG_LEVEL is not usable: it is one of debug, info, warn, error, silent, not "loud"'],
    [{ LOG_FORMAT: 'xml' }, 'LOG_FORMAT is not usable: it is one of pretty, json, not "xml"'],
    [{ RETENTION_DAYS: '0' }, 'RETENTION_DAYS is not usable: it is a whole number from 1 to 36500, not "0"'],
    [{ RETENTION_DAYS: 'ninety' }, 'RETENTION_DAYS is not usable: it is a whole number from 1 to 36500'],
    [{ RETOMA_LIMITS: 'on' }, 'RETOMA_LIMITS is not usable: it is off or not set, not "on"'],
    [{ TRUST_PROXY: 'yes' }, 'TRUST_PROXY is not usable: it is how many proxies stand in front'],
    [{ PUBLIC_URL: 'example.com' }, 'PUBLIC_URL is not usable: it must begin with http:// or https://'],
    [{ PUBLIC_URL: 'ftp://x' }, 'PUBLIC_URL is not usable: it must begin with http:// or https://'],
    [{ RETOMA_FETCH_ALLOW: 'localhost' }, 'RETOMA_FETCH_ALLOW is not usable: it is a list of host:port'],
    [{ RETOMA_FETCH_ALLOW: 'a:99999' }, '"a:99999" is none'],
    [{ RETOMA_ADMIN_TOKEN: 'short' }, 'RETOMA_ADMIN_TOKEN is not usable: it has fewer than 16 characters'],
    [{ CRON_SECRET: 'fifteen letters' }, 'CRON_SECRET is not usable: it has fewer than 16 characters'],
    [{ RETOMA_ADMIN_TOKEN: 'sixteen letters é' }, 'a request header cannot carry'],
    [{ UPSTASH_REDIS_REST_TOKEN: 'x' }, 'UPSTASH_REDIS_REST_URL is not usable: it is missing'],
    [
      { RETOMA_DATADIR: 'x' },
      'RETOMA_DATADIR is not usable: there is no such setting, did you mean "RETOMA_DATA_DIR"?',
    ],
    [{ RETOMA_PORT: '3000' }, 'RETOMA_PORT is not usable: there is no such setting, did you mean "PORT"?'],
    [{ RETOMA_FROBNICATE: '1' }, 'RETOMA_FROBNICATE is not usable: there is no such setting'],
  ])('%j', (environment, expected) => {
    const error = refused(() => readSettings(environment))
    expect(error.code).toBe('bad_setting')
    expect(error.in('en')).toContain(expected)
    expect(error.in('pt')).toMatch(/^\S+ não serve: /)
  })
})

describe('the value of a secret is never shown', () => {
  const secrets = Object.entries(variables).filter(([, variable]) => 'secret' in variable)

  test.each(secrets.map(([name]) => name))('%s', name => {
    for (const value of [
      'hunter2',
      'http:/hunter2',
      'mysql://u:hunter2@h/db',
      'postgres://u:hunter2%@h/db',
      'hunter2 ã',
    ]) {
      try {
        readSettings({ [name]: value })
      } catch (error) {
        const { message, facts } = error as RetomaError
        expect(message + JSON.stringify(facts)).not.toContain('hunter2')
      }
    }
  })
})

test('DATABASE_URL must be a postgres URL that the driver can read', () => {
  expect(sentence({ DATABASE_URL: 'mysql://h/db' })).toContain('it must look like postgres://')
  expect(sentence({ DATABASE_URL: 'localhost' })).toContain('it must look like postgres://')
  for (const none of ['postgres://', 'postgres:///', 'postgresql:', 'postgres://?host='])
    expect(sentence({ DATABASE_URL: none }), none).toMatch(/DATABASE_URL.*it names neither a host/)
  expect(readSettings({ DATABASE_URL: 'postgres:///retoma' }).DATABASE_URL).toBe('postgres:///retoma')
  expect(sentence({ DATABASE_DIRECT_URL: 'x' })).toContain('DATABASE_DIRECT_URL is not usable')
  expect(sentence({ DATABASE_URL: 'postgres://u:100%@h/db' })).toContain('write it as %25')
})

test('a host other than loopback is refused with limits off', () => {
  const open = { HOST: '10.0.0.1', RETOMA_ADMIN_TOKEN: '0123456789abcdef', RETOMA_LIMITS: 'off' }
  expect(sentence(open)).toContain('RETOMA_LIMITS is not usable: off is for development on loopback')
  for (const HOST of ['127.0.0.1', '127.8.8.8', 'localhost', '::1']) expect(readSettings({ HOST }).HOST).toBe(HOST)
})

test('what Kubernetes sets for a service called retoma is not taken for a typo', () => {
  readSettings({
    RETOMA_SERVICE_HOST: '10.1.1.1',
    RETOMA_SERVICE_PORT_HTTP: '3000',
    RETOMA_PORT: 'tcp://10.1.1.1:3000',
    RETOMA_API_PORT_3000_TCP_ADDR: '10.1.1.1',
    RETOMA_TEST_ANYTHING: '1',
  })
})

test('a system reads its variables by a table of its own, and an unusable one is named', () => {
  const table = {
    SHOP_KEY: { meaning: 'Key', absent: 'none', secret: true, read: settingChecks.text },
    SHOP_URL: { meaning: 'Address', default: 'https://shop.example', read: settingChecks.webUrl },
    SHOP_SIZE: { meaning: 'Size', default: '20', read: settingChecks.wholeNumber(1, 50) },
  } as const
  const usual = { SHOP_KEY: undefined, SHOP_URL: 'https://shop.example', SHOP_SIZE: 20 }
  expect(readSystemSettings(table, {})).toEqual(usual)
  expect(readSystemSettings(table, { SHOP_KEY: ' k ', SHOP_SIZE: '' })).toEqual({ ...usual, SHOP_KEY: 'k' })
  const error = refused(() => readSystemSettings(table, { SHOP_SIZE: '51' }))
  expect(error.in('en')).toBe('SHOP_SIZE is not usable: it is a whole number from 1 to 50, not "51"')
})

test('the services without a key are simulated, in a fixed order, and a pair goes together', () => {
  const simulatedBank = (environment: Record<string, string>) =>
    documents({ openFinance: { settings: readOpenFinanceSettings(environment) } }).simulated
  expect(simulatedBank({})).toEqual(['pluggy'])
  expect(simulatedBank({ PLUGGY_CLIENT_ID: 'x', PLUGGY_CLIENT_SECRET: 'y' })).toEqual([])
  const some = { ANTHROPIC_API_KEY: 'x', FIPE_BASE_URL: 'https://fipe.example' }
  const simulated = (environment: Record<string, string>) =>
    quotes({ settings: readQuotesSettings(environment) }).simulated
  expect(simulated({})).toEqual(['anthropic', 'serpapi', 'fipe'])
  expect(simulated(some)).toEqual(['serpapi'])
  const error = refused(() => readOpenFinanceSettings({ PLUGGY_CLIENT_ID: 'x' }))
  expect(error.in('en')).toContain(
    'PLUGGY_CLIENT_SECRET is not usable: it is missing, and PLUGGY_CLIENT_ID goes with it',
  )
})

describe('.env', () => {
  test('is read, and what is really set wins, also when it is set to nothing', () => {
    const folder = folderWith({ '.env': '\uFEFFPORT=4000\nHOST="localhost" # mine\nLOG_LEVEL=debug\n' })
    expect(readEnvironment(folder, { PORT: '5000', LOG_LEVEL: '' })).toEqual({
      PORT: '5000',
      HOST: 'localhost',
      LOG_LEVEL: '',
    })
  })

  test('may be missing', () => {
    expect(readEnvironment(folderWith(), { A: '1' })).toEqual({ A: '1' })
  })

  test('that is a folder or may not be read is named', () => {
    const folder = folderWith()
    mkdirSync(join(folder, '.env'))
    const error = refused(() => readEnvironment(folder, {}))
    expect(error.in('en')).toBe(`${folder}/.env is not usable: it is a folder, not a file`)
  })

  test('that this user may not read is named', async context => {
    const folder = folderWith({ '.env': 'PORT=1' })
    chmodSync(join(folder, '.env'), 0)
    if (process.geteuid?.() !== 0)
      return expect(refused(() => readEnvironment(folder, {})).in('en')).toContain('this user may not read it')
    // Root may read everything: another user tries.
    chmodSync(folder, 0o755)
    const module = new URL('../../dist/settings/environment.js', import.meta.url).href
    const code = `const { readEnvironment } = await import(${JSON.stringify(module)}); readEnvironment(${JSON.stringify(folder)}, {})`
    const nobody = { uid: 65534, gid: 65534, cwd: '/', encoding: 'utf8' } as const
    const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', code], nobody)
    if (stderr.includes('ERR_MODULE_NOT_FOUND'))
      return context.skip('this checkout lies below a folder that only root may enter')
    expect(status).toBe(1)
    expect(stderr).toContain('this user may not read it')
  })
})

test('.env.example names every variable, and read as it is it changes nothing', () => {
  const text = printExample({ 'Of the shop': { SHOP_KEY: { meaning: 'Key', absent: 'none', read: String } } })
  expect(text).toContain('# Of the shop\n\n# Key. Absent: none.\n# SHOP_KEY=\n')
  for (const name of Object.keys(variables)) expect(text).toContain(`\n# ${name}=`)
  const asSettings = readEnvironment(folderWith({ '.env': text.replace(/^# ([A-Z_]+=)/gm, '$1') }), {})
  expect(readSettings(asSettings)).toEqual(readSettings({}))
})
