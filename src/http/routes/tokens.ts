/** Routes to create, list and revoke tokens, for admins. */

import { z } from 'zod'
import { roles } from '../../auth/model/token.ts'
import type { Engine, StoredResponse } from '../../engine/create-engine.ts'
import { internalsOf } from '../../engine/internals.ts'
import { tokenWire } from '../../json-views.ts'
import { answerExactly } from '../request/idempotency-key.ts'
import { type Call, type Route, route } from '../route.ts'
import { idParams, instant, pageOf, pageQuery } from '../shared-schemas.ts'

const role = z.enum(roles)

const token = z.object({
  id: z.string(),
  user: z.string(),
  role,
  shown: z.string().meta({ description: 'the first characters of the token' }),
  created_at: instant,
  created_by: z.string().nullable(),
  used_at: instant.nullable().meta({ description: 'to the minute' }),
  revoked_at: instant.nullable(),
})

type MadeToken = Awaited<ReturnType<Engine['tokens']['create']>>

const madeWire = ({ token: secret, ...view }: MadeToken) => ({ ...tokenWire(view), token: secret })

const revoke = async ({ engine, params, who }: Call<{ id: string }>) => {
  const { changed, ...view } = await engine.tokens.revoke(params.id, { by: who.user })
  return { ...tokenWire(view), changed }
}

const revocation = {
  name: 'revokeToken',
  tag: 'tokens',
  summary: 'Revokes a token and ends its sessions',
  role: 'admin',
  params: idParams,
  answer: token.extend({ changed: z.boolean() }),
  errors: ['not_found', 'last_admin'],
  run: revoke,
} as const

export const tokenRoutes: readonly Route[] = [
  route({
    method: 'get',
    path: '/api/v1/tokens',
    name: 'listTokens',
    tag: 'tokens',
    summary: 'Lists the tokens with the revoked tokens, the newest first',
    role: 'admin',
    query: z.strictObject({
      ...pageQuery,
      user: z.string().max(500).optional(),
      role: role.optional(),
      live: z
        .string()
        .max(10)
        .pipe(z.stringbool())
        .optional()
        .meta({ description: 'only tokens that are not revoked' }),
    }),
    answer: pageOf(token),
    errors: ['bad_option'],
    async run({ engine, query }) {
      const given = Object.entries(query).filter(([, value]) => value !== undefined)
      const { items, next } = await engine.tokens.list(Object.fromEntries(given))
      return { items: items.map(tokenWire), next }
    },
  }),
  route({
    method: 'post',
    path: '/api/v1/tokens',
    name: 'createToken',
    tag: 'tokens',
    summary: 'Creates a token; only this response contains the secret',
    role: 'admin',
    body: z.strictObject({ user: z.string().min(1).max(100), role }),
    answer: token.extend({
      token: z.string().nullable().meta({
        description:
          'null: a repetition of the request with the same Idempotency-Key; the first response had the token',
      }),
    }),
    status: 201,
    makes: 'exactly',
    errors: ['bad_option'],
    async run({ engine, body, who, once, headers }) {
      const asked = { ...body, by: who.user }
      if (once === undefined) return madeWire(await engine.tokens.create(asked))
      // A repeated request returns the same token without the secret, because only the hash of the secret is stored.
      const make = (keep: (made: MadeToken) => StoredResponse) => internalsOf(engine).createTokenOnce(asked, once, keep)
      return answerExactly(headers, make, madeWire, { token: null })
    },
  }),
  route({ ...revocation, method: 'delete', path: '/api/v1/tokens/{id}', name: 'deleteToken' }),
  route({ ...revocation, method: 'post', path: '/api/v1/tokens/{id}/revoke' }),
]
