/**
 * Checks and adds hits of rate windows: the last hits of a caller in a bucket are one row, read and changed in the row's
 * own upsert.
 *
 * Invariant: no period of length `per` ever has more hits than the limit, under any concurrency. The upsert counts the
 * hits of the row behind the lock, not the hits its snapshot sees: the snapshot is older (docs/adr/0027-rate-windows.md).
 * A window that is full in the snapshot refuses without a lock or a write: hits leave a window only by age.
 */

import type { Db } from '../../database/db.ts'
import { nowParameter } from '../../database/now-parameter.ts'
import type { LimitOptions, WindowVerdict } from '../model/rate-window.ts'
import { notedAt, tooLate } from './rate-window-rows.ts'

const per = `make_interval(secs => $5::float8 / 1000)`
const now = nowParameter(6)

/**
 * The hits of a row that count. Hits are in the order of time, so the bounds are searched, not counted. A slice is cheap;
 * to unnest and rebuild the list would cost a millisecond.
 */
const counted = (row: string) => `
  select ${row}.hit_at[p.first:p.last] as at, ${row}.hit_n[p.first:p.last] as n
  from (
    select width_bucket(${now} - ${per}, ${row}.hit_at) + 1 as first, width_bucket(${tooLate(per, now)}, ${row}.hit_at) as last
  ) p`

const sum = (counts: string) => `coalesce((select sum(x) from unnest(${counts}) as x), 0)`

const seen = `
    asked as materialized (
      select a.who, a.n from unnest($2::text[], $3::int[]) as a (who, n)
    ), seen as materialized (
      select a.who, a.n as more, c.at, c.n, ${sum('c.n')} + a.n <= $4::int as fits
      from asked a
        left join retoma.rate_window w on w.bucket = $1 and w.who = a.who
        left join lateral (${counted('w')}) c on true
    )`

/**
 * The milliseconds until a hit at the instant `at` leaves the window. A statement that waited for the row finds hits later than its own
 * start; such a hit leaves no later than a hit of this statement would.
 */
const leavesMs = (at: string) =>
  `extract(epoch from least(${at}, ${notedAt(now, '$4::int', per)}) + ${per} - ${now})::float8 * 1000`

/**
 * The number of hits, the time until the oldest hit leaves, and the time until the requested hits fit under the limit.
 */
const judged = `
      f.who, f.granted, ${sum('f.n')}::int as used,
      case when f.at[1] is not null then ${leavesMs('f.at[1]')} end as "freesMs",
      case when not f.granted then (
        select case when min(h.at) is not null then ${leavesMs('min(h.at)')} end
        from (select h.at, sum(h.n) over (order by h.at) as freed, sum(h.n) over () as used from unnest(f.at, f.n) as h (at, n)) h
        where h.freed >= h.used + f.more - $4::int
      ) end as "fitsMs"`

// Rows in the order of their keys: two concurrent requests for the same rows wait for each other and never deadlock.
// `expires_at` moves only now and then, because it is in an index.
const take = {
  name: 'rate_window_take',
  text: `
    with ${seen}, taken as (
      insert into retoma.rate_window as w (bucket, who, hit_at, hit_n, granted, expires_at)
      select $1, a.who, array[${notedAt(now, '$4::int', per)}], array[a.n], true, ${now} + 2 * ${per}
      from asked a
      where (select bool_and(fits) from seen)
      order by a.who
      on conflict (bucket, who) do update
      set (granted, hit_at, hit_n, expires_at) = (
        select k.granted,
          case when k.granted and k.later then k.at || excluded.hit_at else k.at end,
          case
            when not k.granted then k.n
            when k.later then k.n || excluded.hit_n
            else k.n[:cardinality(k.n) - 1] || (k.n[cardinality(k.n)] + excluded.hit_n[1])
          end,
          case when w.expires_at < excluded.hit_at[1] + ${per} then excluded.hit_at[1] + 2 * ${per} else w.expires_at end
        from (
          select c.at, c.n, ${sum('c.n')} + excluded.hit_n[1] <= $4::int as granted,
            coalesce(c.at[cardinality(c.at)] < excluded.hit_at[1], true) as later
          from (${counted('w')} offset 0) c
          offset 0
        ) k
      )
      returning w.who, w.granted, w.hit_at as at, w.hit_n as n
    ), found as (
      select a.who, a.n as more, t.granted, t.at, t.n from taken t join asked a on a.who = t.who
      union all
      select s.who, s.more, s.fits, s.at, s.n from seen s where not (select bool_and(fits) from seen)
    )
    select ${judged} from found f`,
}

const peek = {
  name: 'rate_window_peek',
  text: `
    with ${seen}, found as (select who, more, fits as granted, at, n from seen)
    select ${judged} from found f`,
}

/** Hits for several callers at once; each caller is checked alone. */
export interface Hits extends Pick<LimitOptions, 'bucket' | 'limit' | 'per'> {
  /** Caller to number of hits. */
  of: ReadonlyMap<string, number>
}

export type Judgement = WindowVerdict & { who: string }

/**
 * Takes the hits if every caller fits, and returns the result for each caller. If a caller does not fit, takes nothing;
 * only if concurrent hits arrive in between may some callers' hits be taken.
 */
export const takeHits = (db: Db, hits: Hits, now: Date | null): Promise<Judgement[]> =>
  db.run<Judgement>(take, values(hits, now))

export const peekHits = (db: Db, hits: Hits, now: Date | null): Promise<Judgement[]> =>
  db.run<Judgement>(peek, values(hits, now))

const values = ({ bucket, limit, per, of }: Hits, now: Date | null): unknown[] => [
  bucket, [...of.keys()], [...of.values()], limit, per, now,
] // biome-ignore format: one row
