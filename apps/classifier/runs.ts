/**
 * Creates, submits and erases executions.
 *
 * Invariant: an execution answered with 201 is submitted, once. The rows and the job that submits the execution are written in a single
 * transaction; a request for an execution without a batch submits the execution first; and the batch has a unique key, so ten concurrent
 * submits create a single batch. Erasing first hides the execution and then removes the batch and the job before the rows with the
 * references: after a crash in between, the next tidy job finds the rest.
 */
import { createHash } from 'node:crypto'
import {
  type Batch,
  type BatchState,
  defineJob,
  defineSchedule,
  type Engine,
  hours,
  isRetomaError,
  type Job,
  type JobTransaction,
  localized,
  minutes,
  RetomaError,
  type Schedule,
  seconds,
} from 'retoma'
import { forgetResponses, type Webhook } from 'retoma/http'
import { z } from 'zod'
import { errors } from './errors.ts'
import { chooseExamples, type Example } from './prompt.ts'
import { sampleOf } from './sample.ts'
import { type ProjectRow, readProject } from './store/projects.ts'
import { type Choice, insertAgain, lockDocuments, lockSource } from './store/reruns.ts'
import { readCorrections } from './store/reviews.ts'
import {
  hideOldRuns,
  hideRun,
  insertRun,
  insertSent,
  type NewDocument,
  type NewRun,
  noteModel,
  noteOpenJob,
  noteSubmitted,
  readHidden,
  readSettings,
  readUnsubmitted,
  removeHiddenRun,
  type Settings,
  showRun,
} from './store/runs.ts'

export interface RunOptions {
  classification: Batch<{ document: string }>
  /** The model for projects without a model. */
  model: string | undefined
  /** No key: the answers are simulated. */
  isSimulated: boolean
  /** Questions allowed to the AI in a minute; undefined: no limit. */
  requestsPerMinute?: number | undefined
}

export interface Runs extends RunOptions {
  /** Submits an execution that the creating process could not submit. */
  readonly openRun: Job<{ run: string }>
  /** Removes the rest of erased executions. */
  readonly tidy: Schedule
  /** The engine that runs these jobs. */
  attach(engine: Engine): void
}

/** A document as it was sent. */
export type Sent = Omit<NewDocument, 'duplicateOf' | 'sampled'>

export interface Asked {
  project: string
  reuse: boolean
  documents: readonly Sent[]
  by: string
  /** 0 (first) to 9; default 4. */
  priority?: number | undefined
  webhook: Webhook | null
  /** The number of documents to classify, chosen evenly; null: all. */
  sample: number | null
  /** The choice of pages; null: all pages; undefined: the choice of the project. */
  pages: string | null | undefined
}

const defaultPriority = 4

export function createRuns(options: RunOptions): Runs {
  let home: Engine | undefined
  const engine = () => {
    if (home === undefined) throw new Error('the classifier has no engine yet')
    return home
  }
  const openRun = defineJob({
    kind: 'open-execution',
    internal: true,
    queue: options.classification.job.queue,
    input: z.object({ run: z.string() }),
    maxAttempts: 1000,
    backoff: { first: seconds(5), factor: 2, max: minutes(5), jitter: 0.1 },
    timeout: minutes(5),
    run: (_, { run }) => submitRun(engine(), options.classification, run),
  })
  const tidyRuns = defineJob({
    kind: 'tidy-executions',
    internal: true,
    queue: options.classification.job.queue,
    timeout: minutes(30),
    run: async () => {
      for (const run of await hideOldRuns(engine())) await finishErasing(engine(), run)
    },
  })
  return {
    ...options,
    openRun,
    tidy: defineSchedule({ name: 'tidy-executions', every: hours(1), job: tidyRuns, input: undefined }),
    attach: given => {
      home = given
    },
  }
}

/** The creating process submits the execution at once; this job matters only if the process died before. */
const openAfter = seconds(10)

/** Returns the id. Throws not_found for the project. */
export async function makeRun(engine: Engine, tx: JobTransaction, runs: Runs, asked: Asked): Promise<string> {
  const project = await readProject(tx, asked.project)
  if (project === undefined) throw noProject(asked.project)
  const { name, categories, instructions, costLimitUsd, several } = project
  const settings: Settings = {
    name,
    categories,
    instructions,
    model: project.model ?? runs.model ?? null,
    cost_limit_usd: costLimitUsd,
    priority: asked.priority ?? defaultPriority,
    several,
    pages: asked.pages === undefined ? project.pages : asked.pages,
    ...beyondQuestion(project),
    examples: await examplesFor(tx, project, categories),
  }
  const { reuse, by: createdBy } = asked
  const documents = withSample(withDuplicates(asked.documents), asked.sample)
  const files = documents.flatMap(({ file }) => (file === null ? [] : [file]))
  const run = {
    project: project.id,
    settings,
    settingsHash: hashOf(settings, runs),
    reuse,
    createdBy,
    source: null,
    webhook: asked.webhook,
  }
  return openedRun(engine, tx, runs, run, {
    total: documents.length,
    files,
    insert: made => insertSent(tx, made, documents),
  })
}

