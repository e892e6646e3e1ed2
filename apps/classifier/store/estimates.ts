/** Reads past prices and the pace of past executions, for an estimate before an execution starts. */
import type { Engine } from 'retoma'

/** A price in USD that grows with a size: `interceptUsd` + `slopeUsd` × size; null: all past documents have the same size. */
export interface Line {
  slopeUsd: number | null
  interceptUsd: number | null
}

/** Costs in USD, as numbers: an estimate is no account. null: there is no past answer. The size of a document is its characters. */
export interface Basis extends Line {
  documents: number
  averageUsd: number | null
  highestUsd: number | null
  /** By the ending of the file name; the size is the bytes of the file. Only endings of past documents. */
  endings: ReadonlyMap<string, Line & { averageUsd: number }>
  perSecond: number | null
}

const answered = `d.category is not null and d.reused_from is null and d.simulated = $3`

/** In seconds. A document ends within two minutes: in a longer gap between two answers the execution stood still. */
const longestGap = 120

// `category` and not `answered_at` tells an answer: the index of answers is by hash, and of all executions. The latest executions with an
// answer of the same model, those of the project first. Three executions have at most 6,000 documents.
const basis = `
  with past as materialized (
    select d.run_id, d.cost_usd::float8 as usd, least(length(coalesce(d.text, d.content)), 48000) as length, d.file_id, d.answered_at
    from classifier.document d
    where d.run_id = any (array(
        select r.id from classifier.run r
        where r.deleted_at is null and r.settings ->> 'model' is not distinct from $2::text and r.batch_id is not null
          and r.simulated is not null and (select true from classifier.document d where d.run_id = r.id and ${answered} limit 1)
        order by r.project_id = $1 desc, r.id desc
        limit 3
      )) and ${answered}
  ), gap as (
    select extract(epoch from answered_at - lag(answered_at) over (partition by run_id order by answered_at))::float8 as seconds
    from past
  ), ending as (
    select lower(substring(f.name from '\\.([^.]{1,10})$')) as ending, avg(p.usd) as average, regr_slope(p.usd, f.size) as slope,
      regr_intercept(p.usd, f.size) as intercept
    from past p join retoma.file f on f.id = any (array[p.file_id])
    group by 1
  )
  select count(*)::int as documents, avg(usd) as "averageUsd", max(usd) as "highestUsd",
    regr_slope(usd, length) as "slopeUsd", regr_intercept(usd, length) as "interceptUsd",
    (select jsonb_object_agg(ending, jsonb_build_object('averageUsd', average, 'slopeUsd', slope, 'interceptUsd', intercept))
      from ending where ending = any ($4::text[])) as endings,
    (select count(*) / nullif(sum(seconds), 0) from gap where seconds <= ${longestGap})::float8 as "perSecond"
  from past`

/** `endings`: of the file names of the documents to estimate, in lower case. */
export async function readBasis(
  home: Pick<Engine, 'query'>,
  given: { project: string; model: string | null; simulated: boolean; endings: readonly string[] },
): Promise<Basis> {
  const { project, model, simulated, endings } = given
  type Row = Omit<Basis, 'endings'> & { endings: Record<string, Line & { averageUsd: number }> | null }
  const [row] = (await home.query<Row>(basis, [project, model, simulated, endings])).rows
  return { ...row!, endings: new Map(Object.entries(row!.endings ?? {})) }
}
