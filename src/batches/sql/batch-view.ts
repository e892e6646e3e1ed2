/**
 * Reads batches for people and programs. Nothing here writes or locks, and nothing counts the jobs of a batch: finished and running jobs
 * are the sums of the counters, at most 32 rows, and waiting jobs are the rest. The cost is the sum of at most 16 rows per currency.
 */

import type { Db } from '../../database/db.ts'
import { nowParameter } from '../../database/now-parameter.ts'
import type { CostAmount } from '../../jobs/model/cost.ts'
import { costsOf } from '../../jobs/sql/cost-sums.ts'
import type { BatchPolicy } from '../model/batch.ts'
import type { BatchState } from '../model/batch-state.ts'
import { etaOf, rateOf } from '../model/throughput.ts'
import { batchSums } from './batch-counters.ts'

/** The current state and progress of a batch. */
export interface BatchView {
  id: string
  name: string
  key: string | null
  kind: string
  queue: string
  state: BatchState
  /** Reason of a `paused`, `stalled` or `failed` batch: a code with facts. */
  reason: ({ code: string } & Record<string, unknown>) | null
  priority: number
  total: number
  waiting: number
  running: number
  stalled: number
  succeeded: number
  failed: number
  skipped: number
  cancelled: number
  /** Percentage of jobs in a final state; null if the batch has no jobs. */
  percent: number | null
  /** Items per second lately, and seconds until the end at this rate; null if unknown or if the batch is not at work. */
  rate: number | null
  etaSeconds: number | null
  /** End of the last attempt of an item, and the ref of this item. */
  progressAt: Date | null
  lastRef: string | null
  /** The costs of all attempts of the items, by currency; empty: none. */
  cost: CostAmount[]
  resumes: number
  maxResumes: number
  /** Number of list items the submit has received. */
  itemsReceived: number
  /** A cascade is under way. */
  following: boolean
  /** The `onComplete` job of the last completion. */
  completeJob: string | null
  createdAt: Date
  submittedAt: Date | null
  finishedAt: Date | null
}

type Row = Omit<BatchView, 'waiting' | 'percent' | 'rate' | 'etaSeconds' | 'maxResumes'> & {
  policy: BatchPolicy
  ended: number
  sampleAges: number[]
  sampleDone: number[]
}

const now = nowParameter(1)
const columns = `
  b.id::text as id, b.name, b.key, b.kind, b.queue, b.reason, b.priority, b.total, b.items_received as "itemsReceived", b.resumes, b.policy,
  case when b.state = 'running' and p.progress_at is null and s.running = 0 then 'waiting' else b.state end as state,
  s.running, s.stalled, s.succeeded, s.failed, s.skipped, s.cancelled, s.ended,
  p.progress_at as "progressAt", p.last_ref as "lastRef",
  coalesce((select json_agg(c order by c.currency) from (${costsOf('retoma.batch_cost where batch_id = b.id')}) c), '[]') as cost, b.cascade is not null as following,
  b.complete_job::text as "completeJob", b.created_at as "createdAt", b.submitted_at as "submittedAt", b.finished_at as "finishedAt",
  array(select extract(epoch from ${now} - at)::float8 from unnest(b.throughput_at) with ordinality as t (at, n) order by n) as "sampleAges",
  b.throughput_done as "sampleDone"`
const joined = `
  cross join lateral (${batchSums('b.id')}) s
  left join lateral (
    select progress_at, last_ref from retoma.batch_count c
    where c.batch_id = b.id and progress_at is not null
    order by progress_at desc
    limit 1
  ) p on true`

const one = {
  name: 'view_batch',
  text: `
    select ${columns}
    from retoma.batch b ${joined}
    where b.id = $2 and b.cascade is distinct from 'prune'`,
}

export async function viewBatch(db: Db, id: string, now: Date | null): Promise<BatchView | undefined> {
  const [row] = await db.run<Row>(one, [now, id])
  return row && toView(row)
}

const list = {
  name: 'view_batches',
  text: `
    select * from (
      select ${columns}
      from retoma.batch b ${joined}
      where b.id < $2 and b.cascade is distinct from 'prune' and ($3::text is null or b.name = $3) and b.kind <> all ($6::text[])
        and ($4::text is null or b.state = case when $4 = 'waiting' then 'running' else $4 end)
      order by b.id desc
    ) v
    where $4::text is null or v.state = $4
    limit $5`,
}

const maxId = '9223372036854775807'

/** Returns the newest batches first. */
export async function viewBatches(
  db: Db,
  filter: { name?: string | undefined; state?: BatchState | undefined; except?: readonly string[] | undefined },
  after: string | undefined,
  limit: number,
  now: Date | null,
): Promise<BatchView[]> {
  const values = [now, after ?? maxId, filter.name ?? null, filter.state ?? null, limit, filter.except ?? []]
  return (await db.run<Row>(list, values)).map(toView)
}

function toView({ policy, ended, sampleAges, sampleDone, ...row }: Row): BatchView {
  const stands = !['submitting', 'running'].includes(row.state)
  const samples = sampleAges.map((ageSeconds, i) => ({ ageSeconds, ended: sampleDone[i]! }))
  const rate = stands ? null : rateOf(samples, ended)
  return {
    ...row,
    waiting: row.total - ended - row.stalled - row.running,
    percent: row.total === 0 ? null : Math.floor((ended * 1000) / row.total) / 10,
    rate,
    etaSeconds: row.submittedAt === null ? null : etaOf(rate, row.total - ended),
    maxResumes: policy.maxResumes,
  }
}
