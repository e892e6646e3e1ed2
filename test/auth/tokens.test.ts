/** Tokens and log-ins as the engine keeps them, in one process and between several. */

import pg from 'pg'
import { expect, test } from 'vitest'
import { CredentialCache } from '../../src/auth/credential-cache.ts'
import { internalsOf } from '../../src/engine/internals.ts'
import { days, minutes, seconds } from '../../src/index.ts'
import { createLog } from '../../src/lib/logging/log.ts'
import { hashOf } from '../../src/lib/secret.ts'
import { testEngine, VirtualClock } from '../../src/testing/index.ts'
import { engineOf, gate, until } from '../support/engine.ts'

const here = '10.0.0.7'

async function rowsOf(databaseUrl: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  return (await client.query(text).finally(() => client.end())).rows
}

test('a token is answered once, and only its hash and its beginning are kept', async () => {
  const { engine, databaseUrl } = await engineOf({})
  const made = await engine.tokens.create({ user: 'ana@example.com', role: 'operator', by: 'local' })
  expect(made.token).toMatch(/^rt_[\w-]{43}$/)
  expect(made).toMatchObject({ user: 'ana@example.com', role: 'operator', shown: `${made.token.slice(0, 7)}…` })
  const { items } = await engine.tokens.list()
  expect(items).toMatchObject([{ id: made.id, createdBy: 'local', usedAt: null, revokedAt: null }])
  const [row] = await rowsOf(databaseUrl, 'select t::text as whole from retoma.token t')
  expect(row!.whole).not.toContain(made.token.slice(8))
  expect(JSON.stringify(items)).not.toContain(made.token.slice(8))
  expect(await internalsOf(engine).findToken(made.token, here)).toEqual({
    id: made.id,
    user: 'ana@example.com',
    role: 'operator',
  })
  expect(await internalsOf(engine).findToken(`${made.token}x`, here)).toBeNull()
})

test.each([
  [{ user: '', role: 'admin' }, 'the option user is not usable: it is a name of 1 to 100 characters'],
  [{ user: 'a\nb', role: 'admin' }, 'the option user is not usable'],
  [{ user: 'x'.repeat(101), role: 'admin' }, 'the option user is not usable'],
  [{ user: 'ana', role: 'amdin' }, 'there is no role "amdin"; did you mean "admin"?'],
])('%j is no token', async (asked, sentence) => {
  const { engine } = await engineOf({})
  await expect(engine.tokens.create(asked as never)).rejects.toThrow(sentence)
  expect(await internalsOf(engine).anyToken()).toBe(false)
})

test('a revoked token opens nothing: here at once, in another process within five seconds', async () => {
  const { engine, databaseUrl } = await engineOf({})
  await using other = await testEngine({ databaseUrl })
  const { id, token } = await engine.tokens.create({ user: 'ana', role: 'viewer' })
  for (const each of [engine, other.engine]) expect(await internalsOf(each).findToken(token, here)).not.toBeNull()
  expect(await engine.tokens.revoke(id)).toMatchObject({ changed: true, revokedAt: expect.any(Date) })
  expect(await internalsOf(engine).findToken(token, here)).toBeNull()
  await other.clock.advance(seconds(5))
  expect(await internalsOf(other.engine).findToken(token, here)).toBeNull()
  expect(await engine.tokens.revoke(id)).toMatchObject({ changed: false, revokedAt: expect.any(Date) })
  await expect(engine.tokens.revoke('4711')).rejects.toMatchObject({ code: 'not_found' })
  await expect(engine.tokens.revoke('x')).rejects.toMatchObject({ code: 'not_found' })
})

test('a token that was just looked up costs no statement', async () => {
  const { engine, databaseUrl } = await engineOf({})
  const { token } = await engine.tokens.create({ user: 'ana', role: 'viewer' })
  await internalsOf(engine).findToken(token, here)
  // Whatever asks the database now finds no table there.
  await rowsOf(databaseUrl, 'alter table retoma.token rename to away')
  try {
    expect(await internalsOf(engine).findToken(token, here)).toMatchObject({ user: 'ana' })
  } finally {
    await rowsOf(databaseUrl, 'alter table retoma.away rename to token')
  }
})

