/** Reads past prices and the pace of past executions, for an estimate before an execution starts. */
import type { Engine } from 'retoma'

/** Costs in USD, as numbers: an estimate is no account. null: there is no past answer. */
export interface Basis {
  documents: number
  averageUsd: number | null
  highestUsd: number | null
  /** The price grows with the characters: `interceptUsd` + `slopeUsd` × characters; null: all past documents have the same length. */
  slopeUsd: number | null
  interceptUsd: number | null
  perSecond: number | null
}

// `category` and not `answered_at` tells an answer: the index of answers is by hash, and of all executions. The latest executions with the same model, those of the project first. Three executions have at most 6,000 documents.
const basis = `
  with past as materialized (
    select d.run_id, d.cost_usd::float8 as usd, least(length(coalesce(d.text, d.content)), 48000) as length, d.answered_at
    from classifier.document d
    where d.run_id = any (array(
        select r.id from classifier.run r
        where r.deleted_at is null and r.settings ->> 'model' is not distinct from $2::text and r.batch_id is not null
        order by r.project_id = $1 desc, r.id desc
        limit 3
      )) and d.category is not null and d.reused_from is null and d.simulated = $3
  ), pace as (
    select count(*) - 1 as answers, extract(epoch from max(answered_at) - min(answered_at))::float8 as seconds
    from past group by run_id having count(*) > 1
  )
  select count(*)::int as documents, avg(usd) as "averageUsd", max(usd) as "highestUsd",
    regr_slope(usd, length) as "slopeUsd", regr_intercept(usd, length) as "interceptUsd",
    (select sum(answers) / nullif(sum(seconds), 0) from pace)::float8 as "perSecond"
  from past`

export async function readBasis(
  home: Pick<Engine, 'query'>,
  { project, model, simulated }: { project: string; model: string | null; simulated: boolean },
): Promise<Basis> {
  return (await home.query<Basis>(basis, [project, model, simulated])).rows[0]!
}
