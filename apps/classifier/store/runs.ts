/**
 * Stores executions: created with the documents in a single transaction, given a batch, changed by actions, erased. The view
 * (store/executions.ts) shows the status.
 *
 * Invariant: an execution exists with all documents and with a job that submits the execution, or not at all. An execution is removed
 * only after the batch.
 */
import type { BatchState, Engine, JobTransaction } from 'retoma'
import { clockOf, type Webhook } from 'retoma/http'
import type { Example } from '../prompt.ts'
import type { Status } from '../status.ts'
import { removeHidden } from './projects.ts'

type Home = Engine

/** The project at the creation of the execution. Money is a text. */
export interface Settings {
  name: string
  categories: readonly string[]
  instructions: string
  model: string | null
  max_resumes: number
  max_retries: number
  cost_limit_usd: string | null
  /** 0 (first) to 9. */
  priority: number
  /** Documents in one turn. */
  weight: number
  /** An answer with less confidence asks for a review; null: none does. */
  review_below: number | null
  /** A document may have several categories. */
  several: boolean
  /** Corrections at the creation of the execution, shown to the AI. */
  examples: readonly Example[]
  /** Pages of a document that OCR reads; 0: no OCR. */
  ocr_pages: number
  /** The choice of pages (page-selection.ts); null: all pages. */
  pages: string | null
}

export interface NewRun {
  project: string
  settings: Settings
  settingsHash: Uint8Array
  reuse: boolean
  createdBy: string
  /** The execution whose documents run again; null: the documents were sent. */
  source: string | null
  webhook: Webhook | null
}

/** Either `file` or `text` is null. */
export interface NewDocument {
  code: string
  file: string | null
  text: string | null
  hash: Uint8Array
  duplicateOf: string | null
  sampled: boolean
}

// The project is locked, so the project is not removed meanwhile.
const insert = `
  with project as (
    select id from classifier.project where id = $1 and deleted_at is null for key share
  )
  insert into classifier.run
    (project_id, settings, settings_hash, total, reuse, cost_allowed_usd, created_by, created_at, source_id,
      webhook_url, webhook_secret)
  select id, $2::jsonb, $3, $4, $5, ($2::jsonb ->> 'cost_limit_usd')::numeric, $6, coalesce($7::timestamptz, now()), $8, $9, $10
  from project
  returning id::text as id`

const insertDocuments = `
  insert into classifier.document (run_id, n, code, file_id, text, hash, duplicate_of, sampled)
  select $1, $2 + t.n, t.code, t.file_id, t.text, t.hash, t.duplicate_of, t.sampled
  from unnest($3::text[], $4::bigint[], $5::text[], $6::bytea[], $7::text[], $8::boolean[])
    with ordinality as t (code, file_id, text, hash, duplicate_of, sampled, n)`

const chunk = 500

/** Returns the id; undefined: there is no such project. `total`: the number of documents, which the caller inserts. */
export async function insertRun(
  home: Home,
  tx: JobTransaction,
  run: NewRun,
  total: number,
): Promise<string | undefined> {
  const now = clockOf(home).instant()
  const { project, settingsHash, reuse, createdBy, source, webhook } = run
  const values = [
    project,
    JSON.stringify(run.settings),
    settingsHash,
    total,
    reuse,
    createdBy,
    now,
    source,
    webhook?.url ?? null,
    webhook?.secret ?? null,
  ]
  return (await tx.query<{ id: string }>(insert, values)).rows[0]?.id
}

export async function insertSent(tx: JobTransaction, run: string, documents: readonly NewDocument[]): Promise<void> {
  for (let from = 0; from < documents.length; from += chunk) {
    const some = documents.slice(from, from + chunk)
    const column = <K extends keyof NewDocument>(name: K) => some.map(each => each[name])
    const names = ['code', 'file', 'text', 'hash', 'duplicateOf', 'sampled'] as const
    await tx.query(insertDocuments, [run, from, ...names.map(column)])
  }
}

const noteJob = `update classifier.run set open_job = $2 where id = $1`

/** Stores the job that submits the execution. */
export async function noteOpenJob(tx: JobTransaction, id: string, job: string): Promise<void> {
  await tx.query(noteJob, [id, job])
}

/** The facts needed to submit an execution. */
export interface Unsubmitted {
  maxResumes: number
  maxRetries: number
  priority: number
  weight: number
  documents: { id: string; code: string }[]
}