test('a lookup that a revocation overtakes is neither kept nor waited for by others', async () => {
  const first = gate<string | null>()
  let asked = 0
  const keys = new CredentialCache<string>(new VirtualClock(), () =>
    asked++ === 0 ? first.passed : Promise.resolve(null),
  )
  const early = [keys.get(hashOf('x')), keys.get(hashOf('x'))]
  expect(asked).toBe(1)
  keys.forget()
  expect(await keys.get(hashOf('x'))).toBeNull()
  first.open('ana')
  expect(await Promise.all(early)).toEqual(['ana', 'ana'])
  expect(await keys.get(hashOf('x'))).toBeNull()
  expect(asked).toBe(2)
})

test('that a token is used is noted, once a minute', async () => {
  const { engine, clock } = await engineOf({})
  const { token } = await engine.tokens.create({ user: 'ana', role: 'viewer' })
  const usedAt = async () => (await engine.tokens.list()).items[0]!.usedAt?.getTime()
  const first = clock.now().getTime()
  await internalsOf(engine).findToken(token, here)
  await until(async () => (await usedAt()) === first)
  await clock.advance(seconds(30))
  await internalsOf(engine).findToken(token, here)
  expect(await usedAt()).toBe(first)
  await clock.advance(seconds(31))
  await internalsOf(engine).findToken(token, here)
  await until(async () => (await usedAt()) === first + 61_000)
})

test('that a token was made is known in every process within seconds, and for good', async () => {
  const { engine, databaseUrl } = await engineOf({})
  await using other = await testEngine({ databaseUrl })
  expect(await internalsOf(other.engine).anyToken()).toBe(false)
  const { id } = await engine.tokens.create({ user: 'ana', role: 'viewer' })
  expect(await internalsOf(engine).anyToken()).toBe(true)
  await other.clock.advance(seconds(3))
  expect(await internalsOf(other.engine).anyToken()).toBe(true)
  await engine.tokens.revoke(id)
  await using third = await testEngine({ databaseUrl })
  expect(await internalsOf(third.engine).anyToken()).toBe(true)
})

