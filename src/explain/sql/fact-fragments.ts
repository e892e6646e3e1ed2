/**
 * Builds the common parts of the statements that explain a job, a batch or a queue. All parts only read, are bounded, and use an index.
 * `$1` is the instant; parameters such as `queue` are expressions of the statement.
 */

import { nowParameter } from '../../database/now-parameter.ts'
import { defaultPolicy } from '../../jobs/model/policy.ts'
import { takesVersion } from '../../jobs/sql/claimable-kinds.ts'
import { groupLimits } from '../../jobs/sql/group-limits.ts'
import { leasedByWorker } from '../../jobs/sql/job-floor.ts'
import { most } from '../model/explain-facts.ts'

export const now = nowParameter(1)

/** A row of `worker` as WorkerFacts. `stack`: an expression for the stack. */
export const workerOf = (w: string, stack = `${w}.blocked_stack`): string => `
  jsonb_build_object('id', ${w}.id, 'host', ${w}.host, 'pid', ${w}.pid, 'heartbeatAt', ${w}.heartbeat_at, 'suspectedAt', ${w}.suspected_at,
    'deadAt', ${w}.dead_at, 'leftAt', ${w}.left_at, 'blockedSince', ${w}.blocked_since, 'unblockedAt', ${w}.unblocked_at,
    'stack', left(${stack}, 8000), 'blockedJob', ${w}.blocked_job::text,
    'blockedKind', (select bj.kind from retoma.job bj where bj.id = ${w}.blocked_job),
    'blockedAttempt', ${w}.blocked_attempt, 'writeLagMs', ${w}.write_lag_ms, 'supervised', ${w}.supervised,
    'crashReport', case when ${w}.crash_report is not null then jsonb_build_object('how', ${w}.crash_report ->> 'how', 'why', ${w}.crash_report ->> 'why') end)`

/** True for a live worker as the watchdog sees the worker before a verdict: the heartbeat is no older than the default `orphanAfter`. */
export const isLive = (w: string): string =>
  `(${w}.dead_at is null and ${w}.heartbeat_at > ${now} - make_interval(secs => ${defaultPolicy.orphanAfter / 1000}))`

const few = 6
const names = (select: string): string => `array(select distinct n from (${select}) s (n) order by n limit ${few})`

/**
 * EligibleWorkersFacts; without `kind`: of the queue as a whole. Versions as in jobs/model/kind-version.ts. Free slots are the number of the worker's last
 * heartbeat, and at most the slots without a running job now.
 */
export function eligibleWorkersOf(queue: string, kind?: string, version = '1'): string {
  const knows = kind === undefined ? 'true' : `(${kind} = any (w.kinds) or w.versions ? ${kind})`
  const takes = kind === undefined ? 'true' : takesVersion('w', kind, version)
  const serving = `retoma.worker w where ${isLive('w')} and w.queues ? ${queue}`
  const versions =
    kind === undefined
      ? `'{}'::text[]`
      : names(`
          select case when w.versions -> ${kind} -> 0 = w.versions -> ${kind} -> 1 then w.versions -> ${kind} ->> 0
            else coalesce((w.versions -> ${kind} ->> 0) || ' to ' || (w.versions -> ${kind} ->> 1), '1') end
          from ${serving} and ${knows}`)
  return `(
    select jsonb_build_object('live', count(*), 'serving', count(*) filter (where serves),
      'knowing', count(*) filter (where serves and knows), 'taking', count(*) filter (where takes),
      'blocked', count(*) filter (where takes and blocked), 'slots', coalesce(sum(slots) filter (where takes), 0),
      'free', coalesce(sum(greatest(least(free_slots, slots - runs), 0)) filter (where takes and not blocked), 0),
      'queues', ${names(`select k from retoma.worker w, jsonb_object_keys(w.queues) k where ${isLive('w')}`)},
      'kinds', ${kind === undefined ? `'{}'::text[]` : names(`select unnest(w.kinds) from ${serving}`)},
      'versions', ${versions})
    from (
      select w.queues ? ${queue} as serves, ${knows} as knows, w.queues ? ${queue} and ${takes} as takes,
        w.blocked_since is not null as blocked, (w.queues ->> ${queue})::int as slots,
        (w.free_slots ->> ${queue})::int as free_slots,
        (select count(*) from (select queue from retoma.job where ${leasedByWorker('w.id')}) x where x.queue = ${queue}) as runs
      from retoma.worker w
      where ${isLive('w')}
    ) seen
  )`
}