const unsubmitted = `
  select (settings ->> 'max_resumes')::int as "maxResumes", (settings ->> 'max_retries')::int as "maxRetries",
    (settings ->> 'priority')::int as priority, (settings ->> 'weight')::int as weight
  from classifier.run
  where id = $1 and batch_id is null and deleted_at is null`

const documentsOf = `
  select id::text as id, code from classifier.document where run_id = $1 order by n`

/** undefined: the execution has a batch already, or is erased. */
export async function readUnsubmitted(home: Pick<Home, 'query'>, id: string): Promise<Unsubmitted | undefined> {
  const [run] = (await home.query<Omit<Unsubmitted, 'documents'>>(unsubmitted, [id])).rows
  if (run === undefined) return undefined
  return { ...run, documents: (await home.query<Unsubmitted['documents'][number]>(documentsOf, [id])).rows }
}

const noteBatch = `update classifier.run set batch_id = $2 where id = $1 and batch_id is null`

// Finds the jobs by id ranges, because the jobs of a batch have no index of their own.
const noteJobs = `
  update classifier.document d
  set job_id = j.id
  from retoma.batch_chunk c
    join retoma.job j on j.id between c.first_id and c.last_id and j.batch_id = c.batch_id
  where c.batch_id = $2 and d.run_id = $1 and d.code = any (array[j.ref]) and d.job_id is null`

const filesOf = `
  select file_id::text as id from classifier.document where run_id = $1 and file_id is not null order by n`

/** Stores the batch of the execution and the job of each document; `keep` gets the files. */
export function noteSubmitted(
  home: Pick<Home, 'transaction'>,
  id: string,
  batch: string,
  keep: (tx: JobTransaction, files: string[]) => Promise<unknown>,
): Promise<void> {
  return home.transaction(async tx => {
    if ((await tx.query(noteBatch, [id, batch])).rowCount === 0) return
    await tx.query(noteJobs, [id, batch])
    const files = (await tx.query<{ id: string }>(filesOf, [id])).rows.map(row => row.id)
    if (files.length > 0) await keep(tx, files)
  })
}

// Only in a status of $2.
const goesOn = `
  update classifier.run r
  set started = true
  from classifier.execucoes_classificacao e
  where r.id = $1 and e.id = $1 and e.status = any ($2::text[]) and not r.started`

/** Notes that a person is about to continue the execution. Written before the action; until the action the status does not change. */
export async function noteStarted(home: Pick<Home, 'query'>, id: string, from: readonly Status[]): Promise<void> {
  await home.query(goesOn, [id, from])
}

// Once for each time the limit was reached: after the raise the cost is below the limit again, however far the cost had passed the limit,
// and the refused document fits.
const allowMore = `
  update classifier.run r
  set cost_allowed_usd = r.cost_allowed_usd + l.usd * greatest(1, ceil((r.cost_needed_usd - r.cost_allowed_usd) / l.usd),
    case when r.cost_usd >= r.cost_allowed_usd then floor((r.cost_usd - r.cost_allowed_usd) / l.usd) + 1 end)
  from retoma.batch b
    cross join lateral (
      select (settings ->> 'cost_limit_usd')::numeric as usd from classifier.run where id = $1
    ) l
  where r.id = $1 and b.id = any (array[r.batch_id]) and b.state = 'paused' and b.reason ->> 'code' = 'cost_limit'
    and (r.cost_usd >= r.cost_allowed_usd or r.cost_needed_usd > r.cost_allowed_usd)`

/** For an execution paused by the cost limit: allows the same amount again. Repeated or concurrent calls count once. */
export async function allowAgain(home: Pick<Home, 'query'>, id: string): Promise<void> {
  await home.query(allowMore, [id])
}

const settingsOf = `
  select r.settings from classifier.run r where r.id = $1 and r.deleted_at is null`

/** undefined: the execution is erased. */
export async function readSettings(home: Pick<Home, 'query'>, id: string): Promise<Settings | undefined> {
  return (await home.query<{ settings: Settings }>(settingsOf, [id])).rows[0]?.settings
}

