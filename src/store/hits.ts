/**
 * What a sliding window remembers: instants and how many came in each, in the row that is locked (retoma.gate for starts,
 * retoma.rate_window for requests). The rules that both go by stand here, once.
 */
import { mostInstants } from '../core/window.ts'

/**
 * Hits from here on do not count. They lie in the future, after a failover to a clock that runs behind: nothing would pass
 * until it has caught up. (Who waits for the row, at most ten seconds, finds hits that are later than its own beginning:
 * those count.)
 */
export const tooLate = (per: string, now: string): string => `${now} + ${per} / ${mostInstants} + interval '15 seconds'`

/** Those hits of a row, as h (at, n), that still count. */
export const countedHits = (row: string, per: string, now: string): string =>
  `unnest(${row}.hit_at, ${row}.hit_n) as h (at, n) where h.at > ${now} - ${per} and h.at < ${tooLate(per, now)}`

/**
 * The instant a hit is noted at: its own, or above 256 in a window the end of its 256th part of the time, so that a row
 * holds at most 257 of them and counts each a little too long, never too short.
 */
export const notedAt = (at: string, limit: string, per: string): string => `
        case
          when ${limit} > ${mostInstants} then to_timestamp(ceil(extract(epoch from ${at}) * ${mostInstants} / extract(epoch from ${per})) * extract(epoch from ${per}) / ${mostInstants})
          else ${at}
        end`
