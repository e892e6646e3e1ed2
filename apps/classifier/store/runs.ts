/**
 * Executions: made with their documents in one transaction, given a batch, pressed, erased. How one fares is read from the view
 * (store/executions.ts).
 *
 * Invariant: an execution is there with all its documents or not at all, with a job that submits it; and it is removed only
 * after its batch is.
 */
import type { BatchState, Engine, JobTransaction } from 'retoma'
import type { Status } from '../status.ts'
import { removeHidden } from './projects.ts'

type Home = Pick<Engine, 'query' | 'transaction' | 'clock'>

/** The project as it was when the execution was made. Money is a text. */
export interface Settings {
  name: string
  categories: readonly string[]
  instructions: string
  model: string | null
  max_resumes: number
  max_retries: number
  cost_limit_usd: string | null
}

export interface NewRun {
  project: string
  settings: Settings
  settingsHash: Uint8Array
  reuse: boolean
  createdBy: string
}

/** One of `file` and `text` is null. */
export interface NewDocument {
  code: string
  file: string | null
  text: string | null
  hash: Uint8Array
  duplicateOf: string | null
}

// The project is locked, so that it is not removed meanwhile.
const insert = `
  with project as (
    select id from retoma.classifier_project where id = $1 and deleted_at is null for key share
  )
  insert into retoma.classifier_run
    (project_id, settings, settings_hash, total, reuse, cost_allowed_usd, created_by, created_at)
  select id, $2::jsonb, $3, $4, $5, ($2::jsonb ->> 'cost_limit_usd')::numeric, $6, coalesce($7::timestamptz, now())
  from project
  returning id::text as id`

const insertDocuments = `
  insert into retoma.classifier_document (run_id, n, code, file_id, text, hash, duplicate_of)
  select $1, $2 + t.n, t.code, t.file_id, t.text, t.hash, t.duplicate_of
  from unnest($3::text[], $4::bigint[], $5::text[], $6::bytea[], $7::text[])
    with ordinality as t (code, file_id, text, hash, duplicate_of, n)`

const chunk = 500

/** Its id; undefined: there is no such project. */
export async function insertRun(
  { clock }: Home,
  tx: JobTransaction,
  run: NewRun,
  documents: readonly NewDocument[],
): Promise<string | undefined> {
  const now = clock.instant()
  const settings = JSON.stringify(run.settings)
  const values = [run.project, settings, run.settingsHash, documents.length, run.reuse, run.createdBy, now]
  const [made] = (await tx.query<{ id: string }>(insert, values)).rows
  if (made === undefined) return undefined
  for (let from = 0; from < documents.length; from += chunk) {
    const some = documents.slice(from, from + chunk)
    const column = <K extends keyof NewDocument>(name: K) => some.map(each => each[name])
    const columns = [column('code'), column('file'), column('text'), column('hash'), column('duplicateOf')]
    await tx.query(insertDocuments, [made.id, from, ...columns])
  }
  return made.id
}

const noteJob = `update retoma.classifier_run set open_job = $2 where id = $1`

/** Which job submits it. */
export async function noteOpenJob(tx: JobTransaction, id: string, job: string): Promise<void> {
  await tx.query(noteJob, [id, job])
}

/** What it takes to submit one. */
export interface Unsubmitted {
  maxResumes: number
  maxRetries: number
  reuse: boolean
  /** `hash` in hex. */
  documents: { id: string; code: string; hash: string }[]
}

const unsubmitted = `
  select reuse, (settings ->> 'max_resumes')::int as "maxResumes", (settings ->> 'max_retries')::int as "maxRetries"
  from retoma.classifier_run
  where id = $1 and batch_id is null and deleted_at is null`

const documentsOf = `
  select id::text as id, code, encode(hash, 'hex') as hash from retoma.classifier_document where run_id = $1 order by n`

/** undefined: it is submitted already, or gone. */
export async function readUnsubmitted(home: Pick<Home, 'query'>, id: string): Promise<Unsubmitted | undefined> {
  const [run] = (await home.query<Omit<Unsubmitted, 'documents'>>(unsubmitted, [id])).rows
  if (run === undefined) return undefined
  return { ...run, documents: (await home.query<Unsubmitted['documents'][number]>(documentsOf, [id])).rows }
}

const noteBatch = `update retoma.classifier_run set batch_id = $2 where id = $1 and batch_id is null`

// By the ranges in which its jobs were made, because a batch's jobs have no index of their own.
const noteJobs = `
  update retoma.classifier_document d
  set job_id = j.id
  from retoma.batch_chunk c
    join retoma.job j on j.id between c.first_id and c.last_id and j.batch_id = c.batch_id
  where c.batch_id = $2 and d.run_id = $1 and d.code = any (array[j.ref]) and d.job_id is null`

const filesOf = `
  select file_id::text as id from retoma.classifier_document where run_id = $1 and file_id is not null order by n`

/** Whose batch it is, and which job each document has; `keep` is told its files. */
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

// Of what stands in one of those states.
const goesOn = `
  update retoma.classifier_run r
  set started = true
  from retoma.execucoes_classificacao e
  where r.id = $1 and e.id = $1 and e.status = any ($2::text[]) and not r.started`

/** A person is about to have it go on. Said before it is pressed: what stands stands as it is until then. */
export async function noteStarted(home: Pick<Home, 'query'>, id: string, from: readonly Status[]): Promise<void> {
  await home.query(goesOn, [id, from])
}

