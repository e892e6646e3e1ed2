/**
 * Inserts jobs: one statement for any number of jobs, on the engine's pool or in the transaction of the caller.
 *
 * Invariant: when the call resolves, every job is inserted, or another job has the same kind and unique key and the answer is the id of
 * this job. Enqueue locks no row that the transaction of another tenant could wait for.
 */

import type { Run } from '../database/db.ts'
import type { AnyJob } from '../jobs/model/job.ts'
import { storedVersion } from '../jobs/model/kind-version.ts'
import type { JobPolicy } from '../jobs/model/policy.ts'
import type { OwnRetention } from '../jobs/model/retention.ts'
import { limitKeyOf } from '../jobs/sql/transition.ts'
import type { CheckedEnqueueOptions } from './model/enqueue-options.ts'

export interface NewJob {
  queue: string
  kind: string
  key: string | null
  keyHold: 'day' | 'final' | null
  ref: string | null
  priority: number
  runAt: Date | null
  delayMs: number
  /** JSON text. */
  input: string
  groupKey: string | null
  /** Version of the kind's code; default 1. */
  version?: number | undefined
  /** Trace context of the caller (lib/trace.ts). */
  trace?: string | null
  /** Policy override of the job. */
  policyOverride?: Partial<JobPolicy> | null
  /** Retention of the job; null: the retention of the engine. */
  retention?: OwnRetention | null
}

/** The job of a kind with the options of an enqueue. `input`: JSON text. */
export const newJob = (
  { queue, kind, version }: AnyJob,
  asked: CheckedEnqueueOptions,
  input: string,
  trace: string | null = null,
): NewJob => ({ ...asked, queue: asked.queue ?? queue, kind, version, input, trace })

/** The id of an enqueued job. */
export interface Enqueued {
  id: string
  /** false: a job with this key already existed, and `id` is the id of the existing job. */
  created: boolean
}

// The ids are drawn first, so each input row knows its id whatever the order of the insert's answer. Rows are inserted in the order of
// the keys. Otherwise two callers with the same keys in opposite order would deadlock. `columns` and `values`: further columns of the jobs.
const insertWith = (columns = '', values = '') => `
    with given as materialized (
      select nextval('retoma.job_id_seq') as id, g.*
      from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::smallint[], $7::timestamptz[], $8::float8[], $9::jsonb[], $10::text[], $12::int[], $13::text[]${values})
        with ordinality as g (queue, kind, key, unique_until, ref, priority, run_at, delay_ms, input, group_key, version, trace${columns}, ord)
    ), made as (
      insert into retoma.job (id, queue, kind, key, unique_until, ref, state, claim_rank, run_at, input, group_key, limited, limit_key, version, trace${columns}, created_at)
      select id, queue, kind, key, unique_until, ref, 'waiting', priority * 2 + 1,
        greatest(coalesce(run_at, coalesce($11::timestamptz, now())) + make_interval(secs => delay_ms / 1000), coalesce($11::timestamptz, now())),
        input, group_key, coalesce(q.limited, false), ${limitKeyOf('q', 'group_key', 'null')}, version, trace${columns}, coalesce($11::timestamptz, now())
      from given left join retoma.queue q on q.name = given.queue
      order by kind, key, ord
      on conflict (kind, key) where unique_until is not null do nothing
      returning id
    )
    select given.id::text as id, made.id is not null as created
    from given left join made on made.id = given.id
    order by given.ord`

const insertJobs = { name: 'enqueue', text: insertWith() }

// A statement of its own: jobs without a policy override and without a retention do not pay for the columns.
const insertWithPolicy = {
  name: 'enqueue_with_policy',
  text: insertWith(', policy_override, retention', ', $14::jsonb[], $15::jsonb[]'),
}

// For long lists: values shared by all jobs are passed once, so a row costs little more than the insert.
const insertAlike = {
  name: 'enqueue_uniform',
  text: `
    insert into retoma.job (queue, kind, state, claim_rank, run_at, input, group_key, limited, limit_key, version, trace, policy_override, retention, created_at)
    select $1, $2, 'waiting', $3::smallint * 2 + 1,
      greatest(coalesce($4::timestamptz, coalesce($8::timestamptz, now())) + make_interval(secs => $5::float8 / 1000), coalesce($8::timestamptz, now())),
      input, $6,
      coalesce((select limited from retoma.queue where name = $1), false),
      coalesce((select $6::text from retoma.queue where name = $1 and limit_key_from = 'group'), ''),
      $9::int,
      $10::text,
      $11::jsonb,
      $12::jsonb,
      coalesce($8::timestamptz, now())
    from jsonb_array_elements($7::jsonb) as i (input)
    returning id::text as id`,
}

