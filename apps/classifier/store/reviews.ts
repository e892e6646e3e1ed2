/**
 * Stores what a person says about the answers: a correction, or the acceptance of an answer.
 *
 * Invariant: a review never changes the answer of the AI. A document is accepted if both categories are equal, and corrected otherwise, so
 * that an answer which comes after the review is judged by the same review.
 */
import type { Engine, JobTransaction } from 'retoma'
import { clockOf } from 'retoma/http'
import type { Example } from '../prompt.ts'

type Home = Engine

const now = (place: number) => `coalesce($${place}::timestamptz, now())`

// A null category removes the review.
const review = `
  update classifier.document d
  set reviewed_category = $3, reviewed_labels = $6::text[], reviewed_by = case when $3::text is not null then $4 end,
    reviewed_at = case when $3::text is not null then ${now(5)} end
  where d.run_id = $1 and d.code = $2`

export async function saveReview(
  home: Home,
  run: string,
  code: string,
  given: { category: string | null; labels: readonly string[] | null; by: string },
): Promise<void> {
  await home.query(review, [run, code, given.category, given.by, clockOf(home).instant(), given.labels])
}

// Locks in the order of the list, so that two concurrent requests do not block each other for good.
const accept = `
  with chosen as materialized (
    select d.id from classifier.document d
    where d.run_id = $1 and d.reviewed_at is null and d.category is not null
      and ($4::text[] is null or d.code = any ($4)) and ($5::text is null or d.category = $5)
      and ($6::numeric is null or d.confidence >= $6)
      and (select j.state from retoma.job j where j.id = d.job_id) = 'succeeded'
    order by d.n
    for update of d
  )
  update classifier.document d
  set reviewed_category = d.category, reviewed_labels = d.labels, reviewed_by = $2, reviewed_at = ${now(3)}
  where d.id = any (array(select id from chosen)) and d.reviewed_at is null`

export interface Accepting {
  codes: readonly string[] | null
  category: string | null
  /** The lowest accepted confidence. */
  confidence: number | null
}

/** Accepts the answers that nobody has reviewed. Returns the number of accepted answers. */
export async function acceptAnswers(home: Home, run: string, by: string, only: Accepting): Promise<number> {
  const values = [run, by, clockOf(home).instant(), only.codes, only.category, only.confidence]
  return (await home.query(accept, values)).rowCount ?? 0
}

// The latest correction of the same bytes counts.
const corrections = `
  select c.hash, c.text, c.category, c.labels
  from (
    select distinct on (d.hash) encode(d.hash, 'hex') as hash, left(coalesce(d.text, d.content), 2000) as text,
      d.reviewed_category as category, d.reviewed_labels as labels, classifier.accepted(d) as accepted, d.reviewed_at, d.id
    from classifier.document d
    where d.run_id = any (array(select r.id from classifier.run r where r.project_id = $1 and r.deleted_at is null))
      and d.reviewed_at is not null
    order by d.hash, d.reviewed_at desc, d.id desc
  ) c
  where c.accepted is not true and c.category = any ($2::text[]) and c.text <> ''
  order by c.reviewed_at desc, c.id desc
  limit 500`

/** The corrections of a project to one of `categories`, the latest first. */
export async function readCorrections(
  tx: Pick<JobTransaction, 'query'>,
  project: string,
  categories: readonly string[],
): Promise<Example[]> {
  return (await tx.query<Example>(corrections, [project, categories])).rows
}

export interface Precision {
  model: string | null
  category: string
  reviewed: number
  right: number
}

const precision = `
  select d.model, d.category, count(*)::int as reviewed, count(*) filter (where classifier.accepted(d))::int as right
  from classifier.document d
  where d.run_id = any (array(
      select r.id from classifier.run r where r.project_id = $1 and r.deleted_at is null and ($2::bigint is null or r.id = $2)
    )) and d.reviewed_at is not null and d.category is not null
  group by d.model, d.category
  order by d.model, d.category`

/** How many reviewed answers were right, by model and category of the answer. */
export async function readPrecision(
  home: Pick<Home, 'query'>,
  project: string,
  run: string | null,
): Promise<Precision[]> {
  return (await home.query<Precision>(precision, [project, run])).rows
}