// Once for each time that the limit was reached: when it is raised, the cost is below it again, however far beyond it had come, and
// the document that did not fit fits.
const allowMore = `
  update retoma.classifier_run r
  set cost_allowed_usd = r.cost_allowed_usd + l.usd * greatest(1, ceil((r.cost_needed_usd - r.cost_allowed_usd) / l.usd),
    case when r.cost_usd >= r.cost_allowed_usd then floor((r.cost_usd - r.cost_allowed_usd) / l.usd) + 1 end)
  from retoma.batch b
    cross join lateral (
      select (settings ->> 'cost_limit_usd')::numeric as usd from retoma.classifier_run where id = $1
    ) l
  where r.id = $1 and b.id = any (array[r.batch_id]) and b.state = 'paused' and b.reason ->> 'code' = 'cost_limit'
    and (r.cost_usd >= r.cost_allowed_usd or r.cost_needed_usd > r.cost_allowed_usd)`

/** Of one that its cost limit paused: it may cost as much again. Pressed twice, or by ten at once, is pressed once. */
export async function allowAgain(home: Pick<Home, 'query'>, id: string): Promise<void> {
  await home.query(allowMore, [id])
}

const settingsOf = `
  select r.settings from retoma.classifier_run r where r.id = $1 and r.deleted_at is null`

/** undefined: it is gone. */
export async function readSettings(home: Pick<Home, 'query'>, id: string): Promise<Settings | undefined> {
  return (await home.query<{ settings: Settings }>(settingsOf, [id])).rows[0]?.settings
}

// With the event that says who changed it from what to what. Changed twice to the same is changed once. What the new model costs
// nobody knows yet.
const changeModel = `
  with before as materialized (
    select r.id, r.batch_id, r.settings ->> 'model' as model
    from retoma.classifier_run r join retoma.batch b on b.id = any (array[r.batch_id])
    where r.id = $1 and r.deleted_at is null and b.state = any ($2::text[]) and r.settings ->> 'model' is distinct from $3::text
    for update of r
  ), changed as (
    update retoma.classifier_run r
    set settings = jsonb_set(r.settings, '{model}', to_jsonb($3::text)), settings_hash = $4, cost_expected_usd = null
    from before
    where r.id = any (array[before.id])
  )
  insert into retoma.event (at, type, batch_id, data)
  select coalesce($6::timestamptz, now()), 'action', before.batch_id,
    jsonb_build_object('who', $5::text, 'what', 'change model', 'model', $3::text, 'model_before', before.model)
  from before`

/** From here on its documents ask this model. Nothing changes for one whose batch is in none of those states. */
export async function noteModel(
  { query, clock }: Pick<Home, 'query' | 'clock'>,
  id: string,
  {
    model,
    settingsHash,
    by,
    from,
  }: { model: string; settingsHash: Uint8Array; by: string; from: readonly BatchState[] },
): Promise<void> {
  await query(changeModel, [id, from, model, settingsHash, by, clock.instant()])
}

const hide = `
  update retoma.classifier_run r
  set deleted_at = coalesce($2::timestamptz, now())
  from retoma.batch b
  where r.id = $1 and b.id = any (array[r.batch_id]) and b.state in ('succeeded', 'failed', 'cancelled') and r.deleted_at is null
  returning r.batch_id::text as batch`

/** From here on it is gone for everybody. Its batch; undefined: it is not final, or gone already. */
export async function hideRun({ clock }: Home, tx: JobTransaction, id: string): Promise<string | undefined> {
  return (await tx.query<{ batch: string }>(hide, [id, clock.instant()])).rows[0]?.batch
}

const show = `update retoma.classifier_run set deleted_at = null where id = $1`

/** It went on in the very moment it was to be erased. */
export async function showRun(home: Pick<Home, 'query'>, id: string): Promise<void> {
  await home.query(show, [id])
}

const hidden = `
  select batch_id::text as batch, open_job::text as "openJob"
  from retoma.classifier_run
  where id = $1 and deleted_at is not null`

/** Of one that is being erased its batch, and the job that submits it. */
export async function readHidden(
  home: Pick<Home, 'query'>,
  id: string,
): Promise<{ batch: string; openJob: string | null } | undefined> {
  return (await home.query<{ batch: string; openJob: string | null }>(hidden, [id])).rows[0]
}

// First, as whoever buys has it: the execution before its documents.
const lock = `select from retoma.classifier_run where id = $1 for update`
const removePurchases = `
  delete from retoma.classifier_purchase
  where document_id = any (array(select id from retoma.classifier_document where run_id = $1))`
const removeDocuments = `delete from retoma.classifier_document where run_id = $1`
const removeRun = `
  delete from retoma.classifier_run where id = $1 and deleted_at is not null returning project_id::text as project`

/** The last of what there is to remove, once its batch is gone. */
export function removeHiddenRun(home: Pick<Home, 'transaction'>, id: string): Promise<void> {
  return home.transaction(async tx => {
    await tx.query(lock, [id])
    await tx.query(removePurchases, [id])
    await tx.query(removeDocuments, [id])
    const [gone] = (await tx.query<{ project: string }>(removeRun, [id])).rows
    if (gone !== undefined) await removeHidden(tx, gone.project)
  })
}

// With their batch, which the janitor took when its time was over.
const hideOld = `
  update retoma.classifier_run r
  set deleted_at = coalesce($1::timestamptz, now())
  where r.batch_id is not null and r.deleted_at is null
    and (select b.todo is distinct from 'prune' from retoma.batch b where b.id = r.batch_id) is not true`

const allHidden = `
  select r.id::text as id from retoma.classifier_run r
  where r.deleted_at is not null
  order by r.id
  limit 100`

/** Those whose batch is gone are hidden; all that are hidden and still there, a hundred at a time. */
export async function hideOldRuns({ query, clock }: Home): Promise<string[]> {
  await query(hideOld, [clock.instant()])
  return (await query<{ id: string }>(allHidden)).rows.map(row => row.id)
}
