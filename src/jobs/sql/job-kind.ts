/** Registers kinds and queues at the start of an engine, so processes without the code can check the jobs. */

import type { Db } from '../../database/db.ts'
import type { JobPolicy } from '../model/policy.ts'

// The newest version wins, and an unchanged kind writes nothing: two versions of an app may start and restart side by
// side. With equal versions the last start wins.
const register = {
  name: 'kind_register',
  text: `
    with kinds as (
      insert into retoma.kind (name, queue, policy, version, updated_at)
      select name, queue, policy, version, coalesce($5::timestamptz, now())
      from unnest($1::text[], $2::text[], $3::jsonb[], $4::int[]) as k (name, queue, policy, version)
      order by name
      on conflict (name) do update
        set queue = excluded.queue, policy = excluded.policy, version = excluded.version, updated_at = excluded.updated_at
        where excluded.version >= kind.version
          and (kind.queue, kind.policy, kind.version) is distinct from (excluded.queue, excluded.policy, excluded.version)
    )
    insert into retoma.queue (name)
    select distinct name from unnest($2::text[]) as q (name) order by name
    on conflict do nothing`,
}

export async function registerKinds(
  db: Db,
  kinds: readonly { kind: string; queue: string; policy: JobPolicy; version: number }[],
  now: Date | null,
): Promise<void> {
  if (kinds.length === 0) return
  await db.run(register, [
    kinds.map(each => each.kind),
    kinds.map(each => each.queue),
    kinds.map(each => JSON.stringify(each.policy)),
    kinds.map(each => each.version),
    now,
  ])
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