/** The settings of a project that count for an execution that runs documents again, too: a person changes them for the next execution. */
const beyondQuestion = ({ maxResumes, maxRetries, weight, reviewBelow, ocr, ocrPages }: ProjectRow) => ({
  max_resumes: maxResumes,
  max_retries: maxRetries,
  weight,
  review_below: reviewBelow,
  ocr_pages: ocr ? ocrPages : 0,
})

/** The latest corrections of the project, at most as many as the project says, and as even over the categories as possible. */
export async function examplesFor(
  tx: Pick<JobTransaction, 'query'>,
  project: ProjectRow,
  categories: readonly string[],
): Promise<Example[]> {
  if (project.examples === 0) return []
  const corrections = await readCorrections(tx, project.id, categories)
  // A correction may have further categories that this execution does not have.
  const known = corrections.map(each => ({
    ...each,
    labels: each.labels?.filter(label => categories.includes(label)) ?? null,
  }))
  return chooseExamples(known, project.examples)
}

/** Inserts the execution, the documents and the job that submits the execution; the job keeps the files until the batch does. */
async function openedRun(
  engine: Engine,
  tx: JobTransaction,
  runs: Runs,
  run: NewRun,
  documents: { total: number; files: readonly string[]; insert(run: string): Promise<void> },
): Promise<string> {
  const made = await insertRun(engine, tx, run, documents.total)
  if (made === undefined) throw noProject(run.project)
  await documents.insert(made)
  const { id: job } = await engine.enqueue(runs.openRun, { run: made }, { tx, priority: 0, delay: openAfter })
  await noteOpenJob(tx, made, job)
  if (documents.files.length > 0) await engine.files.keep(documents.files, { job, tx })
  return made
}

/** Changes of the settings for an execution that runs documents again; an absent field keeps the setting. */
export type SettingsChange = Partial<
  Pick<Settings, 'categories' | 'instructions' | 'model' | 'cost_limit_usd' | 'priority' | 'pages'>
>

/**
 * Makes an execution of documents that another execution has. The files are shared, not copied: each execution has files of its own with
 * the same bytes, so that the bytes stay until the last of the executions is erased. Throws not_found for an execution that is erased
 * meanwhile, and `no_documents_chosen`.
 */
export async function remakeRun(
  engine: Engine,
  tx: JobTransaction,
  runs: Runs,
  asked: {
    source: string
    choice: Choice
    change: SettingsChange
    reuse: boolean
    by: string
    webhook: Webhook | null
    sample: number | null
  },
): Promise<{ id: string; total: number }> {
  const source = await lockSource(tx, asked.source)
  if (source === undefined) throw noExecution(asked.source)
  const chosen = await lockDocuments(tx, asked.source, asked.choice)
  if (chosen.length === 0) throw new RetomaError(errors.no_documents_chosen, { id: asked.source })
  const project = await readProject(tx, source.project)
  if (project === undefined) throw noProject(source.project)
  const kept = { ...source.settings, ...beyondQuestion(project), ...asked.change }
  const settings: Settings = { ...kept, examples: await examplesFor(tx, project, kept.categories) }
  const documents = withSample(withDuplicates(chosen), asked.sample)
  const originals = documents.flatMap(({ file }) => (file === null ? [] : [file]))
  const shared = originals.length === 0 ? [] : await engine.files.share(originals, { tx })
  const fileOf = new Map(originals.map((original, n) => [original, shared[n]!]))
  const id = await openedRun(
    engine,
    tx,
    runs,
    {
      project: source.project,
      settings,
      settingsHash: hashOf(settings, runs),
      reuse: asked.reuse,
      createdBy: asked.by,
      source: asked.source,
      webhook: asked.webhook,
    },
    {
      total: documents.length,
      files: shared,
      insert: made =>
        insertAgain(
          tx,
          made,
          documents.map(each => ({ ...each, file: each.file === null ? null : fileOf.get(each.file)! })),
        ),
    },
  )
  return { id, total: documents.length }
}

