/** The simulated Pluggy: three accounts and 24 months of transactions, the same for the same item. */
import { expect, test } from 'vitest'
import { simulatedPluggy } from './simulated.ts'
import type { BankTransaction, PagePlace } from './types.ts'

const never = new AbortController().signal
const at = (now: string) =>
  simulatedPluggy(
    async () => {},
    () => new Date(now),
  )

async function all(now: string, item: string, account: string, from: string): Promise<BankTransaction[]> {
  const found: BankTransaction[] = []
  for (let place: PagePlace | null = null; ; ) {
    const page = await at(now).transactions({ item, account, currency: 'BRL', from, place }, never)
    found.push(...page.transactions)
    if (page.next === null) return found
    place = page.next
  }
}

const cents = (amount: string) => Math.round(Number(amount) * 100)

test('three accounts have 24 months of transactions, the same at each call, and each day brings some more', async () => {
  const now = '2026-11-16T15:00:00Z'
  const accounts = await at(now).accounts('item', never)
  expect(accounts.map(({ type, subtype }) => `${type} ${subtype}`)).toEqual([
    'BANK CHECKING_ACCOUNT',
    'BANK SAVINGS_ACCOUNT',
    'CREDIT CREDIT_CARD',
  ])
  for (const { id } of accounts) {
    const found = await all(now, 'item', id, '2000-01-01')
    expect(await all(now, 'item', id, '2000-01-01')).toEqual(found)
    expect(new Set(found.map(each => each.id)).size).toBe(found.length)
    expect(new Set(found.map(({ day }) => day.slice(0, 7))).size).toBeGreaterThanOrEqual(24)
    expect(found[0]!.occurredAt.toISOString() >= '2024-11-16').toBe(true)
    const later = await all('2026-11-20T15:00:00Z', 'item', id, '2025-01-01')
    const earlier = await all(now, 'item', id, '2025-01-01')
    expect(later.slice(0, earlier.length).map(each => each.id)).toEqual(earlier.map(each => each.id))
    const half = await all(now, 'item', id, '2025-11-16')
    expect(found.slice(-half.length)).toEqual(half)
  }
  const [checking, , card] = accounts
  expect((await all(now, 'item', checking!.id, '2000-01-01')).length).toBeGreaterThan(300)
  expect((await all(now, 'item', card!.id, '2000-01-01')).length).toBeGreaterThan(400)
  const other = await at(now).accounts('other', never)
  expect(other.map(({ id }) => id)).not.toContain(checking!.id)
  expect(other[0]!.balance).not.toBe(checking!.balance)
})

test('a balance moves by the transactions of the days between', async () => {
  const [before, after] = ['2026-10-02T15:00:00Z', '2026-11-16T15:00:00Z']
  for (const [index, account] of (await at(after).accounts('item', never)).entries()) {
    const [old] = (await at(before).accounts('item', never)).slice(index)
    const between = (await all(after, 'item', account.id, '2000-01-01')).filter(
      ({ occurredAt }) => occurredAt > new Date(before),
    )
    const moved = between.reduce((sum, each) => sum + cents(each.amount), 0)
    expect(cents(account.balance) - cents(old!.balance), account.name).toBe(moved)
  }
})

test('money stays believable: a salary each month, and no account below zero for long', async () => {
  const now = '2026-11-16T15:00:00Z'
  for (const item of ['a', 'b', 'c', 'd', 'e']) {
    const [checking, savings, card] = await at(now).accounts(item, never)
    expect(Number(checking!.balance)).toBeGreaterThan(-20_000)
    expect(Number(savings!.balance)).toBeGreaterThan(0)
    expect(Number(card!.balance)).toBeGreaterThan(0)
    const salaries = (await all(now, item, checking!.id, '2025-12-01')).filter(each => each.category === 'Salary')
    expect(salaries.length).toBeGreaterThanOrEqual(12)
  }
})

test('an item shows a problem on request', async () => {
  expect(await at('2026-11-16').item('login-error-1', 'ana', never)).toMatchObject({ status: 'LOGIN_ERROR' })
  expect(await at('2026-11-16').item('waiting-user-1', 'ana', never)).toMatchObject({ status: 'WAITING_USER_INPUT' })
})
