/**
 * What of a batch has ended and what runs, kept in up to 32 rows so that workers do not stand in line for one: sixteen for
 * those who end attempts and sixteen for claims, so that a worker's claims and its outcomes do not wait for each other.
 *
 * Invariant: the counters equal a recount in every snapshot. Every statement that moves a job of a batch into a final or
 * stalled state, or out of one, or gives or takes its lease, counts it in the same statement, from the rows it moved. Counters
 * are locked last, those of one statement in the order of their batches and in one shard, so that nobody waits in a circle.
 *
 * How many run is not counted live: the index of what runs is full of what ran since the last vacuum.
 */

const shards = 16

/** Of a worker: any spread will do. */
export function shardOf(worker: string): number {
  let sum = 0
  for (let i = 0; i < worker.length; i++) sum = (sum * 31 + worker.charCodeAt(i)) % 65_521
  return sum % shards
}

/** For what people and watchdogs do, which is not much. */
const anyShard = 0

const counted = ['succeeded', 'failed', 'skipped', 'cancelled', 'stalled']
const added = [...counted, 'freed']

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
 * A part of a `with` for outcomes: `moved` returned (id, batch_id, ref, state), all of which ran. The end of every attempt
 * is progress, also of one that failed and waits again.
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

/** The same for what is no outcome: `moved` returned (batch_id, was, state), the states before and after. */
export const countMoves = (moved: string): string =>
  upsert(
    'counted',
    `select m.batch_id, ${anyShard},
      ${counted.map(column => `count(*) filter (where m.state = '${column}') - count(*) filter (where m.was = '${column}')`).join(', ')},
      count(*) filter (where m.was = 'running')
    from ${moved} m
    where m.batch_id is not null`,
  )

/** Where the claims of a worker are counted. */
export const claimShardOf = (worker: string): number => shards + shardOf(worker)

/** A part of a `with` for claims: `taken` returned (batch_id). */
export const countBegun = (taken: string, shard: string): string => `
  begun as (
    insert into retoma.batch_count (batch_id, shard, begun)
    select t.batch_id, ${shard}, count(*) from ${taken} t where t.batch_id is not null group by 1 order by 1
    on conflict (batch_id, shard) do update set begun = batch_count.begun + excluded.begun
  )`

/** Sums of one batch, `b`, as columns: what has ended, what is stalled, what runs. */
export const sumsOf = (batch: string): string => `
  select coalesce(sum(succeeded), 0)::int as succeeded, coalesce(sum(failed), 0)::int as failed,
    coalesce(sum(skipped), 0)::int as skipped, coalesce(sum(cancelled), 0)::int as cancelled,
    coalesce(sum(stalled), 0)::int as stalled, coalesce(sum(begun::bigint - freed), 0)::int as running,
    coalesce(sum(succeeded + failed + skipped + cancelled), 0)::int as ended
  from retoma.batch_count c
  where c.batch_id = ${batch}`
