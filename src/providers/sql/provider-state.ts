/**
 * Stores the state of outside services for all processes: open, waiting or stopped, and the last answer.
 *
 * Invariant: after the commit of a wait or a stop, every process that asks here gets the wait or stop, so only requests
 * already under way still reach the provider. All answers of a storm count once: an answer to a request older than the
 * last answer of the same kind belongs to the same storm. A stopped provider gets at most one probe per minute, permitted
 * by the statement that stores the probe. A provider that has demanded waits for 30 minutes without an answer counts as
 * stopped, unless its last wait says `neverStops`. The batch of a deferred job has the name of the provider: a wait of one provider says nothing about batches that use
 * another provider of the same kind. No statement here has a fence: an answer of a provider is valid even if the worker has lost the lease.
 */

import type { Db } from '../../database/db.ts'
import { nowParameter } from '../../database/now-parameter.ts'
import { shortestWait } from '../../jobs/model/deferral.ts'
import type { ProviderPermission, ProviderView, ProviderWord } from '../model/provider.ts'
import {
  given,
  isExhausted,
  isNews,
  limit,
  met,
  ms,
  now,
  probe,
  recordProviderWait,
  stopExhausted,
  waitLeft,
} from './provider-wait.ts'

const exactly = (at: string) => `(${at} at time zone 'UTC')::text`

interface Row {
  asked: string
  waitMs: number | null
  probeMs: number | null
  mayProbe: boolean | null
  exhausted: boolean | null
  consecutiveWaits: number | null
  at: string | null
  code: string | null
  message: string | null
  known: boolean | null
}

// The cost of a request to an open provider: a lookup by primary key, and no write.
const read = {
  name: 'provider_read',
  text: `
    select ${exactly(now)} as asked, case when p.wait_until > ${now} then ${waitLeft} end as "waitMs",
      p.stopped_at is null and p.wait_until > ${now} and ${isExhausted} as exhausted,
      case when p.stopped_at is not null then greatest(${ms('p.probe_at')}, 0) end as "probeMs",
      p.stopped_at is not null and p.wait_until <= ${now} and (p.probe_job = $3 or p.probe_at <= ${now}) as "mayProbe",
      p.consecutive_waits as "consecutiveWaits", ${exactly('p.at')} as at, p.code, p.message,
      case when p.wait_until > ${now} or p.stopped_at is not null then
        $4 = any (p.kinds) and not coalesce((select b.deferred_by is distinct from p.name from retoma.batch b where b.id = $5), false)
      end as known
    from (select $1::text as name) n left join retoma.provider p on p.name = n.name`,
}

// The permission for a job (batches/sql/provider-pauses.ts) is valid for a single probe.
const take = {
  name: 'provider_probe',
  text: `
    update retoma.provider p
    set probe_job = null, probe_at = ${now} + ${probe}
    where p.name = $1 and p.stopped_at is not null and p.wait_until <= ${now} and (p.probe_job = $3 or p.probe_at <= ${now})
    returning p.name`,
}

// Usually writes nothing: the kind and the batch have met the provider before.
const meet = {
  name: 'provider_met',
  text: `
    with known as (
      update retoma.provider set kinds = array_append(kinds, $2::text) where name = $1 and $2 <> all (kinds)
    )
    update retoma.batch set deferred_by = $1 where id = $3 and deferred_by is distinct from $1`,
}

// A request older than the last clear says nothing about the provider's state since the clear.
const isFresh = `(p.cleared_at is null or p.cleared_at <= ${given('$4')})`

const stop = {
  name: 'provider_stop',
  text: `
    insert into retoma.provider as p (name, kinds, stopped_at, probe_at, code, message, at)
    values ($1, array[$3::text], ${now}, ${now} + ${probe}, $5, $6, ${now})
    on conflict (name) do update
    set kinds = ${met},
      stopped_at = case when ${isFresh} then coalesce(p.stopped_at, ${now}) else p.stopped_at end,
      probe_at = case when p.stopped_at is null and ${isFresh} then ${now} + ${probe} else p.probe_at end,
      code = case when ${isFresh} then $5 else p.code end,
      message = case when ${isFresh} then $6 else p.message end,
      probe_error = null, probe_error_at = null,
      at = case when ${isNews} then ${now} else p.at end
    returning case when p.stopped_at is not null then greatest(${ms('p.probe_at')}, 0) end as "probeMs", p.code, p.message`,
}

// The provider gave no answer: code and message of the stop stay, and `trouble` stores the error. The probe of the job is
// used up.
const silent = {
  name: 'provider_probe_failed',
  text: `
    update retoma.provider p
    set probe_error = $3, probe_error_at = ${now}, probe_at = greatest(p.probe_at, ${now} + ${probe}), probe_job = nullif(p.probe_job, $4::bigint)
    where p.name = $1 and p.stopped_at is not null
    returning ${ms('p.probe_at')} as "probeMs", p.code, p.message`,
}

/**
 * Ends a wait or stop. Keeps the end of an unfinished wait: clear-provider.ts makes the jobs deferred until this instant
 * ready.
 */