export const noExecution = (id: string) =>
  new RetomaError('not_found', { what: localized('execution', 'execução'), id })

export const noProject = (id: string) => new RetomaError('not_found', { what: localized('project', 'projeto'), id })

/** Sets another model for the unfinished documents of an execution. */
export async function changeModel(
  engine: Engine,
  runs: Runs,
  id: string,
  change: { model: string; by: string; from: readonly BatchState[] },
): Promise<void> {
  const settings = await readSettings(engine, id)
  if (settings === undefined) return
  const settingsHash = hashOf({ ...settings, model: change.model }, runs)
  await noteModel(engine, id, { ...change, settingsHash })
}

const hashOf = (
  { categories, instructions, model, several, examples, ocr_pages: ocrPages, pages }: Settings,
  { isSimulated }: Runs,
) => digest([categories, instructions, model, isSimulated, several, examples, ocrPages, pages])

/** Hashes the settings that determine an answer. */
const digest = (of: readonly unknown[]) => createHash('sha256').update(JSON.stringify(of)).digest()

/** Documents with the same bytes, except the first, name the first. */
function withDuplicates<T extends { code: string; hash: Uint8Array }>(
  documents: readonly T[],
): (T & { duplicateOf: string | null })[] {
  const first = new Map<string, string>()
  return documents.map(each => {
    const hash = Buffer.from(each.hash).toString('hex')
    const duplicateOf = first.get(hash) ?? null
    if (duplicateOf === null) first.set(hash, each.code)
    return { ...each, duplicateOf }
  })
}

function withSample<T>(documents: readonly T[], size: number | null): (T & { sampled: boolean })[] {
  const sampled = sampleOf(documents.length, size)
  return documents.map((each, n) => ({ ...each, sampled: sampled[n]! }))
}

/** Does nothing if the execution has a batch or is erased. */
export async function submitRun(engine: Engine, classification: RunOptions['classification'], id: string) {
  const found = await readUnsubmitted(engine, id)
  if (found === undefined) return
  const { documents, maxResumes, maxRetries, priority, weight } = found
  const submitting = engine.submit(
    classification,
    documents.map(each => ({ document: each.id })),
    {
      key: `execution-${id}`,
      ref: (_, index) => documents[index]!.code,
      maxResumes,
      about: { label: localized(`execution ${id}`, `execução ${id}`), path: `/execucoes/${id}/status-detalhado` },
      items: { maxAttempts: maxRetries + 1 },
      priority,
      weight,
    },
  )
  const batch = await submitting.then(made => made.id, endedMeanwhile)
  await noteSubmitted(engine, id, batch, (tx, files) => engine.files.keep(files, { batch, tx }))
}

/** A person ended the batch during the submit: the execution keeps this batch. */
function endedMeanwhile(error: unknown): string {
  if (isRetomaError(error, 'batch_cancelled') || isRetomaError(error, 'batch_state')) return String(error.facts.id)
  throw error
}

/** Erases rows, purchases, checkpoints, failures, events and files. false: there is no such execution in a final state. */
export async function eraseRun(engine: Engine, id: string): Promise<boolean> {
  const hidden = await engine.transaction(tx => hideRun(engine, tx, id))
  if (hidden === undefined && (await readHidden(engine, id)) === undefined) return false
  try {
    await finishErasing(engine, id)
    return true
  } catch (error) {
    if (!isRetomaError(error, 'batch_state')) throw error
    // A person continued the execution at the same moment.
    await showRun(engine, id)
    return false
  }
}

async function finishErasing(engine: Engine, id: string): Promise<void> {
  const hidden = await readHidden(engine, id)
  if (hidden !== undefined) {
    await engine.batches.erase(hidden.batch)
    // Before the last row goes: after the row is gone, no process would repeat this call.
    await forgetResponses(engine, 'post /execucoes', id)
    await forgetResponses(engine, 'post /execucoes/{id}/nova', id)
    if (hidden.openJob !== null) await eraseOpenJob(engine, hidden.openJob)
  }
  await removeHiddenRun(engine, id)
}

/** An open job with nothing left to submit need not start. */
async function eraseOpenJob(engine: Engine, job: string): Promise<void> {
  try {
    await engine.jobs.erase(job)
  } catch (error) {
    if (!isRetomaError(error, 'wrong_state')) throw error
    await engine.jobs.cancel(job).catch(unlessOver)
    await engine.jobs.erase(job)
  }
}

function unlessOver(error: unknown): void {
  if (!isRetomaError(error, 'not_found') && !isRetomaError(error, 'wrong_state')) throw error
}
