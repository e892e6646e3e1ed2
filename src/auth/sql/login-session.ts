/**
 * Stores login sessions of the dashboard (retoma.session): the hash of the cookie. A session ends when it expires, at
 * logout, or with its token.
 */

import type { Db } from '../../database/db.ts'
import type { TokenRole } from '../model/token.ts'

/**
 * Maximum number of sessions per token, so that a token cannot fill the table. A further login ends the oldest session.
 */
const mostLogIns = 20

const insert = {
  name: 'login_insert',
  text: `
    with others as (
      select hash from retoma.session where token_id = $2 order by created_at desc, hash offset ${mostLogIns - 1}
    ), ended as (
      delete from retoma.session where hash = any (array(select hash from others))
    )
    insert into retoma.session (hash, token_id, created_at, expires_at)
    select $1, id, coalesce($4::timestamptz, now()), coalesce($4::timestamptz, now()) + make_interval(secs => $3 / 1000.0)
    from retoma.token
    where id = $2 and revoked_at is null
    returning expires_at as "expiresAt"`,
}

/** Ends the oldest sessions of the token beyond `mostLogIns`. undefined: the token was revoked meanwhile. */
export async function insertLogIn(
  db: Db,
  hash: Buffer,
  token: string,
  lastsMs: number,
  now: Date | null,
): Promise<{ expiresAt: Date } | undefined> {
  const [row] = await db.run<{ expiresAt: Date }>(insert, [hash, token, lastsMs, now])
  return row
}

export interface FoundLogIn {
  hash: Buffer
  /** Id of the token that logged in. */
  id: string
  user: string
  role: TokenRole
  expiresAt: Date
}

const find = {
  name: 'login_find',
  text: `
    select s.hash, t.id::text, t.user_name as "user", t.role, s.expires_at as "expiresAt"
    from retoma.session s join retoma.token t on t.id = any (array[s.token_id])
    where s.hash = $1 and s.expires_at > coalesce($2::timestamptz, now()) and t.revoked_at is null`,
}

export async function findLogIn(db: Db, hash: Buffer, now: Date | null): Promise<FoundLogIn | undefined> {
  const [row] = await db.run<FoundLogIn>(find, [hash, now])
  return row
}

const remove = { name: 'login_remove', text: `delete from retoma.session where hash = $1` }

export async function removeLogIn(db: Db, hash: Buffer): Promise<void> {
  await db.run(remove, [hash])
}
