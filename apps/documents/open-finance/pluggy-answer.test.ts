/** Answers of Pluggy: a table of meanings, and the values that are read from an answer. */
import { inspect } from 'node:util'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  judgePluggy,
  readAccounts,
  readApiKey,
  readCursorPage,
  readDate,
  readItem,
  readNumberedPage,
} from './pluggy-answer.ts'

const answer = (status: number, body: unknown, headers: Record<string, string> = {}) => ({
  status,
  header: (name: string) => headers[name] ?? null,
  body: typeof body === 'string' ? body : JSON.stringify(body),
})

test.each([
  [200, { results: [] }, 'ok'],
  [200, { code: '7', message: 'an item with a code' }, 'ok'],
  [200, [], 'retry'],
  [200, '<html></html>', 'retry'],
  [200, '', 'retry'],
  [200, { code: 500, message: 'Internal' }, 'retry'],
  [200, { code: 429, message: 'Too many requests' }, 'wait'],
  [200, { code: 401, message: 'no' }, 'stop'],
  [302, '', 'stop'],
  [400, { code: 400, message: 'bad' }, 'item'],
  [401, { code: 401, message: 'no' }, 'stop'],
  [402, '', 'stop'],
  [403, { code: 403, message: 'no' }, 'stop'],
  [404, { code: 404, codeDescription: 'ITEM_NOT_FOUND', message: 'no' }, 'item'],
  [408, '', 'retry'],
  [409, '', 'retry'],
  [429, { code: 429, message: 'Too many requests' }, 'wait'],
  [500, '', 'retry'],
  [502, '<html>', 'retry'],
  [503, '', 'wait'],
  [529, '', 'retry'],
] as [number, unknown, string][])('%i %o: %s', (status, body, is) => {
  expect(judgePluggy(answer(status, body), [])).toMatchObject({ is })
})

test('refused credentials stop every sync, whatever the status of the login', () => {
  for (const status of [400, 401, 403, 404])
    expect(judgePluggy(answer(status, {}), [], { isLogin: true })).toMatchObject({ is: 'stop' })
  expect(judgePluggy(answer(500, {}), [], { isLogin: true })).toMatchObject({ is: 'retry' })
})

test.each([
  [{ 'ratelimit-reset': '17', 'retry-after': '60' }, 17_000],
  [{ 'ratelimit-reset': '0', 'retry-after': '60' }, 1000],
  [{ 'retry-after': '60' }, 60_000],
  [{ 'ratelimit-reset': 'soon', 'retry-after': '60' }, 60_000],
  [{}, null],
])('a status 429 with %o is a wait of %s ms', (headers, retryAfter) => {
  expect(judgePluggy(answer(429, {}, headers), [])).toMatchObject({ is: 'wait', retryAfter })
})

test('no verdict repeats a secret', () => {
  const secrets = ['secret-9f8e7d6c', 'key-1-a8b7c6']
  const verdict = judgePluggy(answer(500, { code: 500, message: `key-1-a8b7c6 of secret-9f8e7d6c` }), secrets)
  expect(inspect(verdict, { depth: 9 })).not.toMatch(/secret-9f8e7d6c|key-1-a8b7c6/)
})

test('an item without a status, an account without a balance and a login without a key are of no use', () => {
  expect(readItem('i', { status: 'UPDATED', connector: { name: 'Banco' } })).toMatchObject({
    value: { id: 'i', status: 'UPDATED', institution: 'Banco', detail: null },
  })
  expect(readItem('i', {})).toMatchObject({ is: 'retry' })
  expect(readApiKey({ apiKey: 'x y' })).toMatchObject({ is: 'retry' })
  expect(readAccounts({ results: [{ id: 'a', balance: '10.5', number: '0001/12345-6' }] })).toMatchObject({
    value: { accounts: [{ id: 'a', balance: '10.50', currency: 'BRL', lastDigits: '6' }], pages: 1 },
  })
  for (const results of [null, [{ id: 'a' }], [{ balance: '1' }], [null], [{ id: 'a b', balance: '1' }]])
    expect(readAccounts({ results })).toMatchObject({ is: 'retry' })
})

const row = {
  id: 't',
  date: '2026-11-03T12:00:00Z',
  amount: '-10.5',
  type: 'DEBIT',
  description: ' Pão\n\u0000 de Açúcar ',
}
const asked = { account: 'a', currency: 'BRL', query: 'accountId=a' }