const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`

test('the last token of an admin is revoked only by one who says so, also when two revoke each other', async () => {
  const { engine, databaseUrl } = await engineOf({})
  const ana = await engine.tokens.create({ user: 'ana', role: 'admin' })
  await engine.tokens.create({ user: 'rui', role: 'operator' })
  await expect(engine.tokens.revoke(ana.id)).rejects.toMatchObject({ code: 'last_admin', status: 409 })
  const bia = await engine.tokens.create({ user: 'bia', role: 'admin' })
  const rival = new pg.Client({ connectionString: databaseUrl })
  await rival.connect()
  try {
    await rival.query('begin')
    await rival.query('update retoma.token set revoked_at = now() where id = $1', [ana.id])
    let over = false
    const answers = engine.tokens.revoke(bia.id).finally(() => {
      over = true
    })
    answers.catch(() => {})
    await until(async () => over || (await rowsOf(databaseUrl, waiting)).length > 0)
    await rival.query('commit')
    await expect(answers).rejects.toMatchObject({ code: 'last_admin' })
  } finally {
    await rival.end()
  }
  const [last] = (await engine.tokens.list({ role: 'admin', live: true })).items
  expect(await engine.tokens.revoke(last!.id, { evenLast: true })).toMatchObject({ changed: true })
})

test('tokens are listed a page at a time, newest first, by user and role, with or without those that are revoked', async () => {
  const { engine } = await engineOf({})
  for (const user of ['a', 'b', 'c']) await engine.tokens.create({ user, role: user === 'b' ? 'admin' : 'viewer' })
  const first = await engine.tokens.list({ limit: 2 })
  expect(first.items.map(each => each.user)).toEqual(['c', 'b'])
  const second = await engine.tokens.list({ limit: 2, after: first.next! })
  expect(second).toMatchObject({ items: [{ user: 'a' }], next: null })
  expect((await engine.tokens.list({ role: 'admin' })).items).toMatchObject([{ user: 'b' }])
  expect((await engine.tokens.list({ user: 'a' })).items).toMatchObject([{ user: 'a' }])
  await engine.tokens.revoke(second.items[0]!.id, { by: 'b' })
  expect((await engine.tokens.list({})).items.map(each => each.user)).toEqual(['c', 'b', 'a'])
  expect((await engine.tokens.list({ live: true })).items.map(each => each.user)).toEqual(['c', 'b'])
})

test('RETOMA_ADMIN_TOKEN is kept once, and a changed value takes the place of the old one', async () => {
  const lines: string[] = []
  const log = createLog({ level: 'info', format: 'json', write: line => lines.push(line) })
  const { engine, databaseUrl } = await engineOf({ log })
  await using other = await testEngine({ databaseUrl })
  const [old, changed] = ['correct horse battery staple', 'another value that is long']
  await Promise.all([
    internalsOf(engine).keepAdminToken(old!),
    internalsOf(other.engine).keepAdminToken(old!),
    internalsOf(engine).keepAdminToken(old!),
  ])
  expect((await engine.tokens.list()).items).toMatchObject([{ user: 'admin', role: 'admin', shown: 'co…' }])
  expect(await internalsOf(engine).findToken(old!, here)).toMatchObject({ role: 'admin' })
  const own = await engine.tokens.create({ user: 'ana', role: 'admin' })
  await internalsOf(engine).keepAdminToken(changed!)
  expect(await internalsOf(engine).findToken(old!, here)).toBeNull()
  expect(await internalsOf(engine).findToken(changed!, here)).toMatchObject({ role: 'admin' })
  expect(await internalsOf(engine).findToken(own.token, here)).not.toBeNull()
  // The old token stays revoked, and a process with the old token cannot remove the new token.
  await internalsOf(engine).keepAdminToken(old!)
  expect(await internalsOf(engine).findToken(old!, here)).toBeNull()
  expect(await internalsOf(engine).findToken(changed!, here)).not.toBeNull()
  expect(lines.join('')).toContain('it opens nothing')
  for (const secret of [old!, changed!, own.token]) expect(lines.join('')).not.toContain(secret)
})

test('a log-in lasts a week, ends with its log-out or its token, and leaves no row', async () => {
  const { engine, clock, clean, databaseUrl } = await engineOf({})
  const ana = await engine.tokens.create({ user: 'ana', role: 'operator' })
  const [week, out, revoked] = await Promise.all([1, 2, 3].map(() => internalsOf(engine).logIn(ana.token, here)))
  expect(week).toMatchObject({ user: 'ana', role: 'operator' })
  expect(week!.expiresAt.getTime() - clock.now().getTime()).toBe(days(7))
  await internalsOf(engine).logOut(out!.secret)
  expect(await internalsOf(engine).findLogIn(out!.secret)).toBeNull()
  await clock.advance((days(7) - seconds(1)) as never)
  expect(await internalsOf(engine).findLogIn(week!.secret)).toMatchObject({ user: 'ana' })
  await clock.advance(minutes(1))
  expect(await internalsOf(engine).findLogIn(week!.secret)).toBeNull()
  await clean()
  expect(await rowsOf(databaseUrl, 'select from retoma.session')).toHaveLength(0)
  const again = await internalsOf(engine).logIn(ana.token, here)
  await engine.tokens.revoke(ana.id)
  expect(await internalsOf(engine).findLogIn(again!.secret)).toBeNull()
  expect(await internalsOf(engine).findLogIn(revoked!.secret)).toBeNull()
  expect(await rowsOf(databaseUrl, 'select from retoma.session')).toHaveLength(0)
  expect(await internalsOf(engine).logIn(ana.token, here)).toBeNull()
})

test('ten wrong tokens in a minute and the next wrong one is refused; a right one comes in from there all the same', async () => {
  const { engine, clock } = await engineOf({})
  const known = await engine.tokens.create({ user: 'ana', role: 'viewer' })
  const fresh = await engine.tokens.create({ user: 'rui', role: 'viewer' })
  await internalsOf(engine).findToken(known.token, here)
  for (let i = 0; i < 10; i++) expect(await internalsOf(engine).findToken(`wrong-${i}`, here)).toBeNull()
  const refused = { code: 'rate_limited', retryAfterSeconds: 60 }
  await expect(internalsOf(engine).findToken('wrong-10', here)).rejects.toMatchObject(refused)
  expect(await internalsOf(engine).findToken(fresh.token, here)).toMatchObject({ user: 'rui' })
  expect(await internalsOf(engine).logIn(known.token, here)).toMatchObject({ user: 'ana' })
  await expect(internalsOf(engine).logIn('wrong-10', here)).rejects.toMatchObject(refused)
  await clock.advance(minutes(1))
  expect(await internalsOf(engine).findToken('wrong-11', here)).toBeNull()
})

test('a client that goes on with one token that is no more locks nobody out', async () => {
  const { engine } = await engineOf({})
  const fresh = await engine.tokens.create({ user: 'rui', role: 'viewer' })
  for (let i = 0; i < 50; i++) expect(await internalsOf(engine).findToken('an old one', here)).toBeNull()
  expect(await internalsOf(engine).findToken(fresh.token, here)).toMatchObject({ user: 'rui' })
})

test('past a hundred wrong guesses from an address, a token that was never used before comes in from there', async () => {
  const { engine } = await engineOf({})
  const fresh = await engine.tokens.create({ user: 'ana', role: 'viewer' })
  const wrong = Array.from({ length: 150 }, (_, i) => (i % 2 === 0 ? `wrong-${i}` : `rt_${String(i).padEnd(43, 'x')}`))
  await Promise.allSettled(wrong.map(each => internalsOf(engine).findToken(each, here)))
  const refused = { code: 'rate_limited' }
  await expect(internalsOf(engine).findToken('wrong-1000', here)).rejects.toMatchObject(refused)
  await expect(internalsOf(engine).findToken(`rt_${'y'.repeat(43)}`, here)).rejects.toMatchObject(refused)
  expect(await internalsOf(engine).findToken(fresh.token, here)).toMatchObject({ user: 'ana' })
  expect(await internalsOf(engine).logIn(fresh.token, here)).toMatchObject({ user: 'ana' })
})

test('of a hundred guesses, also all at once, the next is not looked up though it were right, if a person may have chosen it; who is known comes in', async () => {
  const { engine } = await engineOf({})
  const token = 'chosen by a person'
  await internalsOf(engine).keepAdminToken(token)
  const known = await engine.tokens.create({ user: 'rui', role: 'viewer' })
  await internalsOf(engine).findToken(known.token, here)
  const all = [...Array.from({ length: 100 }, (_, i) => `wrong-${i}`), token]
  const tried = await Promise.allSettled(all.map(each => internalsOf(engine).findToken(each, here)))
  expect(tried.at(-1)).toMatchObject({ status: 'rejected', reason: { code: 'rate_limited' } })
  expect(tried.filter(each => each.status === 'fulfilled')).toHaveLength(10)
  expect(await internalsOf(engine).findToken(known.token, here)).toMatchObject({ user: 'rui' })
  expect(await internalsOf(engine).findToken(token, '10.0.0.8')).toMatchObject({ user: 'admin' })
})

test('many at once with one old token are one guess, and one that was revoked is none', async () => {
  const { engine } = await engineOf({})
  const fresh = await engine.tokens.create({ user: 'rui', role: 'admin' })
  const left = await engine.tokens.create({ user: 'ana', role: 'viewer' })
  await internalsOf(engine).findToken(left.token, here)
  await engine.tokens.revoke(left.id)
  const old = Array.from({ length: 40 }, (_, i) => (i % 2 === 0 ? 'an old one' : left.token))
  expect(await Promise.all(old.map(each => internalsOf(engine).findToken(each, here)))).toEqual(old.map(() => null))
  expect(await internalsOf(engine).findToken(fresh.token, here)).toMatchObject({ user: 'rui' })
})
