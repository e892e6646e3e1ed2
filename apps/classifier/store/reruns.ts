/**
 * Runs documents of an execution again, and compares two executions.
 *
 * Invariant: the chosen documents are read, and the new documents written, in the transaction that locks the source against erasing. Two
 * documents are the same if the code and the bytes are the same.
 */
import type { Engine, JobTransaction } from 'retoma'
import type { Settings } from './runs.ts'

type Home = Pick<Engine, 'query'>

// Shared with other requests that run the same documents; erasing waits.
const lock = `
  select r.project_id::text as project, r.settings from classifier.run r
  where r.id = $1 and r.deleted_at is null
  for share`

/** undefined: there is no such execution. */
export async function lockSource(
  tx: JobTransaction,
  id: string,
): Promise<{ project: string; settings: Settings } | undefined> {
  return (await tx.query<{ project: string; settings: Settings }>(lock, [id])).rows[0]
}

/** All conditions hold together; null: no such condition. */
export interface Choice {
  onlyErrors: boolean
  category: string | null
  /** Answered documents with a confidence below this number; an answer without a confidence counts as 0. */
  confidenceBelow: number | null
  codes: readonly string[] | null
  /** Documents that the execution skipped because the execution is a sample. */
  onlyOutsideSample: boolean
}

export interface Chosen {
  id: string
  code: string
  file: string | null
  hash: Uint8Array
  /** Characters for the AI; null: the file has not been read yet. */
  length: number | null
}

const choose = `
  select v.id::text as id, v.codigo as code, d.file_id::text as file, d.hash,
    least(length(coalesce(d.text, d.content)), 48000) as length
  from classifier.resultados_classificacao v join classifier.document d on d.id = any (array[v.id])
  where v.execucao_id = $1 and (not $2::boolean or v.status = 'ERRO') and ($3::text is null or $3 = any (v.categorias))
    and ($4::numeric is null or v.status = 'CONCLUIDO' and coalesce(v.confianca, 0) < $4)
    and ($5::text[] is null or v.codigo = any ($5)) and (not $6::boolean or not d.sampled)
  order by v.n`

const valuesOf = (run: string, choice: Choice) => {
  const { onlyErrors, category, confidenceBelow, codes, onlyOutsideSample } = choice
  return [run, onlyErrors, category, confidenceBelow, codes, onlyOutsideSample]
}

/** In the order of sending. */
export async function chooseDocuments(
  home: Pick<JobTransaction, 'query'>,
  run: string,
  choice: Choice,
): Promise<Chosen[]> {
  return (await home.query<Chosen>(choose, valuesOf(run, choice))).rows
}

// A replaced file is removed: the replacement waits until the files are shared.
const chooseLocked = `${choose}
  for share of d`

/** The same for documents that run again: no file of the documents is replaced before the end of the transaction. */
export async function lockDocuments(tx: JobTransaction, run: string, choice: Choice): Promise<Chosen[]> {
  return (await tx.query<Chosen>(chooseLocked, valuesOf(run, choice))).rows
}

// A text is copied inside the database; a file is shared.
const insert = `
  insert into classifier.document (run_id, n, code, file_id, text, hash, duplicate_of, sampled)
  select $1, t.n, d.code, t.file_id, d.text, d.hash, t.duplicate_of, t.sampled
  from unnest($2::bigint[], $3::bigint[], $4::text[], $5::boolean[])
      with ordinality as t (id, file_id, duplicate_of, sampled, n)
    join classifier.document d on d.id = any (array[t.id])`

export async function insertAgain(
  tx: JobTransaction,
  run: string,
  documents: readonly (Chosen & { duplicateOf: string | null; sampled: boolean })[],
): Promise<void> {
  const column = <K extends keyof (typeof documents)[number]>(name: K) => documents.map(each => each[name])
  await tx.query(insert, [run, column('id'), column('file'), column('duplicateOf'), column('sampled')])
}

/** Money is a text. `a` and `b`: the categories of the AI, not the corrections of a person. */
export interface Comparison {
  common: number
  onlyA: number
  onlyB: number
  /** The same code with other bytes. */
  otherBytes: number
  /** Answered in both executions. */
  compared: number
  equal: number
  costA: string
  costB: string
  confusion: { a: string; b: string; documents: number }[]
}

// An execution has the labels in the order of its own list of categories.
const labelsOf = (document: string) =>
  `coalesce((select string_agg(l, ' + ' order by l collate "C") from unnest(${document}.labels) l), ${document}.category)`

const pairs = `
  select a.n, a.code, ${labelsOf('a')} as a, ${labelsOf('b')} as b, a.confidence as confidence_a, b.confidence as confidence_b,
    a.cost_usd as cost_a, b.cost_usd as cost_b
  from classifier.document a join classifier.document b on b.run_id = $2 and b.code = a.code and b.hash = a.hash
  where a.run_id = $1`

const compare = `
  with pair as materialized (${pairs}), answered as materialized (
    select * from pair where a is not null and b is not null
  ), confusion as (
    select a, b, count(*)::int as documents from answered group by a, b
  )
  select
    (select count(*) from pair)::int as common,
    (select count(*) from classifier.document x
      where x.run_id = $1 and not exists (select from classifier.document y where y.run_id = $2 and y.code = x.code))::int as "onlyA",
    (select count(*) from classifier.document x
      where x.run_id = $2 and not exists (select from classifier.document y where y.run_id = $1 and y.code = x.code))::int as "onlyB",
    (select count(*) from classifier.document x join classifier.document y on y.run_id = $2 and y.code = x.code
      where x.run_id = $1 and y.hash <> x.hash)::int as "otherBytes",
    (select count(*) from answered)::int as compared,
    (select count(*) from answered where a = b)::int as equal,
    (select coalesce(sum(cost_a), 0) from pair)::text as "costA",
    (select coalesce(sum(cost_b), 0) from pair)::text as "costB",
    coalesce((
      select jsonb_agg(jsonb_build_object('a', a, 'b', b, 'documents', documents) order by documents desc, a, b) from confusion
    ), '[]') as confusion`

export async function compareRuns(home: Home, a: string, b: string): Promise<Comparison> {
  return (await home.query<Comparison>(compare, [a, b])).rows[0]!
}

export interface Changed {
  n: number
  codigo: string
  categoria_a: string
  categoria_b: string
  confianca_a: number | null
  confianca_b: number | null
}

const changed = `
  select n, code as codigo, a as categoria_a, b as categoria_b, confidence_a::float8 as confianca_a,
    confidence_b::float8 as confianca_b
  from (${pairs}) pair
  where a <> b and n > $3::bigint
  order by n
  limit $4`

/** Documents with different categories, in the order of `a`. */
export async function listChanged(
  home: Home,
  { a, b, after, limit }: { a: string; b: string; after: string; limit: number },
): Promise<Changed[]> {
  return (await home.query<Changed>(changed, [a, b, after, limit])).rows
}