// Also writes the event with the actor and both models. A repeated change to the same model counts once. The price of the new model is
// unknown, so the expected cost becomes null.
const changeModel = `
  with before as materialized (
    select r.id, r.batch_id, r.settings ->> 'model' as model
    from classifier.run r join retoma.batch b on b.id = any (array[r.batch_id])
    where r.id = $1 and r.deleted_at is null and b.state = any ($2::text[]) and r.settings ->> 'model' is distinct from $3::text
    for update of r
  ), changed as (
    update classifier.run r
    set settings = jsonb_set(r.settings, '{model}', to_jsonb($3::text)), settings_hash = $4, cost_expected_usd = null
    from before
    where r.id = any (array[before.id])
  )
  insert into retoma.event (at, type, batch_id, data)
  select coalesce($6::timestamptz, now()), 'action', before.batch_id,
    jsonb_build_object('who', $5::text, 'what', 'change model', 'model', $3::text, 'model_before', before.model)
  from before`

/** Sets the model for later questions. Nothing changes if the batch is in none of the states `from`. */
export async function noteModel(
  home: Home,
  id: string,
  {
    model,
    settingsHash,
    by,
    from,
  }: { model: string; settingsHash: Uint8Array; by: string; from: readonly BatchState[] },
): Promise<void> {
  await home.query(changeModel, [id, from, model, settingsHash, by, clockOf(home).instant()])
}

const hide = `
  update classifier.run r
  set deleted_at = coalesce($2::timestamptz, now())
  from retoma.batch b
  where r.id = $1 and b.id = any (array[r.batch_id]) and b.state in ('succeeded', 'completed_with_failures', 'failed', 'cancelled') and r.deleted_at is null
  returning r.batch_id::text as batch`

/** Hides the execution from all readers. Returns the batch; undefined: the execution is not in a final state, or already hidden. */
export async function hideRun(home: Home, tx: JobTransaction, id: string): Promise<string | undefined> {
  return (await tx.query<{ batch: string }>(hide, [id, clockOf(home).instant()])).rows[0]?.batch
}

const show = `update classifier.run set deleted_at = null where id = $1`

/** Undoes hideRun for an execution that was continued at the same moment. */
export async function showRun(home: Pick<Home, 'query'>, id: string): Promise<void> {
  await home.query(show, [id])
}

const hidden = `
  select batch_id::text as batch, open_job::text as "openJob"
  from classifier.run
  where id = $1 and deleted_at is not null`

/** The batch and the submitting job of a hidden execution. */
export async function readHidden(
  home: Pick<Home, 'query'>,
  id: string,
): Promise<{ batch: string; openJob: string | null } | undefined> {
  return (await home.query<{ batch: string; openJob: string | null }>(hidden, [id])).rows[0]
}

// First the execution, then the documents: the order of a purchase.
const lock = `select from classifier.run where id = $1 for update`
const removePurchases = `
  delete from classifier.purchase
  where document_id = any (array(select id from classifier.document where run_id = $1))`
const removeQuestions = `
  delete from classifier.question
  where document_id = any (array(select id from classifier.document where run_id = $1))`
const removeDocuments = `delete from classifier.document where run_id = $1`
const removeRun = `
  delete from classifier.run where id = $1 and deleted_at is not null returning project_id::text as project`

/** Removes the last rows of an execution, after the batch is gone. */
export function removeHiddenRun(home: Pick<Home, 'transaction'>, id: string): Promise<void> {
  return home.transaction(async tx => {
    await tx.query(lock, [id])
    await tx.query(removePurchases, [id])
    await tx.query(removeQuestions, [id])
    await tx.query(removeDocuments, [id])
    const [gone] = (await tx.query<{ project: string }>(removeRun, [id])).rows
    if (gone !== undefined) await removeHidden(tx, gone.project)
  })
}

// Follows the batch: the janitor prunes the batch after its retention.
const hideOld = `
  update classifier.run r
  set deleted_at = coalesce($1::timestamptz, now())
  where r.batch_id is not null and r.deleted_at is null
    and (select b.cascade is distinct from 'prune' from retoma.batch b where b.id = r.batch_id) is not true`

const allHidden = `
  select r.id::text as id from classifier.run r
  where r.deleted_at is not null
  order by r.id
  limit 100`

/** Hides executions with a pruned batch. Returns up to 100 hidden executions that still exist. */
export async function hideOldRuns(home: Home): Promise<string[]> {
  await home.query(hideOld, [clockOf(home).instant()])
  return (await home.query<{ id: string }>(allHidden)).rows.map(row => row.id)
}
