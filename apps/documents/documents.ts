/**
 * Creates, reprocesses and erases documents.
 *
 * Invariant: a document answered with 202 is processed. The file is stored first; the row, its job and the owner of the file are written in
 * one transaction, so that a crash leaves either the whole document, or a file without an owner, which the janitor removes. Erasing first
 * hides the row and then removes the job with its files: after a crash in between, the next tidy job finds the rest.
 */
import {
  defineJob,
  defineSchedule,
  type Engine,
  type Guard,
  hours,
  type JobTransaction,
  minutes,
  RetomaError,
  type Schedule,
} from 'retoma'
import { clockOf, forgetResponses } from 'retoma/http'
import { newId } from './document-id.ts'
import { eraseJob } from './erase-job.ts'
import { errors } from './errors.ts'
import { type DocumentJob, queue } from './jobs.ts'
import type { Status } from './status.ts'
import {
  giveToJob,
  hideDocument,
  hideOldDocuments,
  insertDocument,
  lockDocument,
  type NewDocument,
  readHidden,
  removeHidden,
} from './store/documents.ts'
import { followEndedJobs } from './store/processing.ts'

export interface Documents {
  job: DocumentJob
  /** Marks documents that stay in PROCESSING. */
  guard: Guard
  schedules: readonly Schedule[]
}

export function createDocuments(job: DocumentJob, guard: Guard, engine: () => Engine): Documents {
  const caring = { internal: true, queue, timeout: minutes(10) } as const
  const followJob = defineJob({
    ...caring,
    kind: 'follow_document_jobs',
    run: async () => ({ marked: await followJobs(engine()) }),
  })
  const tidyJob = defineJob({ ...caring, kind: 'tidy_documents', run: () => tidyDocuments(engine()) })
  const once = (name: string) => ({ input: undefined, catchUp: 'once', options: { key: name, priority: 0 } }) as const
  return {
    job,
    guard,
    schedules: [
      defineSchedule({
        name: 'follow_document_jobs',
        every: minutes(5),
        job: followJob,
        ...once('follow_document_jobs'),
      }),
      defineSchedule({ name: 'tidy_documents', every: hours(1), job: tidyJob, ...once('tidy_documents') }),
    ],
  }
}

export interface MadeDocument {
  id: string
  status: Status
  /** The first document of this user with the same bytes; null: there is none. */
  duplicateOf: string | null
}

export async function makeDocument(
  engine: Engine,
  tx: JobTransaction,
  { job }: Documents,
  given: Omit<NewDocument, 'id' | 'job'>,
): Promise<MadeDocument> {
  const id = newId(clockOf(engine).now())
  const { id: made } = await engine.enqueue(job, { document: id }, { tx })
  const duplicateOf = await insertDocument(engine, tx, { ...given, id, job: made })
  await engine.files.keep([given.file], { job: made, tx })
  return { id, status: 'PENDING', duplicateOf }
}

/**
 * Processes a document again. A document that waits or is being processed stays as it is. undefined: the owner has no such document.
 */
export async function reprocess(
  engine: Engine,
  { job }: Documents,
  id: string,
  owner: string | null,
): Promise<{ status: Status } | undefined> {
  const outcome = await engine.transaction(async tx => {
    const found = await lockDocument(tx, id, owner)
    if (found === undefined) return undefined
    if (found.status === 'PENDING' || found.status === 'PROCESSING') return { status: found.status, before: null }
    const { id: made } = await engine.enqueue(job, { document: id, replaces: found.job }, { tx })
    await giveToJob(engine, tx, id, made)
    const files = [found.file, ...(found.thumbnail === null ? [] : [found.thumbnail])]
    await engine.files.keep(files, { job: made, tx })
    return { status: 'PENDING' as const, before: found.job }
  })
  if (outcome === undefined) return undefined
  // If this call is lost, the new job erases the old job.
  if (outcome.before !== null) await eraseJob(engine, outcome.before).catch(() => {})
  return { status: outcome.status }
}

/** Erases a document with its job, steps, failures, events and files. false: the owner has no such document. */
export async function eraseDocument(engine: Engine, id: string, owner: string | null): Promise<boolean> {
  const hidden = await hideDocument(engine, id, owner)
  if (hidden === undefined) return false
  await finishErasing(engine, { id, ...hidden })
  return true
}

async function finishErasing(engine: Engine, { id, job }: { id: string; job: string }): Promise<void> {
  const replaced = ((await engine.job(job))?.input as { replaces?: string } | null | undefined)?.replaces
  if (replaced !== undefined) await eraseJob(engine, replaced)
  await eraseJob(engine, job)
  // Before the last row goes: after the row is gone, no process would repeat this call.
  await forgetResponses(engine, 'post /api/documents', id)
  await removeHidden(engine, id)
}

/** Marks the documents FAILED whose job ended without its handler: cancelled by a person, or failed by the watchdog of the engine. */
const followJobs = (engine: Engine): Promise<number> =>
  followEndedJobs(engine, new RetomaError(errors.document_job_ended, {}).in('pt'))

/** Erases the rest: of erasures that a crash interrupted, and of documents whose job the janitor has removed. */
async function tidyDocuments(engine: Engine): Promise<void> {
  while ((await hideOldDocuments(engine)) > 0);
  for (const hidden of await readHidden(engine)) await finishErasing(engine, hidden)
}
