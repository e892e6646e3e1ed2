/**
 * Authenticates principals by tokens and login sessions. HTTP asks for every request; the answer comes from the cache except once
 * every few seconds (credential-cache.ts).
 *
 * Invariant: a secret is answered once, to its creator; secrets are neither stored nor logged.
 */

import type { Db, Run } from '../database/db.ts'
import { RetomaError } from '../errors/errors.ts'
import { exactlyOnce, type Replayable } from '../idempotency/idempotent-request.ts'
import type { IdempotencyKey, StoredResponse } from '../idempotency/stored-response.sql.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/logging/log.ts'
import { isRandomSecret, randomSecret } from '../lib/random.ts'
import { hashOf, sameHash } from '../lib/secret.ts'
import { isId } from '../lib/values/id.ts'
import { checkPage, type ListPage, type ListPageOptions, pageOf } from '../lib/values/page.ts'
import type { GuessThrottle } from './brute-force-throttle.ts'
import { CredentialCache } from './credential-cache.ts'
import { checkRole, checkUser, logInLasts, shownOf, type TokenRole, tokenPrefix } from './model/token.ts'
import * as logIns from './sql/login-session.ts'
import type { TokenFilter, TokenView } from './sql/token-rows.ts'
import * as tokens from './sql/token-rows.ts'

/** The principal of a credential; `id` is the id of the token, also for a login session. */
interface TokenPrincipal {
  id: string
  user: string
  role: TokenRole
}

/** Options of `engine.tokens.create`. */
export interface CreateTokenOptions {
  /** The user of the token, for people and for events. */
  user: string
  /** The rights of the token. */
  role: TokenRole
  /** The actor that creates the token. Default: nobody is named. */
  by?: string
}

/** `token` is the secret: answered here and never again. */
export type CreatedToken = TokenView & { token: string }

/** The namespace `engine.tokens`. */
export interface TokensApi {
  /** Creates a token and answers its secret, which is never shown again. */
  create(options: CreateTokenOptions): Promise<CreatedToken>
  /** The newest first. */
  list(filter?: TokenFilter & ListPageOptions): Promise<ListPage<TokenView>>
  /**
   * Revokes a token: at once in this process and in processes that listen, in others within five seconds. Throws `last_admin` for
   * the last admin token, unless `evenLast`.
   */
  revoke(
    id: string,
    options?: {
      /** The actor that revokes the token. Default: nobody is named. */
      by?: string
      /** Revokes the last admin token too. Default false. */
      evenLast?: boolean
    },
  ): Promise<TokenView & { changed: boolean }>
}

/** Authenticates requests, for HTTP alone. */
export interface Authentication {
  /**
   * `tokens.create` as an idempotent request: stores `answer` of the result, which must not contain the secret; a repetition gets the
   * stored response and creates nothing.
   */
  createTokenOnce(
    options: CreateTokenOptions,
    once: IdempotencyKey,
    answer: (made: CreatedToken) => StoredResponse,
  ): Promise<Replayable<CreatedToken>>
  /**
   * Answers whether any token was ever created, including revoked tokens. A change is known at once in processes that listen,
   * within seconds in the others.
   */
  anyToken(): Promise<boolean>
  /** Creates the token of RETOMA_ADMIN_TOKEN once, and replaces the token of the variable's previous value. */
  keepAdminToken(secret: string): Promise<void>
  /** null: the token does not exist or is revoked. `from`: throttles guesses (brute-force-throttle.ts); throws `rate_limited`. */
  findToken(secret: string, from: string | undefined): Promise<TokenPrincipal | null>
  /** Creates a login session for a token and answers the secret of the cookie. */
  logIn(
    secret: string,
    from: string | undefined,
  ): Promise<(TokenPrincipal & { secret: string; expiresAt: Date }) | null>
  /** As `findToken`: an unknown cookie counts as a guess. */
  findLogIn(secret: string, from?: string): Promise<(TokenPrincipal & { expiresAt: Date }) | null>
  logOut(secret: string): Promise<void>
}

interface TokenService extends Authentication {
  tokens: TokensApi
  /** Drops the cached credentials: the next request is looked up. */
  recheck(): void
}

/** The cache of a credential type, and the lookups of unknown secrets under way, by origin and secret. */
interface Guessed<T> {
  keys: CredentialCache<T>
  guessing: Map<string, Promise<T | null>>
}

const noneMs = 2000
const adminVariable = 'RETOMA_ADMIN_TOKEN'