// As claiming/sql/claim-limited.ts counts hits.
const hits = `unnest(g.hit_at, g.hit_n) as h (at, n) where h.at > ${now} - l.per and h.at < ${now} + l.per / 256 + interval '15 seconds'`

/** LimitFacts of the limits that are set; `q` is the row of the queue. With `key` also the limit of the group. */
export const limitsOf = (q: string, key = `''`): string => `(
    select coalesce(jsonb_agg(jsonb_build_object('group', l.key <> '', 'running', coalesce(g.running, 0), 'concurrency', l.concurrency,
      'starts', coalesce((select sum(h.n) from ${hits}), 0), 'rate', l.rate, 'perMs', extract(epoch from l.per) * 1000,
      'freesAt', (select min(h.at) + l.per from ${hits})) order by l.key), '[]')
    from (
      select '' as key, (${q}.limits ->> 'concurrency')::int as concurrency, (${q}.limits #>> '{rate,limit}')::int as rate,
        make_interval(secs => (${q}.limits #>> '{rate,per}')::float8 / 1000) as per
      union all
      select ${key}, e.* from (${groupLimits(`${q}.limits`, key)}) e where ${key} <> ''
    ) l
      left join lateral (
        select running, hit_at, hit_n from retoma.limit_counter where queue = ${q}.name and group_key = l.key
      ) g on true
    where coalesce(l.concurrency, l.rate) is not null
  )`

/** WatchdogFacts. */
export const watch = `(
    select jsonb_build_object('checkedAt', case when isfinite(at) then at end, 'unbrokenAt', case when isfinite(since) then since end)
    from retoma.periodic_lease where name = 'watchdog'
  )`

/**
 * ProviderFacts of a waiting or stopped provider; `isMet`: an expression on the row `p`, true if the provider deferred the job, the batch, or
 * jobs of the queue. The
 * provider `pausedBy`, which paused the batch, comes first, then stopped providers.
 */
export const providerOf = (isMet: string, pausedBy = 'null::text'): string => `(
    select jsonb_build_object('name', p.name, 'freeAt', case when p.wait_until > ${now} then p.wait_until end, 'stoppedAt', p.stopped_at,
      'consecutiveWaits', p.consecutive_waits, 'waitingSince', p.waits_since,
      'probeAt', p.probe_at, 'code', p.code, 'message', left(p.message, 2000), 'probeError', p.probe_error)
    from retoma.provider p
    where (p.wait_until > ${now} or p.stopped_at is not null) and ${isMet}
    order by p.name is distinct from ${pausedBy}, p.stopped_at is null, p.wait_until desc
    limit 1
  )`

/** Count of `rows`, up to the cap. */
export const countOf = (rows: string): string =>
  `(select jsonb_build_object('jobs', count(*), 'more', count(*) >= ${most}) from (${rows} limit ${most}) counted)`

/** Converts instants inside jsonb, which come as text, to dates. The names of the fields tell which values are instants. */
export function revive<T>(value: T): T {
  if (Array.isArray(value)) return value.map(revive) as T
  if (typeof value !== 'object' || value === null || value instanceof Date) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [
      name,
      typeof each === 'string' && /(?:At|Since)$/.test(name) ? (instantOf(each) ?? each) : revive(each),
    ]),
  ) as T
}

function instantOf(text: string): Date | undefined {
  const at = new Date(text)
  return Number.isNaN(at.getTime()) ? undefined : at
}
