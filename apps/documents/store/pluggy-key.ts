/**
 * Stores the shared API key of Pluggy, encrypted.
 *
 * Invariant: the generation grows by one with each new key, and only the holder of the renewal writes a key. All instants are those of
 * the database.
 */
import type { Engine } from 'retoma'
import { clockOf } from 'retoma/http'

export interface StoredKey {
  generation: number
  /** Encrypted; null: no key yet. */
  sealed: Buffer | null
  expiresAt: Date | null
  isValid: boolean
  /** The last login failed, and no process asks for a new key now. */
  hasFailed: boolean
}

const read = `
  select generation, sealed, expires_at as "expiresAt", coalesce(expires_at > coalesce($2::timestamptz, now()), false) as "isValid",
    renewing_until is null as "hasFailed"
  from documents.pluggy_key where client = $1`

/** undefined: these credentials have no row yet. */
export async function readKey(home: Engine, client: string): Promise<StoredKey | undefined> {
  return (await home.query<StoredKey>(read, [client, clockOf(home).instant()])).rows[0]
}

const take = `
  insert into documents.pluggy_key as k (client, generation, renewing_until)
  values ($1, 0, coalesce($4::timestamptz, now()) + make_interval(secs => $3::float8 / 1000))
  on conflict (client) do update set renewing_until = excluded.renewing_until
    where k.generation = $2 and ($5 and k.renewing_until is null or k.renewing_until <= coalesce($4::timestamptz, now()))
  returning generation`

/**
 * true: the caller alone asks for a new key. false: another process does, or has. `afterFailure`: false, if the caller waited for the login
 * of another process and does not repeat a login that failed.
 */
export async function takeRenewal(
  home: Engine,
  client: string,
  { generation, longestMs, afterFailure }: { generation: number; longestMs: number; afterFailure: boolean },
): Promise<boolean> {
  const values = [client, generation, longestMs, clockOf(home).instant(), afterFailure]
  return ((await home.query(take, values)).rowCount ?? 0) > 0
}

const save = `
  update documents.pluggy_key
  set generation = generation + 1, sealed = $3, renewing_until = null,
    expires_at = coalesce($5::timestamptz, now()) + make_interval(secs => $4::float8 / 1000)
  where client = $1 and generation = $2`

export async function saveKey(
  home: Engine,
  client: string,
  { generation, sealed, validMs }: { generation: number; sealed: Buffer; validMs: number },
): Promise<void> {
  await home.query(save, [client, generation, sealed, validMs, clockOf(home).instant()])
}

const leave = `
  update documents.pluggy_key set renewing_until = case when $3 then null else coalesce($4::timestamptz, now()) end
  where client = $1 and generation = $2`

/** Gives the turn back. `hasFailed`: Pluggy refused the login. Otherwise the caller broke off, and a process that waits takes the turn. */
export async function leaveRenewal(
  home: Engine,
  client: string,
  { generation, hasFailed }: { generation: number; hasFailed: boolean },
): Promise<void> {
  await home.query(leave, [client, generation, hasFailed, clockOf(home).instant()])
}