/** `changed`: notifies other processes that tokens or logins have changed. */
export function createTokens(given: {
  db: Db
  clock: Clock
  log: Log
  guessThrottle: GuessThrottle
  changed: () => void
}): TokenService {
  const { db, clock, log, guessThrottle, changed } = given
  const keys = new CredentialCache<TokenPrincipal>(clock, lookUpToken)
  const cookies = new CredentialCache<TokenPrincipal & { expiresAt: Date }>(clock, lookUpLogIn)
  const byToken: Guessed<TokenPrincipal> = { keys, guessing: new Map() }
  const byCookie: Guessed<TokenPrincipal & { expiresAt: Date }> = { keys: cookies, guessing: new Map() }
  /** Stays true once a token has existed. */
  let made = false
  let noneUntil = Number.NEGATIVE_INFINITY
  let asking: Promise<boolean> | undefined
  let rechecks = 0

  async function lookUpToken(hash: Buffer): Promise<TokenPrincipal | null> {
    const found = await tokens.findToken(db, hash, clock.instant())
    if (found === undefined || !sameHash(found.hash, hash)) return null
    const { id, user, role, unnoted } = found
    if (unnoted)
      void tokens
        .recordTokenUse(db, id, clock.instant())
        .catch(error => log.debug({ err: error }, 'cannot write the last use of a token'))
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

  const throttledLookUp = <T>(
    keys: CredentialCache<T>,
    hash: Buffer,
    secret: string,
    from: string | undefined,
  ): Promise<T | null> => guessThrottle.guess(from, () => keys.get(hash), isRandomSecret(secret))

  /**
   * A repeated secret is no guess, and concurrent requests with the same secret are a single guess: a client with an old token
   * does not lock out others.
   */
  async function find<T>({ keys, guessing }: Guessed<T>, secret: string, from: string | undefined): Promise<T | null> {
    const hash = hashOf(secret)
    if (keys.known(hash) !== undefined) return keys.get(hash)
    const name = `${from ?? ''} ${hash.toString('base64')}`
    const guess = guessing.get(name) ?? throttledLookUp(keys, hash, secret, from).finally(() => guessing.delete(name))
    guessing.set(name, guess)
    return guess
  }

  /** A login comes from a person, or pretends to: each wrong secret counts. */
  async function tryToken(secret: string, from: string | undefined): Promise<TokenPrincipal | null> {
    const hash = hashOf(secret)
    return keys.known(hash) === 'good' ? keys.get(hash) : throttledLookUp(keys, hash, secret, from)
  }

  /** Answers the function that creates the token; each call creates another secret. */
  function newToken({ user, role, by }: CreateTokenOptions) {
    const token = { user: checkUser(user), role: checkRole(role), by: by ?? null }
    return async (run: Run): Promise<CreatedToken> => {
      const secret = tokenPrefix + randomSecret()
      const hashed = { ...token, hash: hashOf(secret), shown: shownOf(secret) }
      return { ...(await tokens.insertToken(run, hashed, clock.instant()))!, token: secret }
    }
  }

  /** Call after the commit. */
  function announce({ id, user, role, createdBy: by }: CreatedToken): void {
    made = true
    changed()
    log.info({ id, user, role, by }, 'created a token')
  }

  return {
    tokens: {
      async create(options) {
        const token = await newToken(options)(db.run)
        announce(token)
        return token
      },

      async list(filter = {}) {
        const limit = checkPage(filter)
        return pageOf(await tokens.viewTokens(db, filter, filter.after, limit + 1), limit)
      },

      async revoke(id, { by, evenLast = false } = {}) {
        const revoked = isId(id) ? await tokens.revokeToken(db, id, evenLast, clock.instant()) : undefined
        forget()
        if (revoked?.changed) changed()
        if (revoked === undefined) throw new RetomaError('not_found', { what: 'token', id })
        if (revoked.revokedAt === null) throw new RetomaError('last_admin', { id })
        if (revoked.changed) log.info({ id, user: revoked.user, by: by ?? null }, 'revoked a token')
        return revoked
      },
    },

    async createTokenOnce(options, once, answer) {
      const done = await exactlyOnce({ db, clock }, once, async () => newToken(options), answer)
      if (done.made !== undefined) announce(done.made)
      return done
    },

    async anyToken() {
      if (made || clock.elapsed() < noneUntil) return made
      asking ??= askForAny().finally(() => {
        asking = undefined
      })
      return asking
    },

    // Two statements: only the second sees a row that a concurrent process with the same value has inserted meanwhile.
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
