/**
 * Fragments of statements that move jobs from one state to another.
 *
 * Invariant: a statement that ends a lease also releases the limits of the job, counts the move in the counters of its batch, and
 * writes the event of the move. Every such statement builds on the fragments of this file, so that no statement forgets one of them.
 */

import { groupHasConcurrency } from './group-limits.ts'

/**
 * Returns the parts of a `with` that release the limit counters of the jobs in `moved` (queue, limited, limit_key). All of
 * these jobs were running. The statement looks up each counter by key: a join could read all counters.
 */
export const releaseLimits = (moved: string, now: string): string => `
  unleased as materialized (
    select f.queue, f.key, count(*)::int as n
    from (
      select m.queue, k.key
      from ${moved} m
        join retoma.queue q on q.name = any (array[m.queue])
        cross join lateral (
          select '' as key where q.limits ? 'concurrency'
          union all select m.limit_key where m.limit_key <> '' and ${groupHasConcurrency('q.limits', 'm.limit_key')}
        ) k
      where m.limited
    ) f
    group by 1, 2
    order by 1, 2
  ), locked_counter as materialized (
    select g.queue, g.group_key, u.n
    from unleased u cross join lateral (
      select queue, group_key from retoma.limit_counter where queue = u.queue and group_key = u.key for update
    ) g
  ), released_counter as (
    update retoma.limit_counter g
    set running = greatest(g.running - h.n, 0), used_at = ${now}
    from locked_counter h
    where g.queue = any (array[h.queue]) and g.group_key = any (array[h.group_key])
  )`

/** Shard for the changes of people and watchdogs, which are few. */
const anyShard = 0

const counted = ['succeeded', 'failed', 'skipped', 'cancelled', 'stalled']

const added = [...counted, 'released']

const upsert = (name: string, select: string, more: { columns: string; set: string } = { columns: '', set: '' }) => `
  ${name} as (
    insert into retoma.batch_count (batch_id, shard, ${added.join(', ')}${more.columns})
    ${select}
    group by m.batch_id
    order by m.batch_id
    on conflict (batch_id, shard) do update
      set ${added.map(column => `${column} = batch_count.${column} + excluded.${column}`).join(', ')}${more.set}
  )`

/**
 * Part of a `with` for outcomes: `moved` returned (id, batch_id, ref, state) of jobs that were `running`. The end of every attempt is
 * progress, also of a failed attempt with a retry.
 */
export const countOutcomes = (moved: string, shard: string, now: string): string =>
  upsert(
    'counted',
    `select m.batch_id, ${shard},
      ${counted.map(column => `count(*) filter (where m.state = '${column}')`).join(', ')}, count(*),
      ${now}, (array_agg(m.ref order by m.id desc) filter (where m.ref is not null))[1]
    from ${moved} m
    where m.batch_id is not null`,
    {
      columns: ', progress_at, last_ref',
      set: ', progress_at = excluded.progress_at, last_ref = coalesce(excluded.last_ref, batch_count.last_ref)',
    },
  )

/** Part of a `with` for all other changes: `moved` returned (batch_id, was, state), with the states before and after. */
export const countMoves = (moved: string): string =>
  upsert(
    'counted',
    `select m.batch_id, ${anyShard},
      ${counted.map(column => `count(*) filter (where m.state = '${column}') - count(*) filter (where m.was = '${column}')`).join(', ')},
      count(*) filter (where m.was = 'running')
    from ${moved} m
    where m.batch_id is not null`,
  )

interface Shape {
  /** The part of the `with` that returned the changed rows, `m` in the expressions below. */
  of: string
  type: 'state' | 'action' | 'warning'
  /** SQL expressions. Default of `job` and `batch`: null; without `where` every row writes an event. */
  job?: string
  batch?: string
  data: string
  where?: string
  /** Name of this part of the `with`, if a statement has two. */
  as?: string
}

/** Part of a `with`: inserts one event per row. */
export const noteEvents = (
  { of, type, job = 'null', batch = 'null', data, where, as = 'new_events' }: Shape,
  now: string,
) => `
  ${as} as (
    insert into retoma.event (at, type, job_id, batch_id, data)
    select ${now}, '${type}', ${job}, ${batch}, ${data}
    from ${of} m${where === undefined ? '' : ` where ${where}`}
  )`

