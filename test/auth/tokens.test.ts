/** Tokens and log-ins as the engine keeps them, in one process and between several. */
import pg from 'pg'
import { expect, test } from 'vitest'
import { CredentialCache } from '../../src/auth/credential-cache.ts'
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
  const made = await engine.createToken({ user: 'ana@example.com', role: 'operator', by: 'local' })
  expect(made.token).toMatch(/^rt_[\w-]{43}$/)
  expect(made).toMatchObject({ user: 'ana@example.com', role: 'operator', shown: `${made.token.slice(0, 7)}…` })
  const { items } = await engine.tokens()
  expect(items).toMatchObject([{ id: made.id, createdBy: 'local', usedAt: null, revokedAt: null }])
  const [row] = await rowsOf(databaseUrl, 'select t::text as whole from retoma.token t')
  expect(row!.whole).not.toContain(made.token.slice(8))
  expect(JSON.stringify(items)).not.toContain(made.token.slice(8))
  expect(await engine.findToken(made.token, here)).toEqual({ id: made.id, user: 'ana@example.com', role: 'operator' })
  expect(await engine.findToken(`${made.token}x`, here)).toBeNull()
})

test.each([
  [{ user: '', role: 'admin' }, 'the option user is not usable: it is a name of 1 to 100 characters'],
  [{ user: 'a\nb', role: 'admin' }, 'the option user is not usable'],
  [{ user: 'x'.repeat(101), role: 'admin' }, 'the option user is not usable'],
  [{ user: 'ana', role: 'amdin' }, 'there is no role "amdin"; did you mean "admin"?'],
])('%j is no token', async (asked, sentence) => {
  const { engine } = await engineOf({})
  await expect(engine.createToken(asked as never)).rejects.toThrow(sentence)
  expect(await engine.anyToken()).toBe(false)
})

test('a revoked token opens nothing: here at once, in another process within five seconds', async () => {
  const { engine, databaseUrl } = await engineOf({})
  await using other = await testEngine({ databaseUrl })
  const { id, token } = await engine.createToken({ user: 'ana', role: 'viewer' })
  for (const each of [engine, other.engine]) expect(await each.findToken(token, here)).not.toBeNull()
  expect(await engine.revokeToken(id)).toMatchObject({ changed: true, revokedAt: expect.any(Date) })
  expect(await engine.findToken(token, here)).toBeNull()
  await other.clock.advance(seconds(5))
  expect(await other.engine.findToken(token, here)).toBeNull()
  expect(await engine.revokeToken(id)).toMatchObject({ changed: false, revokedAt: expect.any(Date) })
  await expect(engine.revokeToken('4711')).rejects.toMatchObject({ code: 'not_found' })
  await expect(engine.revokeToken('x')).rejects.toMatchObject({ code: 'not_found' })
})

