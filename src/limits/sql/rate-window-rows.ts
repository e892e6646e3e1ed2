/**
 * SQL fragments for the hits of a rate window: instants and the number of hits at each, in the locked row (retoma.limit_counter
 * for starts, retoma.rate_window for requests). Both tables follow the rules in this file.
 */
import { mostInstants } from '../model/rate-window.ts'

/**
 * Hits from this instant on do not count. Such hits lie in the future after a failover to a server with a slower clock,
 * and would block every request until the clock has caught up. (A statement may wait up to 10 s for the row and then
 * finds hits later than its own start; these hits count.)
 */
export const tooLate = (per: string, now: string): string => `${now} + ${per} / ${mostInstants} + interval '15 seconds'`

/** The hits of a row that still count, as h (at, n). */
const countedHits = (row: string, per: string, now: string): string =>
  `unnest(${row}.hit_at, ${row}.hit_n) as h (at, n) where h.at > ${now} - ${per} and h.at < ${tooLate(per, now)}`

/** The number of hits of a row that still count. */
export const usedHits = (row: string, per: string, now: string): string =>
  `(select coalesce(sum(h.n), 0) from ${countedHits(row, per, now)})`

/** The instant at which the first of these hits expires. */
export const freesAt = (row: string, per: string, now: string): string =>
  `coalesce((select min(h.at) from ${countedHits(row, per, now)}), ${now}) + ${per}`

/**
 * Selects the new hits (at, n) of a limit counter with a rate: `limits` has (rate, per), `starts` has the number of started jobs and their
 * instant (n, at). The instant is read behind the lock, which the claim may have waited for, and never goes back.
 */
export const hitsWithStarts = (of: { counter: string; limits: string; starts: string; now: string }): string => {
  const { counter, limits, starts, now } = of
  const counts = countedHits(counter, `${limits}.per`, now)
  return `
  select u.at, sum(u.n)::int as n
  from (
    select h.at, h.n from ${counts}
    union all
    select greatest(${notedAt('t.at', `${limits}.rate`, `${limits}.per`)},
        (select max(h.at) from ${counts})
      ), ${starts}.n
    from (select ${starts}.at) t
  ) u
  group by u.at`
}

/**
 * The instant stored for a hit: its own instant, or, with a limit above 256, the end of the current 256th part of the
 * period. So a row stores at most 257 instants and counts each hit slightly too long, never too short.
 */
export const notedAt = (at: string, limit: string, per: string): string => `
        case
          when ${limit} > ${mostInstants} then to_timestamp(ceil(extract(epoch from ${at}) * ${mostInstants} / extract(epoch from ${per})) * extract(epoch from ${per}) / ${mostInstants})
          else ${at}
        end`
