/** Registers kinds and queues at the start of an engine, so processes without the code can check the jobs. */

import type { Db } from '../../database/db.ts'
import type { JobPolicy } from '../model/policy.ts'

// The newest version wins, and an unchanged kind writes nothing: two versions of an app may start and restart side by
// side. With equal versions the last start wins.
const register = {
  name: 'kind_register',
  text: `
    with kinds as (
      insert into retoma.kind (name, queue, policy, version, internal, private, updated_at)
      select name, queue, policy, version, internal, private, coalesce($7::timestamptz, now())
      from unnest($1::text[], $2::text[], $3::jsonb[], $4::int[], $5::boolean[], $6::boolean[])
        as k (name, queue, policy, version, internal, private)
      order by name
      on conflict (name) do update
        set queue = excluded.queue, policy = excluded.policy, version = excluded.version, internal = excluded.internal,
          private = excluded.private, updated_at = excluded.updated_at
        where excluded.version >= kind.version
          and (kind.queue, kind.policy, kind.version, kind.internal, kind.private)
            is distinct from (excluded.queue, excluded.policy, excluded.version, excluded.internal, excluded.private)
    )
    insert into retoma.queue (name)
    select distinct name from unnest($2::text[]) as q (name) order by name
    on conflict do nothing`,
}

export async function registerKinds(
  db: Db,
  kinds: readonly {
    kind: string
    queue: string
    policy: JobPolicy
    version: number
    internal?: boolean
    private?: boolean
  }[],
  now: Date | null,
): Promise<void> {
  if (kinds.length === 0) return
  await db.run(register, [
    kinds.map(each => each.kind),
    kinds.map(each => each.queue),
    kinds.map(each => JSON.stringify(each.policy)),
    kinds.map(each => each.version),
    kinds.map(each => each.internal ?? false),
    kinds.map(each => each.private ?? false),
    now,
  ])
}

const flagged = {
  name: 'kind_flags',
  text: `
    select array(select name from retoma.kind where private order by name) as private,
      array(select name from retoma.kind where internal order by name) as internal`,
}

/** The private and the internal kinds of all processes that have registered kinds. */
export interface KindFlags {
  private: string[]
  internal: string[]
}

export async function readKindFlags(db: Db): Promise<KindFlags> {
  return (await db.run<KindFlags>(flagged, []))[0]!
}

const inQueue = {
  name: 'kind_private_in_queue',
  text: `
    select k.name from retoma.kind k
    where k.private
      and (k.queue = $1 or exists (select from retoma.job_count_sample s where s.queue = $1 and s.kind = k.name))
    order by k.name`,
}

/** The private kinds with jobs in a queue: by the queue of the kind, and by the last count of the unfinished jobs. */
export async function privateKindsIn(db: Db, queue: string): Promise<string[]> {
  return (await db.run<{ name: string }>(inQueue, [queue])).map(row => row.name)
}

const queuesWithPrivate = {
  name: 'kind_private_queues',
  text: `
    select k.queue as name from retoma.kind k where k.private
    union
    select s.queue from retoma.job_count_sample s join retoma.kind k on k.name = s.kind where k.private
    order by 1`,
}

/** The queues with private kinds: the queues of the kinds, and the queues with jobs of the kinds at the last count. */
export async function privateQueues(db: Db): Promise<string[]> {
  return (await db.run<{ name: string }>(queuesWithPrivate, [])).map(row => row.name)
}

const registerOne = {
  name: 'queue_register',
  text: `insert into retoma.queue (name) values ($1) on conflict do nothing`,
}

export async function registerQueue(db: Db, queue: string): Promise<void> {
  await db.run(registerOne, [queue])
}

const find = {
  name: 'queue_find',
  text: `
    select exists (select from retoma.queue where name = $1) as known,
      array(select name from retoma.queue order by name limit 1000) as names`,
}

/** `names`: the known queues, for a hint. */
export async function hasQueue(db: Db, queue: string): Promise<{ known: boolean; names: string[] }> {
  const [row] = await db.run<{ known: boolean; names: string[] }>(find, [queue])
  return row!
}