test('a token that was just looked up costs no statement', async () => {
  const { engine, databaseUrl } = await engineOf({})
  const { token } = await engine.createToken({ user: 'ana', role: 'viewer' })
  await engine.findToken(token, here)
  // Whatever asks the database now finds no table there.
  await rowsOf(databaseUrl, 'alter table retoma.token rename to away')
  try {
    expect(await engine.findToken(token, here)).toMatchObject({ user: 'ana' })
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
  const { token } = await engine.createToken({ user: 'ana', role: 'viewer' })
  const usedAt = async () => (await engine.tokens()).items[0]!.usedAt?.getTime()
  const first = clock.now().getTime()
  await engine.findToken(token, here)
  await until(async () => (await usedAt()) === first)
  await clock.advance(seconds(30))
  await engine.findToken(token, here)
  expect(await usedAt()).toBe(first)
  await clock.advance(seconds(31))
  await engine.findToken(token, here)
  await until(async () => (await usedAt()) === first + 61_000)
})

test('that a token was made is known in every process within seconds, and for good', async () => {
  const { engine, databaseUrl } = await engineOf({})
  await using other = await testEngine({ databaseUrl })
  expect(await other.engine.anyToken()).toBe(false)
  const { id } = await engine.createToken({ user: 'ana', role: 'viewer' })
  expect(await engine.anyToken()).toBe(true)
  await other.clock.advance(seconds(3))
  expect(await other.engine.anyToken()).toBe(true)
  await engine.revokeToken(id)
  await using third = await testEngine({ databaseUrl })
  expect(await third.engine.anyToken()).toBe(true)
})

const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`

test('the last token of an admin is revoked only by one who says so, also when two revoke each other', async () => {
  const { engine, databaseUrl } = await engineOf({})
  const ana = await engine.createToken({ user: 'ana', role: 'admin' })
  await engine.createToken({ user: 'rui', role: 'operator' })
  await expect(engine.revokeToken(ana.id)).rejects.toMatchObject({ code: 'last_admin', status: 409 })
  const bia = await engine.createToken({ user: 'bia', role: 'admin' })
  const rival = new pg.Client({ connectionString: databaseUrl })
  await rival.connect()
  try {
    await rival.query('begin')
    await rival.query('update retoma.token set revoked_at = now() where id = $1', [ana.id])
    let over = false
    const pressed = engine.revokeToken(bia.id).finally(() => {
      over = true
    })
    pressed.catch(() => {})
    await until(async () => over || (await rowsOf(databaseUrl, waiting)).length > 0)
    await rival.query('commit')
    await expect(pressed).rejects.toMatchObject({ code: 'last_admin' })
  } finally {
    await rival.end()
  }
  const [last] = (await engine.tokens({ role: 'admin', live: true })).items
  expect(await engine.revokeToken(last!.id, { evenLast: true })).toMatchObject({ changed: true })
})

test('tokens are listed a page at a time, newest first, by user and role, with or without those that are revoked', async () => {
  const { engine } = await engineOf({})
  for (const user of ['a', 'b', 'c']) await engine.createToken({ user, role: user === 'b' ? 'admin' : 'viewer' })
  const first = await engine.tokens({ limit: 2 })
  expect(first.items.map(each => each.user)).toEqual(['c', 'b'])
  const second = await engine.tokens({ limit: 2, after: first.next! })
  expect(second).toMatchObject({ items: [{ user: 'a' }], next: null })
  expect((await engine.tokens({ role: 'admin' })).items).toMatchObject([{ user: 'b' }])
  expect((await engine.tokens({ user: 'a' })).items).toMatchObject([{ user: 'a' }])
  await engine.revokeToken(second.items[0]!.id, { by: 'b' })
  expect((await engine.tokens({})).items.map(each => each.user)).toEqual(['c', 'b', 'a'])
  expect((await engine.tokens({ live: true })).items.map(each => each.user)).toEqual(['c', 'b'])
})

test('RETOMA_ADMIN_TOKEN is kept once, and a changed value takes the place of the old one', async () => {
  const lines: string[] = []
  const log = createLog({ level: 'info', format: 'json', write: line => lines.push(line) })
  const { engine, databaseUrl } = await engineOf({ log })
  await using other = await testEngine({ databaseUrl })
  const [old, changed] = ['correct horse battery staple', 'another value that is long']
  await Promise.all([engine.keepAdminToken(old!), other.engine.keepAdminToken(old!), engine.keepAdminToken(old!)])
  expect((await engine.tokens()).items).toMatchObject([{ user: 'admin', role: 'admin', shown: 'co…' }])
  expect(await engine.findToken(old!, here)).toMatchObject({ role: 'admin' })
  const own = await engine.createToken({ user: 'ana', role: 'admin' })
  await engine.keepAdminToken(changed!)
  expect(await engine.findToken(old!, here)).toBeNull()
  expect(await engine.findToken(changed!, here)).toMatchObject({ role: 'admin' })
  expect(await engine.findToken(own.token, here)).not.toBeNull()
  // The old one stays revoked, and a process that still brings it takes nothing from the new one.
  await engine.keepAdminToken(old!)
  expect(await engine.findToken(old!, here)).toBeNull()
  expect(await engine.findToken(changed!, here)).not.toBeNull()
  expect(lines.join('')).toContain('it opens nothing')
  for (const secret of [old!, changed!, own.token]) expect(lines.join('')).not.toContain(secret)
})

test('a log-in lasts a week, ends with its log-out or its token, and leaves no row', async () => {
  const { engine, clock, clean, databaseUrl } = await engineOf({})
  const ana = await engine.createToken({ user: 'ana', role: 'operator' })
  const [week, out, revoked] = await Promise.all([1, 2, 3].map(() => engine.logIn(ana.token, here)))
  expect(week).toMatchObject({ user: 'ana', role: 'operator' })
  expect(week!.expiresAt.getTime() - clock.now().getTime()).toBe(days(7))
  await engine.logOut(out!.secret)
  expect(await engine.findLogIn(out!.secret)).toBeNull()
  await clock.advance((days(7) - seconds(1)) as never)
  expect(await engine.findLogIn(week!.secret)).toMatchObject({ user: 'ana' })
  await clock.advance(minutes(1))
  expect(await engine.findLogIn(week!.secret)).toBeNull()
  await clean()
  expect(await rowsOf(databaseUrl, 'select from retoma.session')).toHaveLength(0)
  const again = await engine.logIn(ana.token, here)
  await engine.revokeToken(ana.id)
  expect(await engine.findLogIn(again!.secret)).toBeNull()
  expect(await engine.findLogIn(revoked!.secret)).toBeNull()
  expect(await rowsOf(databaseUrl, 'select from retoma.session')).toHaveLength(0)
  expect(await engine.logIn(ana.token, here)).toBeNull()
})

test('ten wrong tokens in a minute and the next wrong one is refused; a right one comes in from there all the same', async () => {
  const { engine, clock } = await engineOf({})
  const known = await engine.createToken({ user: 'ana', role: 'viewer' })
  const fresh = await engine.createToken({ user: 'rui', role: 'viewer' })
  await engine.findToken(known.token, here)
  for (let i = 0; i < 10; i++) expect(await engine.findToken(`wrong-${i}`, here)).toBeNull()
  const refused = { code: 'rate_limited', retryAfterSeconds: 60 }
  await expect(engine.findToken('wrong-10', here)).rejects.toMatchObject(refused)
  expect(await engine.findToken(fresh.token, here)).toMatchObject({ user: 'rui' })
  expect(await engine.logIn(known.token, here)).toMatchObject({ user: 'ana' })
  await expect(engine.logIn('wrong-10', here)).rejects.toMatchObject(refused)
  await clock.advance(minutes(1))
  expect(await engine.findToken('wrong-11', here)).toBeNull()
})

test('a client that goes on with one token that is no more locks nobody out', async () => {
  const { engine } = await engineOf({})
  const fresh = await engine.createToken({ user: 'rui', role: 'viewer' })
  for (let i = 0; i < 50; i++) expect(await engine.findToken('an old one', here)).toBeNull()
  expect(await engine.findToken(fresh.token, here)).toMatchObject({ user: 'rui' })
})

test('past a hundred wrong guesses from an address, a token that was never used before comes in from there', async () => {
  const { engine } = await engineOf({})
  const fresh = await engine.createToken({ user: 'ana', role: 'viewer' })
  const wrong = Array.from({ length: 150 }, (_, i) => (i % 2 === 0 ? `wrong-${i}` : `rt_${String(i).padEnd(43, 'x')}`))
  await Promise.allSettled(wrong.map(each => engine.findToken(each, here)))
  const refused = { code: 'rate_limited' }
  await expect(engine.findToken('wrong-1000', here)).rejects.toMatchObject(refused)
  await expect(engine.findToken(`rt_${'y'.repeat(43)}`, here)).rejects.toMatchObject(refused)
  expect(await engine.findToken(fresh.token, here)).toMatchObject({ user: 'ana' })
  expect(await engine.logIn(fresh.token, here)).toMatchObject({ user: 'ana' })
})

test('of a hundred guesses, also all at once, the next is not looked up though it were right, if a person may have chosen it; who is known comes in', async () => {
  const { engine } = await engineOf({})
  const token = 'chosen by a person'
  await engine.keepAdminToken(token)
  const known = await engine.createToken({ user: 'rui', role: 'viewer' })
  await engine.findToken(known.token, here)
  const all = [...Array.from({ length: 100 }, (_, i) => `wrong-${i}`), token]
  const tried = await Promise.allSettled(all.map(each => engine.findToken(each, here)))
  expect(tried.at(-1)).toMatchObject({ status: 'rejected', reason: { code: 'rate_limited' } })
  expect(tried.filter(each => each.status === 'fulfilled')).toHaveLength(10)
  expect(await engine.findToken(known.token, here)).toMatchObject({ user: 'rui' })
  expect(await engine.findToken(token, '10.0.0.8')).toMatchObject({ user: 'admin' })
})

test('many at once with one old token are one guess, and one that was revoked is none', async () => {
  const { engine } = await engineOf({})
  const fresh = await engine.createToken({ user: 'rui', role: 'admin' })
  const left = await engine.createToken({ user: 'ana', role: 'viewer' })
  await engine.findToken(left.token, here)
  await engine.revokeToken(left.id)
  const old = Array.from({ length: 40 }, (_, i) => (i % 2 === 0 ? 'an old one' : left.token))
  expect(await Promise.all(old.map(each => engine.findToken(each, here)))).toEqual(old.map(() => null))
  expect(await engine.findToken(fresh.token, here)).toMatchObject({ user: 'rui' })
})
