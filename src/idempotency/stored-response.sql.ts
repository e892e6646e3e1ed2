/**
 * Stores the first response to an idempotent request for a day, under the key of the caller.
 *
 * Invariant: an insert takes the key and waits for a concurrent insert, so the second of two concurrent requests finds
 * the row of the first. If taking the key, creating the resource and storing the response happen in a single transaction,
 * all or nothing is written. Otherwise a row without a response is under way, and counts as abandoned after 1 minute.
 */

import type { Run } from '../database/db.ts'
import { nowParameter } from '../database/now-parameter.ts'

/** Caller, route and key of an idempotent request. */
export interface IdempotencyKey {
  who: string
  route: string
  key: string
  /** Hash of the whole request. A different request under the same key is an error. */
  hash: Uint8Array
}

export interface StoredResponse {
  status: number
  /** The body as sent. */
  body: string
}

const now = nowParameter(5)

const take = {
  name: 'idempotency_begin',
  text: `
    insert into retoma.idempotency (who, route, key, body_hash, at)
    values ($1, $2, $3, $4, ${now})
    on conflict (who, route, key) do update
      set body_hash = excluded.body_hash, status = null, response = null, at = excluded.at
      where idempotency.at <= ${now} - interval '24 hours'
        or idempotency.status is null and idempotency.at <= ${now} - interval '1 minute' and idempotency.body_hash = excluded.body_hash
    returning at::text as at`,
}

/** Returns the instant of taking the key, which storeResponse and dropKey need; undefined: another request has the key. */
export async function takeKey(run: Run, once: IdempotencyKey, now: Date | null): Promise<string | undefined> {
  const [row] = await run<{ at: string }>(take, [...valuesOf(once), now])
  return row?.at
}

// Stores the text of the response, so a repetition gets the same bytes.
const keep = {
  name: 'idempotency_store',
  text: `
    update retoma.idempotency
    set status = $6, response = to_jsonb($7::text)
    where who = $1 and route = $2 and key = $3 and body_hash = $4 and at = $5::timestamptz`,
}

export async function storeResponse(
  run: Run,
  once: IdempotencyKey,
  at: string,
  { status, body }: StoredResponse,
): Promise<void> {
  await run(keep, [...valuesOf(once), at, status, body])
}

const drop = {
  name: 'idempotency_delete',
  text: `
    delete from retoma.idempotency
    where who = $1 and route = $2 and key = $3 and body_hash = $4 and at = $5::timestamptz and status is null`,
}

/** Releases the key of a request without a response, so a repetition may run. */
export async function dropKey(run: Run, once: IdempotencyKey, at: string): Promise<void> {
  await run(drop, [...valuesOf(once), at])
}

const read = {
  name: 'idempotency_read',
  text: `
    select body_hash = $4 as same, status, response #>> '{}' as body
    from retoma.idempotency
    where who = $1 and route = $2 and key = $3 and at > ${now} - interval '24 hours'`,
}

/** `status` null: the request is under way. undefined: no request has the key. */
export async function readStoredResponse(
  run: Run,
  once: IdempotencyKey,
  now: Date | null,
): Promise<{ same: boolean; status: number | null; body: string | null } | undefined> {
  const [row] = await run<{ same: boolean; status: number | null; body: string | null }>(read, [...valuesOf(once), now])
  return row
}

/** Status of an erased response. Error responses are never stored, so the status is unambiguous. */
export const forgotten = 404

// Every response of the route is JSON text; the `case` keeps the cast away from responses of other routes.
const forget = {
  name: 'idempotency_erase',
  text: `
    update retoma.idempotency
    set status = ${forgotten}, response = to_jsonb('{"id":' || to_json($2::text) || '}')
    where route = $1 and status is not null and at > coalesce($3::timestamptz, now()) - interval '24 hours'
      and case when route = $1 then (response #>> '{}')::jsonb ->> 'id' end = $2`,
}

/** Replaces the stored responses of the route for the resource `id` by a 404 with the id only. */
export async function eraseStoredResponses(run: Run, route: string, id: string, now: Date | null): Promise<void> {
  await run(forget, [route, id, now])
}

const valuesOf = ({ who, route, key, hash }: IdempotencyKey) => [who, route, key, hash]
