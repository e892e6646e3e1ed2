/**
 * Reads the facts of the database for doctor. Every statement only reads, runs alone and has a short deadline, so a missing answer does
 * not delay the others. maintenance/model draws the conclusions.
 */

import type { Db, Statement } from '../../database/db.ts'
import { grantOnTables, installedIn, readMigrations, type SystemMigrations } from '../../database/migrate.ts'
import { defaultPolicy } from '../../jobs/model/policy.ts'
import { waitingJobs } from '../../jobs/sql/job-floor.ts'
import type { Clock } from '../../lib/clock.ts'
import { randomName } from '../../lib/random.ts'
import { withDeadline } from '../../lib/with-deadline.ts'
import type {
  LongTransaction,
  NotificationTest,
  RightsFacts,
  SchemaFacts,
  ServerFacts,
  StarvedFacts,
  TableSize,
  WorkFacts,
} from '../model/doctor-facts.ts'
import { schemasIn } from './schema-catalog.ts'

const answerMs = 10_000

/**
 * A statement without a name: each runs once, perhaps through a pooler without prepared statements, and must not fail for this reason.
 */
const unnamed = (text: string): Statement => ({ name: '', text })

const server = unnamed(`
  select current_setting('server_version') as version, current_setting('server_version_num')::int as number,
    current_setting('fsync') = 'on' as fsync, current_setting('full_page_writes') = 'on' as "fullPageWrites",
    current_setting('synchronous_commit') <> 'off' as "synchronousCommit",
    current_setting('autovacuum') = 'on' and current_setting('track_counts') = 'on' as autovacuum,
    pg_is_in_recovery() as standby, current_setting('default_transaction_read_only') = 'on' as "readOnly",
    current_setting('max_connections')::int as "maxConnections",
    (select count(*)::int from pg_stat_activity where backend_type = 'client backend') as connections,
    pg_database_size(current_database())::float8 as "databaseBytes",
    (extract(epoch from clock_timestamp()) * 1000)::float8 as "nowMs"`)

/**
 * Reads the server facts. `aheadMs` is the least possible difference of the clocks: the round trip may explain a difference up to its
 * length.
 */
export async function readServer(db: Db, clock: Clock): Promise<ServerFacts> {
  await db.run(unnamed(`select 1`), [], answerMs) // connects first, so the connection set-up is no part of the round trip
  const before = clock.now().getTime()
  const [row] = await db.run<Omit<ServerFacts, 'aheadMs'> & { nowMs: number }>(server, [], answerMs)
  const after = clock.now().getTime()
  const { nowMs: exact, ...facts } = row!
  const nowMs = Math.floor(exact)
  const aheadMs = nowMs > after ? nowMs - after : nowMs < before ? nowMs - before : 0
  return { ...facts, aheadMs }
}

export async function readSchemaVersion(db: Db, systems: readonly SystemMigrations[]): Promise<SchemaFacts> {
  const [found, ...theirs] = await db.transaction(async client => {
    const versions = [await installedIn(client)]
    for (const { name } of systems) versions.push(await installedIn(client, name))
    return versions
  }, answerMs)
  return {
    found: found!,
    known: (await readMigrations()).at(-1)?.version ?? 0,
    systems: systems.map(({ name, migrations }, index) => ({
      name,
      found: theirs[index]!,
      known: migrations.at(-1)?.version ?? 0,
    })),
  }
}

const rights = unnamed(`
  with asked as (
    -- Inside a CASE: among plain conditions the planner may check a privilege before the sort of the object is known.
    select n.nspname || '.' || c.relname as place, p as privilege,
      case
        when c.relkind = 'S' then p <> 'usage' or has_sequence_privilege(c.oid, 'usage')
        when p = 'usage' or (c.relname in ('migration', 'system_migration') and n.nspname = 'retoma'::name and p <> 'select') then true
        else has_table_privilege(c.oid, p)
      end as granted
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
      cross join unnest(array['select', 'insert', 'update', 'delete', 'usage']) p
    where n.nspname = any ($1) and c.relkind in ('r', 'p', 'S')
  )
  select quote_ident(current_user) as user,
    array(
      select privilege || ' on ' || place from asked where not granted order by place not like 'retoma'::name || '.%', 1
    ) as missing`)

