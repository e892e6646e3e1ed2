/**
 * Who may come in: tokens, and the log-ins made by them. HTTP asks here for every request, and the answer comes from memory
 * but for once every few seconds (keyring.ts).
 *
 * Invariant: a secret is answered once, by whoever made it; it is neither kept nor logged.
 */
import { isId } from '../core/id.ts'
import { checkPage, type Page, type PageOptions, pageOf } from '../core/page.ts'
import { checkRole, checkUser, logInLasts, type Role, shownOf, tokenPrefix } from '../core/token.ts'
import { RetomaError } from '../errors.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/log.ts'
import { isRandomSecret, randomSecret } from '../lib/random.ts'
import { hashOf, sameHash } from '../lib/secret.ts'
import type { Db, Run } from '../store/db.ts'
import type { Kept, Once } from '../store/idempotency.ts'
import * as logIns from '../store/log-in.ts'
import * as tokens from '../store/token.ts'
import type { Guesses } from './guesses.ts'
import { Keyring } from './keyring.ts'
import { type Exactly, exactlyOnce } from './once.ts'

type TokenView = tokens.TokenView

/** Whom a credential names; `id` is that of the token, also behind a log-in. */
export interface Known {
  id: string
  user: string
  role: Role
}

export interface NewToken {
  user: string
  role: Role
  /** Who makes it. */
  by?: string
}

/** `token` is the secret itself: it is answered here and never again. */
type MadeToken = TokenView & { token: string }

export interface Tokens {
  createToken(options: NewToken): Promise<MadeToken>
  /**
   * The same, with what of it is kept under a key, which must not be the secret; the answer that was kept before is given again, and
   * nothing made.
   */
  createTokenOnce(options: NewToken, once: Once, answer: (made: MadeToken) => Kept): Promise<Exactly<MadeToken>>
  tokens(filter?: tokens.TokenFilter & PageOptions): Promise<Page<TokenView>>
  /**
   * It opens nothing any more: here and where a process listens at once, in others within five seconds. Throws last_admin for the last token of
   * an admin, unless `evenLast`.
   */
  revokeToken(id: string, options?: { by?: string; evenLast?: boolean }): Promise<TokenView & { changed: boolean }>
  /** Whether one was ever made, also if it is revoked by now. Known at once where a process listens, within seconds in every one. */
  anyToken(): Promise<boolean>
  /** The token of RETOMA_ADMIN_TOKEN: made once, and in the place of what that variable held before. */
  keepAdminToken(secret: string): Promise<void>
  /** null: there is no such token, or it is revoked. `from`: slows down who guesses (guesses.ts); throws rate_limited. */
  findToken(secret: string, from: string | undefined): Promise<Known | null>
  /** The secret of a cookie, for a token. */
  logIn(secret: string, from: string | undefined): Promise<(Known & { secret: string; expiresAt: Date }) | null>
  /** As `findToken`: a cookie that is not known counts as a guess. */
  findLogIn(secret: string, from?: string): Promise<(Known & { expiresAt: Date }) | null>
  logOut(secret: string): Promise<void>
}

export interface TokenDesk extends Tokens {
  /** What is known by heart may be wrong by now: the next who asks is looked up. */
  recheck(): void
}

/** Credentials of one sort, and the guesses of them that are under way, by where they come from and what they try. */
interface Guessed<T> {
  keys: Keyring<T>
  guessing: Map<string, Promise<T | null>>
}

const noneMs = 2000
const adminVariable = 'RETOMA_ADMIN_TOKEN'

