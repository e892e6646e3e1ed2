/** The books of all batches, audited in one snapshot: what the counters say and what a recount of the jobs says. */
import pg from 'pg'

export const batchAudit = `
  with recount as (
    select batch_id, count(*)::int as total,
      count(*) filter (where state = 'succeeded')::int as succeeded, count(*) filter (where state = 'failed')::int as failed,
      count(*) filter (where state = 'skipped')::int as skipped, count(*) filter (where state = 'cancelled')::int as cancelled,
      count(*) filter (where state = 'stalled')::int as stalled, count(*) filter (where state = 'running')::int as running
    from retoma.job where batch_id is not null group by 1
  ), kept as (
    select batch_id, sum(succeeded)::int as succeeded, sum(failed)::int as failed, sum(skipped)::int as skipped,
      sum(cancelled)::int as cancelled, sum(stalled)::int as stalled,
      sum(started - released)::int as running
    from retoma.batch_count group by 1
  ), spent as (
    select batch_id, jsonb_object_agg(currency, amount) as cost
    from (select j.batch_id, c.currency, sum(c.amount) as amount from retoma.job_cost c join retoma.job j on j.id = c.job_id group by 1, 2) s
    where batch_id is not null group by 1
  ), charged as (
    select batch_id, jsonb_object_agg(currency, amount) as cost
    from (select batch_id, currency, sum(amount) as amount from retoma.batch_cost group by 1, 2) s group by 1
  )
  select b.id, b.state, to_jsonb(r) - 'batch_id' as recount, b.total, to_jsonb(k) - 'batch_id' as kept, s.cost as spent, c.cost as charged
  from retoma.batch b
    left join recount r on r.batch_id = b.id
    left join kept k on k.batch_id = b.id
    left join spent s on s.batch_id = b.id
    left join charged c on c.batch_id = b.id
  where b.total <> coalesce(r.total, 0) or s.cost is distinct from c.cost
    or (coalesce(r.succeeded, 0), coalesce(r.failed, 0), coalesce(r.skipped, 0), coalesce(r.cancelled, 0), coalesce(r.stalled, 0), coalesce(r.running, 0))
      is distinct from
      (coalesce(k.succeeded, 0), coalesce(k.failed, 0), coalesce(k.skipped, 0), coalesce(k.cancelled, 0), coalesce(k.stalled, 0), coalesce(k.running, 0))`

export interface Auditor {
  /** Every difference that was ever seen, and how often it was looked. */
  stop(): Promise<{ wrong: unknown[]; checks: number }>
}

/** One look. */
export async function auditBatches(url: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return client
    .query(batchAudit)
    .then(({ rows }) => rows)
    .finally(() => client.end())
}

/** Looks again and again, until stopped. */
export function startAuditor(url: string): Auditor {
  let stopping = false
  const wrong: unknown[] = []
  let checks = 0
  const watching = (async () => {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    while (!stopping) {
      const { rows } = await client.query(batchAudit)
      wrong.push(...rows)
      checks++
    }
    await client.end()
  })()
  return {
    async stop() {
      stopping = true
      await watching
      return { wrong, checks }
    },
  }
}
