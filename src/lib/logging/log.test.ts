import { expect, test } from 'vitest'
import { withoutSecrets } from '../values/redact.ts'
import { createLog, type LogFormat } from './log.ts'

function logged(format: LogFormat, facts: Record<string, unknown>): string {
  let text = ''
  const write = (line: string) => {
    text += line
  }
  createLog({ level: 'info', format, write }).info(facts, 'hello')
  return text
}

const hostile = {
  get trap() {
    throw new Error('no')
  },
}
const circle: Record<string, unknown> = {}
circle.self = circle

test.each<[string, Record<string, unknown>]>([
  ['facts named like the parts of a line', { time: 5, level: 3, msg: 'mine' }],
  ['a getter that throws', hostile],
  ['a circle', circle],
  ['values JSON does not know', { big: 10n, when: new Date(Number.NaN), none: undefined, act: () => {} }],
  ['an error that is none', { err: 'text' }],
])('no fact breaks a line or takes its parts: %s', (_, facts) => {
  expect(logged('pretty', facts)).toContain('hello')
  expect(JSON.parse(logged('json', facts))).toMatchObject({ level: 'info', msg: 'hello', time: expect.any(String) })
})

test('an error of a database that is away is one short line; another error has its stack', () => {
  const away = Object.assign(new Error('database_unreachable: no answer'), { code: 'database_unreachable' })
  const line = logged('pretty', { err: away, waiting: 3 })
  expect(line).toMatch(/^\S+ info {2}hello waiting=3 problem=database_unreachable: no answer\n$/)
  expect(logged('json', { err: away })).not.toContain('stack')
  for (const format of ['pretty', 'json'] as const)
    expect(logged(format, { err: new Error('bug') })).toContain('log.test.ts')
})

test('facts named like the parts of a line are kept beside them', () => {
  expect(JSON.parse(logged('json', { time: 5, level: 3 }))).toMatchObject({ time_: 5, level_: 3 })
})

test('whatever is named like a secret is removed, however deep it lies', () => {
  const facts = {
    token: 'S1',
    a: { b: { c: { apiKey: 'S2', openrouter_api_key: 'S3' } } },
    list: [{ Authorization: 'S4' }],
    databaseUrl: 'S5',
  }
  for (const format of ['json', 'pretty'] as const) expect(logged(format, facts)).not.toMatch(/S[1-5]/)
  expect(JSON.parse(logged('json', { tokens: 12, monkey: 'x' }))).toMatchObject({ tokens: 12, monkey: 'x' })
})

test.each([
  ['GET https://x.example/a?token=S1&q=1', 'GET https://x.example/a?token=…&q=1'],
  ['?api_key=S1', '?api_key=…'],
  ['Authorization: Bearer S1.abcdef', 'Authorization: Bearer …'],
  [`revoked rt_${'aB3-_'.repeat(8)}xyz today`, 'revoked rt_… today'],
  ['postgres://ana:S1@db/x', 'postgres://ana:…@db/x'],
])('a secret in a text is removed, and the rest of the text stays: %s', (text, without) => {
  expect(withoutSecrets(text)).toBe(without)
})

test.each([
  ...[
    'password',
    'passwd',
    'pwd',
    'secret',
    'token',
    'authorization',
    'Cookie',
    'api_key',
    'apikey',
    'access-key',
    'signature',
  ],
  ...['database_url', 'connection-string', 'client_secret', 'x-api-key', 'set-cookie', 'X-Hub-Signature'],
  ...[
    'userPassword',
    'clientSecret',
    'refreshToken',
    'proxyAuthorization',
    'sessionCookie',
    'openAiApiKey',
    'awsAccessKey',
  ],
  ...['webhookSignature', 'readDatabaseUrl'],
])('a fact that is called %s is a secret', name => {
  expect(logged('json', { [name]: 'S1', deep: [{ [name]: 'S1' }] })).not.toContain('S1')
})