export async function readRights(db: Db): Promise<RightsFacts> {
  const schemas = await db.transaction(schemasIn, answerMs)
  const [row] = await db.run<Omit<RightsFacts, 'grant'>>(rights, [schemas], answerMs)
  return { ...row!, grant: grantOnTables(row!.user, schemas) }
}

// Only of this database: since PostgreSQL 14 a transaction in another database does not keep our dead rows, and neither does a vacuum.
// The activity of other users is hidden from a role without pg_read_all_stats.
const pins = unnamed(`
  select 'transaction' as what, pid, application_name as name, state,
    extract(epoch from now() - coalesce(xact_start, backend_start))::float8 as seconds, age(backend_xmin)::int as transactions
  from pg_stat_activity
  where backend_xmin is not null and pid <> pg_backend_pid()
    and (datname = current_database() or datname is null)
    and backend_type not in ('autovacuum worker', 'walsender')
    and xact_start < now() - make_interval(secs => $1)
  union all
  select 'prepared', null, gid, null, extract(epoch from now() - prepared)::float8, age(transaction)::int
  from pg_prepared_xacts
  where database = current_database() and prepared < now() - make_interval(secs => $1)
  union all
  select case when active then 'slot' else 'unused slot' end, active_pid, slot_name, null, null,
    greatest(age(xmin), age(catalog_xmin))::int
  from pg_replication_slots
  where greatest(age(xmin), age(catalog_xmin)) > $2
  union all
  select 'standby', pid, application_name, state, null, age(backend_xmin)::int
  from pg_stat_replication
  where age(backend_xmin) > $2
  order by seconds desc nulls last, transactions desc
  limit 10`)

/** Returns the transactions, slots and standbys that keep dead rows from being removed, the oldest first. */
export const readPins = (db: Db, seconds: number, transactions: number): Promise<LongTransaction[]> =>
  db.run<LongTransaction>(pins, [seconds, transactions], answerMs)

const sizes = unnamed(`
  select case n.nspname when 'retoma'::name then c.relname else n.nspname || '.' || c.relname end as name, pg_total_relation_size(c.oid)::float8 as bytes, greatest(c.reltuples, 0)::float8 as rows,
    coalesce(s.n_live_tup, 0)::float8 as live, coalesce(s.n_dead_tup, 0)::float8 as dead,
    coalesce('autovacuum_enabled=false' = any (c.reloptions), false) as "vacuumOff",
    extract(epoch from now() - greatest(s.last_vacuum, s.last_autovacuum))::float8 as "vacuumedSecondsAgo"
  from pg_class c join pg_namespace n on n.oid = c.relnamespace left join pg_stat_user_tables s on s.relid = c.oid
  where n.nspname = any ($1) and c.relkind = 'r'
  order by n.nspname <> 'retoma'::name, n.nspname collate "C", c.relname collate "C"`)

export const readSizes = async (db: Db): Promise<TableSize[]> =>
  db.run<TableSize>(sizes, [await db.transaction(schemasIn, answerMs)], answerMs)

// True for a job row in a queue of `open` that no live worker's code runs (jobs/model/kind-version.ts).
const notTaken = `
  case when version is null then kind <> all (o.taken) else not exists (
    select from worker w
    where w.queues ? o.name and version between (w.versions -> kind -> 0)::int and (w.versions -> kind -> 1)::int
  ) end`

