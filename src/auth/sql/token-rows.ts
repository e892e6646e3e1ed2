/**
 * Creates, finds, lists and revokes tokens. A revoked row stays: to show its owner, and because a revoked token must
 * never become valid again.
 *
 * Invariant: no statement contains the token, only its hash.
 */

import type { Db, Run } from '../../database/db.ts'
import type { TokenRole } from '../model/token.ts'

/** A token without its secret. */
export interface TokenView {
  id: string
  user: string
  role: TokenRole
  /** The first characters of the token. */
  shown: string
  createdAt: Date
  createdBy: string | null
  /** Precise to the minute. */
  usedAt: Date | null
  revokedAt: Date | null
}

const columns = `
  t.id::text, t.user_name as "user", t.role, t.shown, t.created_at as "createdAt", t.created_by as "createdBy",
  t.used_at as "usedAt", t.revoked_at as "revokedAt"`

export interface NewToken {
  hash: Uint8Array
  shown: string
  user: string
  role: TokenRole
  by: string | null
}

// The same hash twice is the token of RETOMA_ADMIN_TOKEN at another start.
const insert = {
  name: 'token_insert',
  text: `
    insert into retoma.token as t (hash, shown, user_name, role, created_by, created_at)
    values ($1, $2, $3, $4, $5, coalesce($6::timestamptz, now()))
    on conflict (hash) do nothing
    returning ${columns}`,
}

/** Returns undefined if a token with the hash exists. */
export async function insertToken(run: Run, token: NewToken, now: Date | null): Promise<TokenView | undefined> {
  const { hash, shown, user, role, by } = token
  const [row] = await run<TokenView>(insert, [hash, shown, user, role, by, now])
  return row
}

const replace = {
  name: 'token_replace',
  text: `
    with live as (
      select from retoma.token where hash = $1 and role = 'admin' and revoked_at is null
    ), old as (
      update retoma.token
      set revoked_at = coalesce($3::timestamptz, now())
      where created_by = $2 and hash <> $1 and revoked_at is null and exists (select from live)
      returning id
    ), ended as (
      delete from retoma.session where token_id = any (array(select id from old))
    )
    select exists (select from live) as live, (select count(*)::int from old) as replaced`,
}

/** Revokes the earlier tokens of the same creator; revokes nothing if the new token is not live. */
export async function replaceTokens(
  db: Db,
  hash: Uint8Array,
  by: string,
  now: Date | null,
): Promise<{ live: boolean; replaced: number }> {
  const [row] = await db.run<{ live: boolean; replaced: number }>(replace, [hash, by, now])
  return row!
}

export interface FoundToken {
  id: string
  hash: Uint8Array
  user: string
  role: TokenRole
  /** `used_at` is older than 1 minute. */
  unnoted: boolean
}

const find = {
  name: 'token_find',
  text: `
    select id::text, hash, user_name as "user", role,
      used_at is null or used_at < coalesce($2::timestamptz, now()) - interval '1 minute' as unnoted
    from retoma.token
    where hash = $1 and revoked_at is null`,
}

export async function findToken(db: Db, hash: Uint8Array, now: Date | null): Promise<FoundToken | undefined> {
  const [row] = await db.run<FoundToken>(find, [hash, now])
  return row
}

const note = {
  name: 'token_note_use',
  text: `
    update retoma.token
    set used_at = coalesce($2::timestamptz, now())
    where id = $1 and (used_at is null or used_at < coalesce($2::timestamptz, now()) - interval '1 minute')`,
}

export async function recordTokenUse(db: Db, id: string, now: Date | null): Promise<void> {
  await db.run(note, [id, now])
}

const any = { name: 'token_any', text: `select exists (select from retoma.token) as made` }

/** Counts revoked tokens too. */
export async function anyToken(db: Db): Promise<boolean> {
  const [row] = await db.run<{ made: boolean }>(any, [])
  return row!.made
}

/** Selects tokens of `engine.tokens.list`. */
export interface TokenFilter {
  /** Only tokens of this user. Default: any. */
  user?: string
  /** Only tokens with this role. Default: any. */
  role?: TokenRole
  /** Only tokens that are not revoked. Default: revoked tokens too. */
  live?: boolean
}

const view = {
  name: 'token_view',
  text: `
    select ${columns}
    from retoma.token t
    where ($1::bigint is null or t.id < $1)
      and ($2::text is null or t.user_name = $2)
      and ($3::text is null or t.role = $3)
      and (not $4::bool or t.revoked_at is null)
    order by t.id desc
    limit $5`,
}

/** Newest first. */
export const viewTokens = (
  db: Db,
  { user, role, live = false }: TokenFilter,
  after: string | undefined,
  limit: number,
): Promise<TokenView[]> => db.run<TokenView>(view, [after ?? null, user ?? null, role ?? null, live, limit])

// A revoke locks every live admin token, so if two admins revoke each other, the second is recognized as the last. A
// token revoked during the wait for the lock is no longer among the admins.
const revoke = {
  name: 'token_revoke',
  text: `
    with admins as materialized (
      select id from retoma.token where role = 'admin' and revoked_at is null order by id for update
    ), moved as (
      update retoma.token
      set revoked_at = coalesce($2::timestamptz, now())
      where id = $1 and revoked_at is null
        and ($3::bool or role <> 'admin' or exists (select from admins a where a.id <> $1))
      returning id, revoked_at
    ), ended as (
      delete from retoma.session where token_id = any (array(select id from moved))
    )
    select ${columns.replace('t.revoked_at', 'coalesce(t.revoked_at, m.revoked_at)')}, m.id is not null as changed
    from retoma.token t left join moved m on m.id = t.id
    where t.id = $1`,
}

/**
 * Revokes the token and ends its login sessions. Neither changed nor revoked: the last admin token. undefined: no such
 * token.
 */
export async function revokeToken(
  db: Db,
  id: string,
  evenLast: boolean,
  now: Date | null,
): Promise<(TokenView & { changed: boolean }) | undefined> {
  const [row] = await db.run<TokenView & { changed: boolean }>(revoke, [id, now, evenLast])
  return row
}
