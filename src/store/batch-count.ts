/**
 * What of a batch has ended, kept in up to sixteen rows so that workers do not stand in line for one.
 *
 * Invariant: the counters equal a recount in every snapshot. Every statement that moves a job of a batch into a final or
 * stalled state, or out of one, counts it in the same statement, from the rows it moved. Counters are locked last, those
 * of one statement in the order of their batches and in one shard, so that nobody waits in a circle.
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

const upsert = (name: string, select: string, more: { columns: string; set: string } = { columns: '', set: '' }) => `
  ${name} as (
    insert into retoma.batch_count (batch_id, shard, ${counted.join(', ')}${more.columns})
    ${select}
    group by m.batch_id
    order by m.batch_id
    on conflict (batch_id, shard) do update
      set ${counted.map(column => `${column} = batch_count.${column} + excluded.${column}`).join(', ')}${more.set}
  )`

/**
 * A part of a `with` for outcomes: `moved` returned (id, batch_id, ref, state), all of which ran. The end of every attempt
 * is progress, also of one that failed and waits again.
 */
export const countOutcomes = (moved: string, shard: string, now: string): string =>
  upsert(
    'counted',
    `select m.batch_id, ${shard},
      ${counted.map(column => `count(*) filter (where m.state = '${column}')`).join(', ')},
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
      ${counted.map(column => `count(*) filter (where m.state = '${column}') - count(*) filter (where m.was = '${column}')`).join(', ')}
    from ${moved} m
    where m.batch_id is not null`,
  )

/** Sums of one batch, `b`, as columns: what has ended, and what is stalled. */
export const sumsOf = (batch: string): string => `
  select coalesce(sum(succeeded), 0)::int as succeeded, coalesce(sum(failed), 0)::int as failed,
    coalesce(sum(skipped), 0)::int as skipped, coalesce(sum(cancelled), 0)::int as cancelled,
    coalesce(sum(stalled), 0)::int as stalled,
    coalesce(sum(succeeded + failed + skipped + cancelled), 0)::int as ended
  from retoma.batch_count c
  where c.batch_id = ${batch}`
