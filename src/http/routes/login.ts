/** Routes of the dashboard's login: exchanges a token for a cookie that scripts cannot read; logout removes the cookie. */

import { z } from 'zod'
import { logInLasts, roles } from '../../auth/model/token.ts'
import { internalsOf } from '../../engine/internals.ts'
import { RetomaError } from '../../errors/errors.ts'
import { type Route, route } from '../route.ts'
import { cookieOf, cookieWith } from '../security/bearer-token.ts'
import { fromOf } from '../security/client-address.ts'
import { instant } from '../shared-schemas.ts'

const asker = { user: z.string(), role: z.enum(roles) }

export const logInRoutes: readonly Route[] = [
  route({
    method: 'post',
    path: '/api/v1/login',
    name: 'logIn',
    tag: 'log-in',
    summary: 'Logs in with a token: sets a cookie for a week',
    role: 'open',
    body: z.strictObject({ token: z.string().min(1).max(500) }),
    largest: 4 * 1024,
    answer: z.object({ ...asker, expires_at: instant }),
    errors: ['unauthorized', 'foreign_origin', 'rate_limited'],
    async run({ engine, body, peer, headers }) {
      const found = await internalsOf(engine).logIn(body.token, fromOf(peer))
      if (found === null) throw new RetomaError('unauthorized', {})
      const { secret, user, role, expiresAt } = found
      headers.append('set-cookie', cookieWith(secret, logInLasts / 1000, peer.secure === true))
      return { user, role, expires_at: expiresAt }
    },
  }),
  route({
    method: 'post',
    path: '/api/v1/logout',
    name: 'logOut',
    tag: 'log-in',
    summary: 'Logs out: the cookie is no longer valid',
    role: 'open',
    status: 204,
    errors: ['foreign_origin'],
    async run({ engine, request, peer, headers }) {
      const secret = cookieOf(request, peer.secure === true)
      headers.append('set-cookie', cookieWith('', 0, peer.secure === true))
      if (secret !== undefined) await internalsOf(engine).logOut(secret)
    },
  }),
  route({
    method: 'get',
    path: '/api/v1/me',
    name: 'whoAmI',
    tag: 'log-in',
    summary: 'Gets the user, the role and the kind of credential of the request',
    role: 'viewer',
    answer: z.object({ ...asker, via: z.enum(['token', 'cookie', 'open', 'host']) }),
    run: ({ who: { user, role, via } }) => ({ user, role, via }),
  }),
]