// Reads queue by queue over the indexes of the claims (limited jobs have another index), up to the cap.
const starved = unnamed(`
  with worker as (
    select queues, kinds, versions from retoma.worker
    where dead_at is null and heartbeat_at > coalesce($1::timestamptz, now()) - make_interval(secs => $2 / 1000.0)
  ), open as (
    select q.name, not exists (select from worker where queues ? q.name) as nobody,
      array(
        select distinct kind from worker, unnest(kinds) as kind
        where queues ? q.name and coalesce((versions -> kind -> 0)::int, 1) = 1
      ) as taken
    from retoma.queue q
    where not q.paused
  )
  select o.name as queue, j.kind, coalesce(j.version, 1) as version, count(*)::int as jobs, o.nobody as "noWorker",
    extract(epoch from coalesce($1::timestamptz, now()) - min(j.run_at))::float8 as "oldestSeconds"
  from open o cross join lateral (
    select w.kind, w.version, w.run_at from generate_series(0, 19) as r (claim_rank)
      cross join lateral (${waitingJobs('o.name', 'kind, version, run_at', `and run_at <= coalesce($1::timestamptz, now()) and ${notTaken} limit $3`)}) w
    limit $3
  ) j
  group by o.name, j.kind, j.version, o.nobody
  order by o.name, j.kind, j.version
  limit 100`)

/** Returns the ready jobs per queue, kind and version that no live worker claims, counted up to `most` per queue. */
export const readStarved = (db: Db, most: number, now: Date | null): Promise<StarvedFacts[]> =>
  db.run<StarvedFacts>(starved, [now, defaultPolicy.orphanAfter, most], answerMs)

const work = unnamed(`
  select
    (
      select count(*)::int from retoma.worker
      where dead_at is null and heartbeat_at > coalesce($1::timestamptz, now()) - make_interval(secs => $2 / 1000.0)
    ) as live,
    coalesce((
      select jsonb_agg(jsonb_build_object('worker', worker_id, 'jobs', jobs, 'silentSeconds', silent) order by worker_id)
      from (
        select j.worker_id, count(*)::int as jobs,
          extract(epoch from coalesce($1::timestamptz, now()) - max(w.heartbeat_at))::float8 as silent
        from retoma.job j left join retoma.worker w on w.id = j.worker_id
        where j.state = 'running'
          and (
            w.id is null or w.dead_at is not null
            or w.heartbeat_at < coalesce($1::timestamptz, now()) - make_interval(secs => $2 / 1000.0)
          )
        group by j.worker_id
        order by j.worker_id
        limit 100
      ) lost
    ), '[]') as lost,
    coalesce((
      select jsonb_agg(jsonb_build_object('queue', name, 'jobs', jobs) order by name)
      from (
        select q.name, (select count(*)::int from (
            select 1 from generate_series(0, 19) as r (claim_rank)
              cross join lateral (${waitingJobs('q.name', '', 'limit $3')}) w
            limit $3
          ) j) as jobs
        from retoma.queue q
        where q.paused
      ) p
      where jobs > 0
    ), '[]') as paused`)

/** Returns the number of live workers, the running jobs of lost workers, and the paused queues with waiting jobs. */
export async function readWork(db: Db, most: number, now: Date | null): Promise<WorkFacts> {
  return (await db.run<WorkFacts>(work, [now, defaultPolicy.orphanAfter, most], answerMs))[0]!
}

const tick = unnamed(`
  select case when isfinite(at) then extract(epoch from coalesce($1::timestamptz, now()) - at) end::float8 as seconds
  from retoma.periodic_lease where name = 'watchdog'`)

/** Returns the seconds since the watchdog's last tick; null if there was no tick. */
export async function readTick(db: Db, now: Date | null): Promise<number | null> {
  const [row] = await db.run<{ seconds: number | null }>(tick, [now], answerMs)
  return row?.seconds ?? null
}

const echoMs = 3000

/**
 * Sends a notification and listens for the answer, in the same way as hints. Throws if the listener cannot connect. If a pooler shares
 * the sessions, nothing is tried, because LISTEN would stay in the session of another client.
 */
export async function testNotifications(db: Db): Promise<NotificationTest> {
  const channel = randomName('retoma_doctor').replace('-', '_')
  const listener = await db.session()
  if (listener === undefined) return 'shared'
  try {
    const received = new Promise<NotificationTest>(resolve => listener.on('notification', () => resolve('received')))
    const late = () => new Error('no notification')
    await withDeadline(listener.query(`listen ${channel}`), answerMs, late)
    await db.run(unnamed(`select pg_notify($1, '')`), [channel], answerMs)
    return await withDeadline(received, echoMs, late).catch(() => 'lost')
  } finally {
    listener.destroy()
  }
}
