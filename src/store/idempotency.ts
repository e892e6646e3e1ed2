/**
 * The first answer to a request that makes something, kept for a day under the caller's own key.
 *
 * Invariant: a key is taken by one insert, which waits for a rival's: so of two requests at once one finds the other's row.
 * Where it is taken, the thing made and the answer kept in one transaction, all of it is there or nothing. Where they are not,
 * a row without an answer is under way; after a minute it counts as left behind.
 */
import type { Run } from './db.ts'

/** Who asked what, under which key. */
export interface Once {
  who: string
  route: string
  key: string
  /** Of all that was asked: another one under the same key is a mistake. */
  hash: Uint8Array
}

export interface Kept {
  status: number
  /** As it was sent. */
  body: string
}

const now = 'coalesce($5::timestamptz, now())'

const take = {
  name: 'idempotency_take',
  text: `
    insert into retoma.idempotency (who, route, key, body_hash, at)
    values ($1, $2, $3, $4, ${now})
    on conflict (who, route, key) do update
      set body_hash = excluded.body_hash, status = null, answer = null, at = excluded.at
      where idempotency.at <= ${now} - interval '24 hours'
        or idempotency.status is null and idempotency.at <= ${now} - interval '1 minute' and idempotency.body_hash = excluded.body_hash
    returning at::text as at`,
}

/** When it was taken, which is what it is kept and dropped by; undefined: somebody has it. */
export async function takeKey(run: Run, once: Once, now: Date | null): Promise<string | undefined> {
  const [row] = await run<{ at: string }>(take, [...valuesOf(once), now])
  return row?.at
}

// The text of the answer, so that it is the same to the byte.
const keep = {
  name: 'idempotency_keep',
  text: `
    update retoma.idempotency
    set status = $6, answer = to_jsonb($7::text)
    where who = $1 and route = $2 and key = $3 and body_hash = $4 and at = $5::timestamptz`,
}

export async function keepAnswer(run: Run, once: Once, at: string, { status, body }: Kept): Promise<void> {
  await run(keep, [...valuesOf(once), at, status, body])
}

const drop = {
  name: 'idempotency_drop',
  text: `
    delete from retoma.idempotency
    where who = $1 and route = $2 and key = $3 and body_hash = $4 and at = $5::timestamptz and status is null`,
}

/** Nothing came of it: the next may try. */
export async function dropKey(run: Run, once: Once, at: string): Promise<void> {
  await run(drop, [...valuesOf(once), at])
}

const read = {
  name: 'idempotency_read',
  text: `
    select body_hash = $4 as same, status, answer #>> '{}' as body
    from retoma.idempotency
    where who = $1 and route = $2 and key = $3 and at > ${now} - interval '24 hours'`,
}

/** `status` null: it is under way; undefined: nobody has that key. */
export async function readKept(
  run: Run,
  once: Once,
  now: Date | null,
): Promise<{ same: boolean; status: number | null; body: string | null } | undefined> {
  const [row] = await run<{ same: boolean; status: number | null; body: string | null }>(read, [...valuesOf(once), now])
  return row
}

/** The status of an answer that was forgotten; no error is kept. */
export const forgotten = 404

// Any answer of that route is a JSON text; of others none is looked at.
const forget = {
  name: 'idempotency_forget',
  text: `
    update retoma.idempotency
    set status = ${forgotten}, answer = to_jsonb('{"id":' || to_json($2::text) || '}')
    where route = $1 and status is not null and at > coalesce($3::timestamptz, now()) - interval '24 hours'
      and case when route = $1 then (answer #>> '{}')::jsonb ->> 'id' end = $2`,
}

/** Of an answer to that route only the id of what was made is left, and that it is not there. */
export async function forgetAnswers(run: Run, route: string, id: string, now: Date | null): Promise<void> {
  await run(forget, [route, id, now])
}

const valuesOf = ({ who, route, key, hash }: Once) => [who, route, key, hash]
