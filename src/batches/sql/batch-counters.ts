/**
 * Counts the finished and the running jobs of a batch in up to 32 rows, so workers do not queue for a single row: 16 rows for ended
 * attempts and 16 rows for claims. The claims and the outcomes of a worker do not wait for each other.
 *
 * Invariant: the counters equal a recount in every snapshot. Every statement that moves a job of a batch into or out of a final state or
 * `stalled`, or gives or ends a lease, counts the change in the same statement, from the changed rows. Counters are locked last; a
 * statement locks the counters of a single shard in the order of the batches. No deadlock is possible.
 *
 * Running jobs are counted and not read from the index, because the index is full of entries of jobs that ran since the last vacuum.
 */

const shards = 16

/** Returns the counter shard of a worker. Any even spread works. */
export function shardOf(worker: string): number {
  let sum = 0
  for (let i = 0; i < worker.length; i++) sum = (sum * 31 + worker.charCodeAt(i)) % 65_521
  return sum % shards
}

/** Returns the shard for the claims of a worker. */
export const claimShardOf = (worker: string): number => shards + shardOf(worker)

/** Part of a `with` for claims: `taken` returned (batch_id). */
export const countStarted = (taken: string, shard: string): string => `
  counted_starts as (
    insert into retoma.batch_count (batch_id, shard, started)
    select t.batch_id, ${shard}, count(*) from ${taken} t where t.batch_id is not null group by 1 order by 1
    on conflict (batch_id, shard) do update set started = batch_count.started + excluded.started
  )`

/** Sums of the batch `batch` as columns: final, stalled and running jobs. */
export const batchSums = (batch: string): string => `
  select coalesce(sum(succeeded), 0)::int as succeeded, coalesce(sum(failed), 0)::int as failed,
    coalesce(sum(skipped), 0)::int as skipped, coalesce(sum(cancelled), 0)::int as cancelled,
    coalesce(sum(stalled), 0)::int as stalled, coalesce(sum(started::bigint - released), 0)::int as running,
    coalesce(sum(succeeded + failed + skipped + cancelled), 0)::int as ended
  from retoma.batch_count c
  where c.batch_id = ${batch}`
