/**
 * Stores turns at a provider or a host.
 *
 * Invariant: a name never has more valid turns than its limit. A turn is one row with a slot from 1 to the limit, and the primary key
 * allows one row for each slot; a row is taken over only after its end. A turn ends at `until`, or earlier with the attempt of its job: a
 * process that died keeps no turn once another worker has the job. All instants are those of the database.
 */
import type { Engine } from 'retoma'
import { clockOf } from 'retoma/http'

// A holder that asks again, because the answer was lost, gets its own turn. A row is taken over only if the row is still the one that was
// read as ended: of two requests that read the same row, one gets the turn.
const take = `
  with mine as materialized (
    select slot from quotes.turn where name = $1 and holder = $3 and until > coalesce($5::timestamptz, now())
  ), free as materialized (
    select s.slot, t.holder as before
    from generate_series(1, $2::int) as s (slot) left join quotes.turn t on t.name = $1 and t.slot = s.slot
    where not exists (select from mine) and (
      t.slot is null or t.until <= coalesce($5::timestamptz, now()) or not exists (
        select from retoma.job j where j.id = any (array[t.job_id]) and j.attempt = t.attempt and j.state = 'running'
      )
    )
    order by s.slot limit 1
  ), taken as (
    insert into quotes.turn (name, slot, holder, until, job_id, attempt)
    select $1, slot, $3, coalesce($5::timestamptz, now()) + make_interval(secs => $4::float8 / 1000), $6, $7 from free
    on conflict (name, slot) do update
      set holder = excluded.holder, until = excluded.until, job_id = excluded.job_id, attempt = excluded.attempt
      where turn.holder = (select before from free)
    returning slot
  )
  select slot from mine union all select slot from taken`

/** The attempt that has a turn. */
export interface TurnOwner {
  readonly id: string
  readonly attempt: number
}

/** Returns the slot; undefined: no turn is free. */
export async function takeTurn(
  home: Engine,
  name: string,
  { limit, holder, longestMs, owner }: { limit: number; holder: string; longestMs: number; owner: TurnOwner },
): Promise<number | undefined> {
  const values = [name, limit, holder, longestMs, clockOf(home).instant(), owner.id, owner.attempt]
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