export const clearedProvider = (now: string) => `
  waited_until = case when wait_until > ${now} then case when never_stops then wait_until else least(wait_until, waits_since + ${limit}) end else waited_until end,
  wait_until = '-infinity', consecutive_waits = 0, waits_since = null, backoff_step = 0, stopped_at = null, probe_at = null, probe_job = null, probe_error = null, probe_error_at = null,
  cleared_at = ${now}`

// Clears only the state that the request had seen: another request may have got a wait since. But a provider that answers
// some concurrent requests and defers others is not down, so its next wait counts as the first.
const answer = {
  name: 'provider_answered',
  text: `
    with home as materialized (
      select name, stopped_at is not null as stopped, at = ${given('$3')} and consecutive_waits = $4 as same
      from retoma.provider
      where name = $1
      for update
    ), done as (
      update retoma.provider p set ${clearedProvider(now)} from home h where p.name = h.name and h.same
    ), eased as (
      update retoma.provider p set consecutive_waits = 0, waits_since = null, backoff_step = 0 from home h where p.name = h.name and not h.same and p.consecutive_waits > 0
    )
    select stopped from home where same`,
}

/** The job that asks or answers, its kind and its batch. */
export interface ProviderAsker {
  job: string
  kind: string
  batch: string | null
}

/** `stopEnded`: the provider was stopped and is now open. */
export type RecordedPermission = ProviderPermission & { stopEnded?: boolean }

export async function recordProviderWord(
  db: Db,
  name: string,
  asker: ProviderAsker,
  word: ProviderWord,
  at: Date | null,
): Promise<RecordedPermission> {
  const { job, kind, batch } = asker
  switch (word.how) {
    case 'ask':
      return mayAsk(db, name, asker, at)
    case 'answered': {
      const [seen, waits] = word.owed.split('/')
      const [row] = await db.run<{ stopped: boolean }>(answer, [name, at, seen, waits])
      return { how: 'open', asked: '', owed: null, stopEnded: row?.stopped ?? false }
    }
    case 'wait': {
      const answered = await recordProviderWait(db, name, kind, word, at)
      if (batch !== null) await db.run(meet, [name, kind, batch])
      return answered
    }
    case 'stop': {
      const { asked, code, message } = word
      const [row] = await db.run<Row>(stop, [name, at, kind, asked, code, message])
      if (batch !== null) await db.run(meet, [name, kind, batch])
      const { probeMs } = row!
      return probeMs === null
        ? { how: 'waiting', ms: shortestWait, code, message }
        : { how: 'stopped', ms: probeMs, code: row!.code, message: row!.message ?? '' }
    }
    case 'silent': {
      const [row] = await db.run<Row>(silent, [name, at, word.message, job])
      // The provider was cleared meanwhile.
      if (row === undefined) return { how: 'waiting', ms: shortestWait, code: null, message: word.message }
      return { how: 'stopped', ms: row.probeMs!, code: row.code, message: row.message ?? '' }
    }
  }
}

async function mayAsk(
  db: Db,
  name: string,
  { job, kind, batch }: ProviderAsker,
  at: Date | null,
): Promise<ProviderPermission> {
  const [row] = await db.run<Row>(read, [name, at, job, kind, batch])
  const { asked, waitMs, probeMs, mayProbe, exhausted, consecutiveWaits, at: last, code, message, known } = row!
  const isOpen = waitMs === null && probeMs === null
  const isProbe = mayProbe === true && (await db.run(take, [name, at, job])).length > 0
  const owes = isProbe || (consecutiveWaits ?? 0) > 0
  if (isOpen || isProbe)
    return { how: 'open', asked, owed: owes ? `${last}/${consecutiveWaits}` : null, probe: isProbe }
  if (known === false) await db.run(meet, [name, kind, batch])
  const words = { code, message: message ?? '' }
  if (exhausted === true) return stopExhausted(db, name, words, at)
  return probeMs === null ? { how: 'waiting', ms: waitMs!, ...words } : { how: 'stopped', ms: probeMs, ...words }
}

/** The state of a row `p` of retoma.provider. */
export const providerState = (now: string) => `
  case when p.stopped_at is not null then 'stopped' when p.wait_until > ${now} then 'waiting' else 'open' end`

/** A row `p` of retoma.provider as ProviderView. */
const providerColumns = (now: string) => `
  p.name, ${providerState(now)} as state, p.kinds, case when p.wait_until > ${now} then p.wait_until end as "waitUntil", p.consecutive_waits as "consecutiveWaits", p.waits_since as "waitsSince",
  p.stopped_at as "stoppedAt", p.probe_at as "probeAt", p.code, p.message, p.at,
  p.probe_error as "probeError", p.probe_error_at as "probeErrorAt"`

const list = {
  name: 'provider_list',
  text: `select ${providerColumns(nowParameter(1))} from retoma.provider p where p.name not like 'batch %' order by p.name limit 1000`,
}

export const viewProviders = (db: Db, at: Date | null, deadlineMs?: number): Promise<ProviderView[]> =>
  db.run<ProviderView>(list, [at], deadlineMs)
