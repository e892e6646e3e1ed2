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
import { forgetResponses } from 'retoma/http'
import { z } from 'zod'
import { readProject } from './store/projects.ts'
import {
  hideOldRuns,
  hideRun,
  insertRun,
  type NewDocument,
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
export type Sent = Omit<NewDocument, 'duplicateOf'>

export interface Asked {
  project: string
  reuse: boolean
  documents: readonly Sent[]
  by: string
  /** 0 (first) to 9; default 4. */
  priority?: number | undefined
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
  const { name, categories, instructions, maxResumes, maxRetries, costLimitUsd, weight } = project
  const model = project.model ?? runs.model ?? null
  const settings: Settings = {
    name,
    categories,
    instructions,
    model,
    max_resumes: maxResumes,
    max_retries: maxRetries,
    cost_limit_usd: costLimitUsd,
    priority: asked.priority ?? defaultPriority,
    weight,
  }
  const { reuse, by: createdBy } = asked
  const settingsHash = hashOf(settings, runs)
  const run = { project: project.id, settings, settingsHash, reuse, createdBy }
  const made = await insertRun(engine, tx, run, withDuplicates(asked.documents))
  if (made === undefined) throw noProject(asked.project)
  const { id: job } = await engine.enqueue(runs.openRun, { run: made }, { tx, priority: 0, delay: openAfter })
  await noteOpenJob(tx, made, job)
  const files = asked.documents.flatMap(({ file }) => (file === null ? [] : [file]))
  if (files.length > 0) await engine.files.keep(files, { job, tx })
  return made
}

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

const hashOf = ({ categories, instructions, model }: Settings, { isSimulated }: Runs) =>
  digest([categories, instructions, model, isSimulated])

/** Hashes the settings that determine an answer. */
const digest = (of: readonly unknown[]) => createHash('sha256').update(JSON.stringify(of)).digest()

/** Documents with the same bytes, except the first, name the first. */
function withDuplicates(documents: readonly Sent[]): NewDocument[] {
  const first = new Map<string, string>()
  return documents.map(each => {
    const hash = Buffer.from(each.hash).toString('hex')
    const duplicateOf = first.get(hash) ?? null
    if (duplicateOf === null) first.set(hash, each.code)
    return { ...each, duplicateOf }
  })
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
