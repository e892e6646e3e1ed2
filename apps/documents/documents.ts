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
  type Schedule,
} from 'retoma'
import { clockOf, forgetResponses } from 'retoma/http'
import { firstId, newId } from './document-id.ts'
import { eraseJob } from './erase-job.ts'
import { reasonOfJob } from './job-reason.ts'
import { type DocumentJob, queue } from './jobs.ts'
import type { Status } from './status.ts'
import {
  giveToJob,
  hideDocument,
  hideOldDocuments,
  insertDocument,
  isJobOpen,
  lockDocument,
  type NewDocument,
  readHidden,
  readReplaced,
  removeHidden,
} from './store/documents.ts'
import { followJobStates } from './store/processing.ts'

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
    // The result counts documents of all users.
    private: true,
    run: async () => ({ marked: await followJobStates(engine(), reasonOfJob) }),
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
 * Processes a document again. A document that waits or is being processed stays as it is, unless its job has ended without the document.
 * `replaced`: the earlier job, for `eraseJob` after the transaction; if that call is lost, the new job erases the earlier job.
 * undefined: the owner has no such document.
 */
export async function reprocess(
  engine: Engine,
  tx: JobTransaction,
  { job }: Documents,
  { id, owner }: { id: string; owner: string | null },
): Promise<{ status: Status; replaced: string | null } | undefined> {
  const found = await lockDocument(tx, id, owner)
  if (found === undefined) return undefined
  const isOpen = found.status === 'PENDING' || found.status === 'PROCESSING'
  if (isOpen && (await isJobOpen(tx, found.job))) return { status: found.status, replaced: null }
  // An earlier job may still name jobs that it did not erase, because it was cancelled before it ran.
  const replaces = [found.job, ...(await readReplaced(tx, found.job))]
  const { id: made } = await engine.enqueue(job, { document: id, replaces }, { tx })
  await giveToJob(engine, tx, id, made)
  const files = [found.file, ...(found.thumbnail === null ? [] : [found.thumbnail])]
  await engine.files.keep(files, { job: made, tx })
  return { status: 'PENDING', replaced: found.job }
}

/** Erases a document with its job, steps, failures, events and files. false: the owner has no such document. */
export async function eraseDocument(engine: Engine, id: string, owner: string | null): Promise<boolean> {
  const hidden = await hideDocument(engine, id, owner)
  if (hidden === undefined) return false
  await finishErasing(engine, { id, ...hidden })
  return true
}

async function finishErasing(engine: Engine, { id, job }: { id: string; job: string }): Promise<void> {
  for (const replaced of await readReplaced(engine, job)) await eraseJob(engine, replaced)
  await eraseJob(engine, job)
  // Before the last row goes: after the row is gone, no process would repeat this call.
  for (const route of ['post /api/documents', 'post /api/documents/{id}/reprocess'])
    await forgetResponses(engine, route, id)
  await removeHidden(engine, id)
}

/**
 * Erases the rest: of erasures that a crash interrupted, and of documents whose job the janitor has removed. A document that cannot be
 * erased does not hold up the others; the job then fails, so that a person sees the reason, and the next hour tries again.
 */
async function tidyDocuments(engine: Engine): Promise<void> {
  for (let last: string | null = firstId; last !== null; ) last = await hideOldDocuments(engine, last)
  let problem: { thrown: unknown } | undefined
  for (let last: string | undefined = firstId; last !== undefined; ) {
    const page: { id: string; job: string }[] = await readHidden(engine, last)
    for (const hidden of page)
      await finishErasing(engine, hidden).catch(thrown => {
        problem ??= { thrown }
      })
    last = page.at(-1)?.id
  }
  if (problem !== undefined) throw problem.thrown
}