/** The job and its failures have the whole message and the stack. */
const reason = `left(m.error ->> 'message', 1000)`

/**
 * Events about the new state of jobs: `of` returned id, batch_id, ref, attempt, failures, state and error. `from` is the state before. In
 * the stream of a batch the event is an `item`.
 */
export const noteJobStates = (
  of: string,
  now: string,
  { from = `'running'`, where }: { from?: string; where?: string } = {},
) =>
  noteEvents(
    {
      of,
      type: 'state',
      job: 'm.id',
      batch: 'm.batch_id',
      data: `jsonb_build_object('from', ${from}, 'to', m.state, 'ref', m.ref, 'attempt', m.attempt, 'failures', m.failures,
        'failure_type', m.error ->> 'type', 'code', m.error ->> 'code', 'reason', ${reason})`,
      ...(where === undefined ? {} : { where }),
    },
    now,
  )

/**
 * Events about the action `what` on jobs: `of` returned id, batch_id, ref, attempt, was and state. `who` is an SQL expression for the
 * actor.
 */
export const noteJobActions = (what: string, of: string, now: string, who: string) =>
  noteEvents(
    {
      of,
      type: 'action',
      job: 'm.id',
      batch: 'm.batch_id',
      data: `jsonb_build_object('who', ${who}, 'what', '${what}', 'from', m.was, 'to', m.state, 'ref', m.ref, 'attempt', m.attempt)`,
    },
    now,
  )

/** Events about batches whose state the engine changed: `of` returned id, was, state and reason. */
export const noteBatchStates = (of: string, now: string) =>
  noteEvents(
    {
      of,
      type: 'state',
      batch: 'm.id',
      data: `jsonb_build_object('from', m.was, 'to', m.state, 'reason', m.reason ->> 'code', 'facts', m.reason)`,
      where: 'm.was <> m.state',
      as: 'new_batch_events',
    },
    now,
  )

/** Events about the action `what` on batches: `of` returned id, was and state. `who` is an SQL expression for the actor. */
export const noteBatchActions = (what: string, of: string, now: string, who: string) =>
  noteEvents(
    {
      of,
      type: 'action',
      batch: 'm.id',
      data: `jsonb_build_object('who', ${who}, 'what', '${what}', 'from', m.was, 'to', m.state)`,
      as: 'new_batch_events',
    },
    now,
  )

/** The limit key of a job in the queue `q`, which may be missing. */
export const limitKeyOf = (q: string, group: string, batch: string): string =>
  `case ${q}.limit_key_from when 'group' then coalesce(${group}, '') when 'batch' then coalesce(${batch}::text, '') else '' end`

// The limits of the queue may have changed since the enqueue.
export const limitsOfItsQueue = `
  limited = coalesce((select q.limited from retoma.queue q where q.name = j.queue), false),
  limit_key = coalesce((select ${limitKeyOf('q', 'j.group_key', 'j.batch_id')} from retoma.queue q where q.name = j.queue), '')`

/** True if another job has the unique key that this job has given up. Looked up per job, because a join could read all keys. */
export const keyTakenByAnother = (job: string): string => `coalesce((
          select true from retoma.job other
          where other.kind = ${job}.kind and other.key = ${job}.key and other.unique_until is not null and other.id <> ${job}.id
          limit 1
        ), false)`

// The job becomes `waiting` with a new budget of attempts and takes its unique key again, as every waiting job must have its key.
// `retried_at` tells a handler, and a cleanup by age, where the new budget begins. $2: now.
export const readyForRetry = `
        state = 'waiting', claim_rank = claim_rank & ~1, run_at = coalesce($2::timestamptz, now()),
        failures = 0, crashes = 0, restarts = 0, crash_suspicion = null, result = null, error = null, finished_at = null,
        retried_at = coalesce($2::timestamptz, now()),
        unique_until = case when key is not null then coalesce(unique_until, 'final') end,
        ${limitsOfItsQueue}`