/** `changed`: other processes are told that who may come in has changed. */
export function createTokens(given: {
  db: Db
  clock: Clock
  log: Log
  guesses: Guesses
  changed: () => void
}): TokenDesk {
  const { db, clock, log, guesses, changed } = given
  const keys = new Keyring<Known>(clock, lookUpToken)
  const cookies = new Keyring<Known & { expiresAt: Date }>(clock, lookUpLogIn)
  const byToken: Guessed<Known> = { keys, guessing: new Map() }
  const byCookie: Guessed<Known & { expiresAt: Date }> = { keys: cookies, guessing: new Map() }
  /** Once there has been one, there always has. */
  let made = false
  let noneUntil = Number.NEGATIVE_INFINITY
  let asking: Promise<boolean> | undefined
  let rechecks = 0

  async function lookUpToken(hash: Buffer): Promise<Known | null> {
    const found = await tokens.findToken(db, hash, clock.instant())
    if (found === undefined || !sameHash(found.hash, hash)) return null
    const { id, user, role, unnoted } = found
    if (unnoted)
      void tokens
        .noteUse(db, id, clock.instant())
        .catch(error => log.debug({ err: error }, 'that a token is used was not noted'))
    return { id, user, role }
  }

  async function lookUpLogIn(hash: Buffer) {
    const found = await logIns.findLogIn(db, hash, clock.instant())
    if (found === undefined || !sameHash(found.hash, hash)) return null
    const { id, user, role, expiresAt } = found
    return { id, user, role, expiresAt }
  }

  function forget(): void {
    keys.forget()
    cookies.forget()
  }

  async function askForAny(): Promise<boolean> {
    const [at, asked] = [clock.elapsed(), rechecks]
    made = (await tokens.anyToken(db)) || made
    if (asked === rechecks) noneUntil = at + noneMs
    return made
  }

  const looked = <T>(keys: Keyring<T>, hash: Buffer, secret: string, from: string | undefined): Promise<T | null> =>
    guesses.guess(from, () => keys.get(hash), isRandomSecret(secret))

  /**
   * What was tried before is no guess, and what many try at once is one: a client left with an old token locks nobody out.
   */
  async function find<T>({ keys, guessing }: Guessed<T>, secret: string, from: string | undefined): Promise<T | null> {
    const hash = hashOf(secret)
    if (keys.known(hash) !== undefined) return keys.get(hash)
    const name = `${from ?? ''} ${hash.toString('base64')}`
    const guess = guessing.get(name) ?? looked(keys, hash, secret, from).finally(() => guessing.delete(name))
    guessing.set(name, guess)
    return guess
  }

  /** Who logs in is a person, or plays one: each wrong try counts. */
  async function tryToken(secret: string, from: string | undefined): Promise<Known | null> {
    const hash = hashOf(secret)
    return keys.known(hash) === 'good' ? keys.get(hash) : looked(keys, hash, secret, from)
  }

  /** What makes it, and can be asked again: each time it is another secret. */
  function newToken({ user, role, by }: NewToken) {
    const token = { user: checkUser(user), role: checkRole(role), by: by ?? null }
    return async (run: Run): Promise<MadeToken> => {
      const secret = tokenPrefix + randomSecret()
      const hashed = { ...token, hash: hashOf(secret), shown: shownOf(secret) }
      return { ...(await tokens.insertToken(run, hashed, clock.instant()))!, token: secret }
    }
  }

  /** Once it is committed. */
  function announce({ id, user, role, createdBy: by }: MadeToken): void {
    made = true
    changed()
    log.info({ id, user, role, by }, 'a token was made')
  }

  return {
    async createToken(options) {
      const token = await newToken(options)(db.run)
      announce(token)
      return token
    },

    async createTokenOnce(options, once, answer) {
      const done = await exactlyOnce({ db, clock }, once, async () => newToken(options), answer)
      if (done.made !== undefined) announce(done.made)
      return done
    },

    async tokens(filter = {}) {
      const limit = checkPage(filter)
      return pageOf(await tokens.viewTokens(db, filter, filter.after, limit + 1), limit)
    },

    async revokeToken(id, { by, evenLast = false } = {}) {
      const revoked = isId(id) ? await tokens.revokeToken(db, id, evenLast, clock.instant()) : undefined
      forget()
      if (revoked?.changed) changed()
      if (revoked === undefined) throw new RetomaError('not_found', { what: 'token', id })
      if (revoked.revokedAt === null) throw new RetomaError('last_admin', { id })
      if (revoked.changed) log.info({ id, user: revoked.user, by: by ?? null }, 'a token was revoked')
      return revoked
    },

    async anyToken() {
      if (made || clock.elapsed() < noneUntil) return made
      asking ??= askForAny().finally(() => {
        asking = undefined
      })
      return asking
    },

    // Two statements: what a rival with the same value has inserted meanwhile is seen by the second one only.
    async keepAdminToken(secret) {
      const hash = hashOf(secret)
      const token = { hash, shown: shownOf(secret), user: 'admin', role: 'admin', by: adminVariable } as const
      await tokens.insertToken(db.run, token, clock.instant())
      const { live, replaced } = await tokens.replaceTokens(db, hash, adminVariable, clock.instant())
      made = true
      forget()
      changed()
      if (!live)
        log.warn({}, `the token of ${adminVariable} was revoked, and stays so: it opens nothing; set another value`)
      if (replaced > 0) log.info({ replaced }, `${adminVariable} has changed: what it held before is revoked`)
    },

    findToken: (secret, from) => find(byToken, secret, from),

    async logIn(secret, from) {
      const found = await tryToken(secret, from)
      if (found === null) return null
      const own = randomSecret()
      const kept = await logIns.insertLogIn(db, hashOf(own), found.id, logInLasts, clock.instant())
      return kept === undefined ? null : { ...found, secret: own, ...kept }
    },

    findLogIn: (secret, from) => find(byCookie, secret, from),

    async logOut(secret) {
      await logIns.removeLogIn(db, hashOf(secret))
      cookies.forget()
      changed()
    },

    recheck() {
      forget()
      rechecks++
      noneUntil = Number.NEGATIVE_INFINITY
    },
  }
}