test('a transaction is read with its amount as text; without an id, a date or an amount the page is of no use', () => {
  expect(readCursorPage({ results: [row], next: null }, asked)).toEqual({
    is: 'ok',
    value: {
      transactions: [
        {
          id: 't',
          occurredAt: new Date('2026-11-03T12:00:00Z'),
          day: '2026-11-03',
          description: 'Pão de Açúcar',
          amount: '-10.50',
          currency: 'BRL',
          type: 'DEBIT',
          status: 'POSTED',
          category: null,
          categoryId: null,
        },
      ],
      next: null,
      total: null,
    },
  })
  for (const bad of [
    { id: '' },
    { date: 'soon' },
    { date: '2026-13-40' },
    { amount: 'x' },
    { amount: null },
    { accountId: 'b' },
  ])
    expect(readCursorPage({ results: [{ ...row, ...bad }] }, asked), JSON.stringify(bad)).toMatchObject({ is: 'retry' })
  const abroad = { ...row, amount: '-2.00', currencyCode: 'USD', amountInAccountCurrency: '-10.80' }
  expect(readCursorPage({ results: [abroad] }, asked)).toMatchObject({
    value: { transactions: [{ amount: '-10.80', currency: 'BRL' }] },
  })
  expect(readCursorPage({ results: [{ ...row, type: undefined }] }, asked)).toMatchObject({
    value: { transactions: [{ type: 'DEBIT' }] },
  })
})

test.each([
  [undefined, null],
  [null, null],
  ['', null],
  ['?accountId=a&after=Mj%3D%3D', 'accountId=a&after=Mj%3D%3D'],
  ['/v2/transactions?accountId=a&after=x', 'accountId=a&after=x'],
  ['https://evil.example/v2/transactions?accountId=a&after=x#y', 'accountId=a&after=x'],
  ['?after=x', 'accountId=a&after=x'],
  ['Mj+/==', 'accountId=a&after=Mj%2B%2F%3D%3D'],
])('the next page %j is asked with %s', (next, query) => {
  const read = readCursorPage({ results: [], next }, asked)
  expect(read).toMatchObject({ value: { next: query === null ? null : { by: 'cursor', query } } })
})

test.each(['?accountId=b&after=x', '?accountId=a&after=x y', `?accountId=a&after=${'x'.repeat(5000)}`, '?accountId=a'])(
  'a next page for another account, with other characters, too long or the same is of no use: %#',
  next => {
    expect(readCursorPage({ results: [], next }, asked)).toMatchObject({ is: 'retry' })
  },
)

test('a page with another number than the asked number is of no use', () => {
  const page = { ...asked, page: 2, pageSize: 500 }
  expect(readNumberedPage({ results: [row], page: '1', totalPages: '3' }, page)).toMatchObject({ is: 'retry' })
  expect(readNumberedPage({ results: [row], page: '2', totalPages: '3', total: '9' }, page)).toMatchObject({
    value: { next: { by: 'page', page: 3 }, total: 9 },
  })
  expect(readNumberedPage({ results: [row], page: '2', totalPages: '2' }, page)).toMatchObject({
    value: { next: null },
  })
  expect(readNumberedPage({ results: [row] }, page)).toMatchObject({ value: { next: null } })
})

test.each([
  ['2026-11-03', '2026-11-03'],
  ['2026-11-03T00:00:00.000Z', '2026-11-03'],
  ['2026-11-03T03:00:00.000Z', '2026-11-03'],
  ['2026-11-03T02:30:00Z', '2026-11-02'],
  ['2026-11-03T23:59:59-03:00', '2026-11-03'],
  ['1969-01-01', null],
  ['2026-02-30T10:00:00Z', null],
  ['03/11/2026', null],
])('the day of %s in Brazil is %s', (text, day) => {
  expect(readDate(text)?.day ?? null).toBe(day)
})

test('no answer makes a reader throw', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json()), fc.integer({ min: 100, max: 599 }), (body, status) => {
      const verdict = judgePluggy(answer(status, body), ['k'])
      if (verdict.is !== 'ok') return
      readItem('i', verdict.value)
      readAccounts(verdict.value)
      readApiKey(verdict.value)
      readCursorPage(verdict.value, asked)
      readNumberedPage(verdict.value, { ...asked, page: 1, pageSize: 500 })
    }),
    { seed: 11 },
  )
})
