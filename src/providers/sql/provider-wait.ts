/**
 * Stores the wait that a provider asks for (Retry-After), for all workers, and stops a provider that has asked for waits for 30 minutes
 * without an answer, unless the waits never count as a stop. provider-state.ts has the invariants and the other statements.
 */

import type { Db } from '../../database/db.ts'
import { nowParameter } from '../../database/now-parameter.ts'
import { firstWait, longestBackoff, longestUnanswered, probeEvery, shortestWait } from '../../jobs/model/deferral.ts'
import type { ProviderPermission, ProviderWord } from '../model/provider.ts'

export const now = nowParameter(2)
export const probe = `make_interval(secs => ${probeEvery / 1000})`
export const limit = `make_interval(secs => ${longestUnanswered / 1000})`
export const ms = (at: string) => `(extract(epoch from ${at} - ${now}) * 1000)::float8`
export const given = (at: string) => `(${at}::timestamp at time zone 'UTC')`

/** The waits of the row `p` have lasted so long that the provider counts as stopped. */
export const isExhausted = `(not p.never_stops and p.waits_since <= ${now} - ${limit})`

/** A deferred job returns at the end of the wait, or at the instant when the provider counts as stopped. */
export const waitLeft = `least(${ms('p.wait_until')}, case when not p.never_stops then greatest(${ms(`p.waits_since + ${limit}`)}, ${shortestWait}) end)`

// The first probe comes no sooner than the end of the provider's own wait.
const exhaust = {
  name: 'provider_stop_after_waits',
  text: `
    update retoma.provider p
    set stopped_at = ${now}, probe_at = greatest(${now} + ${probe}, p.wait_until)
    where p.name = $1 and p.stopped_at is null and ${isExhausted}
    returning p.name`,
}

export const met = `case when $3 = any (p.kinds) then p.kinds else array_append(p.kinds, $3::text) end`
/** The request came after the last answer of the same kind, so the answer starts a new storm. */
export const isNews = `(p.at < ${given('$4')})`
const backoff = `make_interval(secs => least(${firstWait / 1000} * power(2, least(p.backoff_step, 20)), ${longestBackoff / 1000}))`

const wait = {
  name: 'provider_wait',
  text: `
    insert into retoma.provider as p (name, kinds, wait_until, consecutive_waits, waits_since, never_stops, backoff_step, code, message, at)
    values ($1, array[$3::text], ${now} + make_interval(secs => coalesce($5::float8, ${firstWait}) / 1000), 1, ${now}, $8, ($5::float8 is null)::int, $6, $7, ${now})
    on conflict (name) do update
    set kinds = ${met},
      wait_until = case
        when $5::float8 is not null then greatest(p.wait_until, ${now} + make_interval(secs => $5::float8 / 1000))
        when ${isNews} then greatest(p.wait_until, ${now} + ${backoff})
        else p.wait_until
      end,
      consecutive_waits = p.consecutive_waits + ${isNews}::int,
      waits_since = case when p.consecutive_waits = 0 or p.never_stops and not $8 then ${now} else coalesce(p.waits_since, ${now}) end,
      never_stops = $8,
      backoff_step = p.backoff_step + (${isNews} and $5::float8 is null)::int,
      code = case when p.stopped_at is null then $6 else p.code end,
      message = case when p.stopped_at is null then $7 else p.message end,
      probe_error = case when p.stopped_at is not null then $7 end,
      probe_error_at = case when p.stopped_at is not null then ${now} end,
      at = case when ${isNews} then ${now} else p.at end
    returning case when p.wait_until > ${now} then ${waitLeft} end as "waitMs",
      p.stopped_at is null and ${isExhausted} as exhausted,
      case when p.stopped_at is not null then greatest(${ms('p.probe_at')}, 0) end as "probeMs", p.code, p.message`,
}

interface WaitRow {
  waitMs: number | null
  exhausted: boolean | null
  code: string | null
  message: string | null
}

export async function recordProviderWait(
  db: Db,
  name: string,
  kind: string,
  { asked, retryAfterMs, neverStops, code, message }: Extract<ProviderWord, { how: 'wait' }>,
  at: Date | null,
): Promise<ProviderPermission> {
  const [row] = await db.run<WaitRow>(wait, [name, at, kind, asked, retryAfterMs, code, message, neverStops])
  if (row!.exhausted) return stopExhausted(db, name, { code, message }, at)
  return { how: 'waiting', ms: row!.waitMs ?? shortestWait, code: row!.code, message: row!.message ?? '' }
}

/** Another process may have cleared or stopped the provider meanwhile; the next request gets the current state. */
export async function stopExhausted(
  db: Db,
  name: string,
  words: { code: string | null; message: string },
  at: Date | null,
): Promise<ProviderPermission> {
  await db.run(exhaust, [name, at])
  return { how: 'stopped', ms: probeEvery, ...words }
}
