/**
 * Authenticates requests. Every request for a route passes here before anything else is read; a request without a valid credential is
 * refused with a code. The order: the answer of the host application (`who`), a token, the session cookie, and, while no token was ever
 * created, this machine itself, if Retoma's own server listens on loopback.
 *
 * Invariant: the address of a client never authenticates a request if the app is mounted in another server or if `who` is given. While
 * the engine does not know whether a token exists, a request without a token is refused; except on a route with `unasked`, which answers
 * anonymous requests too.
 */

import { roles, shortestSecret } from '../../auth/model/token.ts'
import type { Engine } from '../../engine/create-engine.ts'
import { internalsOf } from '../../engine/internals.ts'
import { databaseTimeout } from '../../errors/database-unreachable.ts'
import { isRetomaError, RetomaError } from '../../errors/errors.ts'
import { refuseOption } from '../../errors/invalid-option.ts'
import { isLoopback } from '../../lib/network-address.ts'
import { sameSecret } from '../../lib/secret.ts'
import { withDeadline } from '../../lib/with-deadline.ts'
import type { Peer, Principal, Route } from '../route.ts'
import { bearerOf, cookieOf } from './bearer-token.ts'
import { type ClientAddress, type ClientAddressOptions, fromOf, ownLoopback } from './client-address.ts'
import { changesSomething, refuseForeignHost, refuseForeignOrigin } from './same-origin.ts'

export interface AuthenticateOptions extends ClientAddressOptions {
  /**
   * true: while no token was created, every client that can reach the app is an admin; for a program that is reachable only for
   * authorized clients. Cannot be combined with `who`. Default: only Retoma's own server (`retoma up`, `retoma serve`) admits this
   * machine.
   */
  open?: boolean
  /**
   * Authenticates a request by the login of the host application. null: the host application does not know the user,
   * and a token is needed. If `who` is given, no request is admitted by address. Default: tokens only.
   */
  who?: (request: Request, peer: Peer) => Asker | null | Promise<Asker | null>
  /** The secret of the cron routes; without a secret the cron routes stay closed. Default: none. */
  cronSecret?: string | undefined
}

/** The user and the role of a request, as the host application knows them. */
export type Asker = Pick<Principal, 'user' | 'role'>

export interface Authenticator {
  /** Throws `unauthorized`, or another error about the request as a whole. `route`: undefined if no route matches. */
  authenticate(request: Request, client: ClientAddress, route: Route | undefined): Promise<Principal>
}

/** A scraper does not wait for long. */
const unaskedMs = 2000
const away = () => databaseTimeout(unaskedMs, false)

const nobody: Principal = { user: '', role: 'viewer', via: 'open', token: null }

export function createAuthenticator(engine: Engine, options: AuthenticateOptions = {}): Authenticator {
  const { open, who, cronSecret } = options
  if (cronSecret && cronSecret.length < shortestSecret)
    refuseOption(
      'cronSecret',
      `it has fewer than ${shortestSecret} characters; make one with: openssl rand -hex 32`,
      `tem menos de ${shortestSecret} caracteres; gere um com: openssl rand -hex 32`,
    )
  if (open === true && who !== undefined)
    refuseOption(
      'open',
      'it lets everybody in, and `who` decides who comes in: leave one of them out',
      'deixa todo mundo entrar, e `who` decide quem entra: tire um dos dois',
    )

  async function byToken(request: Request, client: ClientAddress): Promise<Principal | undefined> {
    const secret = bearerOf(request)
    // If no token exists, there is none to guess.
    if (secret === undefined || !(await internalsOf(engine).anyToken())) return undefined
    const found = await internalsOf(engine).findToken(secret, fromOf(client))
    if (found === null) throw new RetomaError('unauthorized', {})
    return { user: found.user, role: found.role, via: 'token', token: found.id }
  }

  async function byCookie(request: Request, client: ClientAddress): Promise<Principal | undefined> {
    const secret = cookieOf(request, client.secure)
    // If no token exists, there is none to guess.
    if (secret === undefined || !(await internalsOf(engine).anyToken())) return undefined
    const found = await internalsOf(engine).findLogIn(secret, fromOf(client))
    if (found === null) return undefined
    if (changesSomething(request)) refuseForeignOrigin(request, client, options)
    return { user: found.user, role: found.role, via: 'cookie', token: found.id }
  }

  async function openly(request: Request, client: ClientAddress): Promise<Principal | undefined> {
    if (who !== undefined || (await internalsOf(engine).anyToken())) return undefined
    if (open !== true) {
      // An app in another server needs a token with and without a proxy, and some servers, such as Next.js, add these headers themselves.
      if (open === false || !client[ownLoopback]) return undefined
      const header = [...request.headers.keys()].find(name => /^(?:forwarded|via|x-forwarded-.*)$/.test(name))
      if (header !== undefined) throw new RetomaError('proxy_without_token', { header })
      if (!isLoopback(client.address ?? '')) return undefined
      refuseForeignHost(client, options)
    }
    if (changesSomething(request)) refuseForeignOrigin(request, client, options)
    const user = request.headers.get('x-user-id')?.trim().slice(0, 100)
    return { user: user || 'local', role: 'admin', via: 'open', token: null }
  }

  async function byCronSecret(request: Request, client: ClientAddress): Promise<Principal> {
    if (!cronSecret) throw new RetomaError('cron_unset', {})
    const given = [bearerOf(request), new URL(request.url).searchParams.get('secret')].filter(each => each)
    const isRight = async () => given.some(each => sameSecret(each!, cronSecret)) || null
    if (given.length > 0 && (await internalsOf(engine).guess(fromOf(client), isRight)))
      return { ...nobody, user: 'cron' }
    throw new RetomaError('cron_refused', {})
  }

  const inside = async (request: Request, client: ClientAddress) =>
    (await byToken(request, client)) ?? (await byCookie(request, client)) ?? (await openly(request, client))

  return {
    async authenticate(request, client, route) {
      if (route?.role === 'cron') return byCronSecret(request, client)
      if (route?.role === 'open') {
        if (changesSomething(request)) refuseForeignOrigin(request, client, options)
        return nobody
      }
      const said = await who?.(request, client)
      if (said) return principalOf(said)
      try {
        const asked = inside(request, client)
        const found = await (route?.unasked ? withDeadline(asked, unaskedMs, away) : asked)
        if (found !== undefined) return found
      } catch (error) {
        if (route?.unasked && isRetomaError(error) && error.status === 503) return nobody
        throw error
      }
      throw new RetomaError('unauthorized', {})
    },
  }
}

/**
 * The principal that `who` returned. A return value without a name and a known role is a mistake of the application and admits no
 * request.
 */
function principalOf({ user, role }: Asker): Principal {
  const isKnown = typeof user === 'string' && /^[^\p{Cc}\p{Cs}]{1,500}$/u.test(user) && roles.includes(role)
  if (!isKnown) throw new TypeError(`\`who\` must answer null or { user: 'a name', role: '${roles.join("' | '")}' }`)
  return { user, role, via: 'host', token: null }
}