/** Inserts jobs that differ only in `inputs`, which are JSON texts. Returns the ids in the same order. */
export async function enqueueUniform(
  run: Run,
  shared: Omit<NewJob, 'key' | 'keyHold' | 'ref' | 'input'>,
  inputs: readonly string[],
  now: Date | null,
): Promise<string[]> {
  const { queue, kind, priority, runAt, delayMs, groupKey, version = 1, trace = null } = shared
  const input = `[${inputs.join(',')}]`
  const values = [
    ...[queue, kind, priority, runAt, delayMs, groupKey, input, now, storedVersion(version), trace],
    ...[jsonOf(shared.policyOverride), jsonOf(shared.retention)],
  ]
  const rows = await run<{ id: string }>(insertAlike, values)
  return rows.map(row => row.id)
}

// A key is in use until 24 hours after the end of its job. This statement frees keys after this time, so the insert can try again. The
// rows are locked in the order of the keys, as in the insert.
export const freeOldKeys = {
  name: 'enqueue_free_keys',
  text: `
    with old as materialized (
      select j.id
      from (
          select distinct kind collate "C" as kind, key collate "C" as key
          from unnest($1::text[], $2::text[]) as g (kind, key)
          order by 1, 2
        ) g
        cross join lateral (
          select id from retoma.job
          where kind = g.kind and key = g.key and unique_until is not null
            and finished_at < coalesce($3::timestamptz, now()) - interval '24 hours'
          for update
        ) j
    )
    update retoma.job j set unique_until = null
    where j.id = any (array(select id from old))`,
}

const findHolders = {
  name: 'enqueue_find_holders',
  text: `
    select g.kind, g.key, j.id::text as id
    from unnest($1::text[], $2::text[]) as g (kind, key)
      cross join lateral (
        select id from retoma.job where kind = g.kind and key = g.key and unique_until is not null limit 1
      ) j`,
}

/** Inserts jobs. `run` is the engine's pool or the transaction of the caller; the statements are the same. */
export async function enqueueJobs(run: Run, jobs: readonly NewJob[], now: Date | null): Promise<Enqueued[]> {
  const answers: (Enqueued | undefined)[] = jobs.map(() => undefined)
  let open = jobs.map((job, index) => ({ job, index }))
  // Each round answers every job whose key is free or in use. Another round follows only if the holder of a key vanishes in between.
  while (open.length > 0) {
    const inserted = await insert(
      run,
      open.map(each => each.job),
      now,
    )
    const held: typeof open = []
    open.forEach((each, i) => {
      const row = inserted[i]!
      if (row.created) answers[each.index] = row
      else held.push(each)
    })
    if (held.length === 0) break
    open = await answerHeld(run, held, answers, now)
  }
  return answers as Enqueued[]
}

async function insert(run: Run, jobs: readonly NewJob[], now: Date | null): Promise<Enqueued[]> {
  const column = <K extends keyof NewJob>(name: K) => jobs.map(job => job[name])
  const values = [
    column('queue'), column('kind'), column('key'), column('keyHold'), column('ref'),
    column('priority'), column('runAt'), column('delayMs'), column('input'), column('groupKey'), now,
    jobs.map(({ version = 1 }) => storedVersion(version)), jobs.map(({ trace = null }) => trace),
  ] // biome-ignore format: the columns in their order
  if (jobs.every(job => !job.policyOverride && !job.retention)) return run<Enqueued>(insertJobs, values)
  const own = [jobs.map(job => jsonOf(job.policyOverride)), jobs.map(job => jsonOf(job.retention))]
  return run<Enqueued>(insertWithPolicy, [...values, ...own])
}

const jsonOf = (value: object | null | undefined): string | null => (value ? JSON.stringify(value) : null)

/** Answers the jobs whose key another job has. Returns the jobs whose key has become free in the meantime. */
async function answerHeld(
  run: Run,
  held: { job: NewJob; index: number }[],
  answers: (Enqueued | undefined)[],
  now: Date | null,
): Promise<{ job: NewJob; index: number }[]> {
  const kinds = held.map(each => each.job.kind)
  const keys = held.map(each => each.job.key)
  await run(freeOldKeys, [kinds, keys, now])
  // A separate statement, because the snapshot of the insert is older than the commit of the other job that the insert waited for.
  const rows = await run<{ kind: string; key: string; id: string }>(findHolders, [kinds, keys])
  const holders = new Map(rows.map(row => [`${row.kind}\n${row.key}`, row.id]))
  return held.filter(({ job, index }) => {
    const id = holders.get(`${job.kind}\n${job.key}`)
    if (id !== undefined) answers[index] = { id, created: false }
    return id === undefined
  })
}
