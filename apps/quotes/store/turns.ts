/**
 * Stores turns at a provider or a host.
 *
 * Invariant: a name never has more valid turns than its limit. A turn is one row with a slot from 1 to the limit, and the primary key
 * allows one row for each slot; a row is taken over only after its end. All instants are those of the database.
 */
import type { Engine } from 'retoma'
import { clockOf } from 'retoma/http'

// A holder that asks again, because the answer was lost, gets its own turn.
const take = `
  with mine as materialized (
    select slot from quotes.turn where name = $1 and holder = $3 and until > coalesce($5::timestamptz, now())
  ), free as (
    select s.slot from generate_series(1, $2::int) as s (slot)
    where not exists (select from mine) and not exists (
      select from quotes.turn t where t.name = $1 and t.slot = s.slot and t.until > coalesce($5::timestamptz, now())
    )
    order by s.slot limit 1
  ), taken as (
    insert into quotes.turn (name, slot, holder, until)
    select $1, slot, $3, coalesce($5::timestamptz, now()) + make_interval(secs => $4::float8 / 1000) from free
    on conflict (name, slot) do update set holder = excluded.holder, until = excluded.until
      where turn.until <= coalesce($5::timestamptz, now())
    returning slot
  )
  select slot from mine union all select slot from taken`

/** Returns the slot; undefined: no turn is free. */
export async function takeTurn(
  home: Engine,
  name: string,
  { limit, holder, longestMs }: { limit: number; holder: string; longestMs: number },
): Promise<number | undefined> {
  const values = [name, limit, holder, longestMs, clockOf(home).instant()]
  return (await home.query<{ slot: number }>(take, values)).rows[0]?.slot
}

const leave = `delete from quotes.turn where name = $1 and slot = $2 and holder = $3`

export async function leaveTurn(
  home: Pick<Engine, 'query'>,
  name: string,
  { slot, holder }: { slot: number; holder: string },
): Promise<void> {
  await home.query(leave, [name, slot, holder])
}

const prune = `delete from quotes.turn where until <= coalesce($1::timestamptz, now())`

/** Removes the turns of processes that died. */
export async function pruneTurns(home: Engine): Promise<void> {
  await home.query(prune, [clockOf(home).instant()])
}
