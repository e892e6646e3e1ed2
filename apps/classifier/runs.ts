/**
 * An execution from its documents to its batch, and its end: made, submitted, erased.
 *
 * Invariant: what was answered 201 is submitted, once. Its rows and the job that submits it are one transaction; whoever asks
 * for one that is not submitted yet does it first; and the batch has a key of its own, so that ten who do it at once do it
 * once. Erased is first hidden and then removed, the batch and the job before the rows that name them: whatever dies in between, the next
 * one to tidy up finds what is left.
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
  minutes,
  RetomaError,
  type Schedule,
  say,
  seconds,
} from 'retoma'
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
  /** For projects that name none. */
  model: string | undefined
  /** No key: what is answered is played. */
  isSimulated: boolean
  /** Questions that the AI may be asked in a minute; undefined: as many as there are. */
  requestsPerMinute?: number | undefined
}

export interface Runs extends RunOptions {
  /** Submits an execution that whoever made it could not. */
  readonly openRun: Job<{ run: string }>
  /** Removes what is left of executions that are gone. */
  readonly tidy: Schedule
  /** The engine that those jobs run on. */
  attach(engine: Engine): void
}

/** A document as it was sent. */
export type Sent = Omit<NewDocument, 'duplicateOf'>

export interface Asked {
  project: string
  reuse: boolean
  documents: readonly Sent[]
  by: string
}

export function createRuns(options: RunOptions): Runs {
  let home: Engine | undefined
  const engine = () => {
    if (home === undefined) throw new Error('the classifier was not told its engine')
    return home
  }
  const openRun = defineJob({
    kind: 'open-execution',
    internal: true,
    queue: options.classification.job.queue,
    input: z.object({ run: z.string() }),
    attempts: 1000,
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

/** Nobody waits for this job unless whoever made the execution died: it does that at once. */
const openAfter = seconds(10)

/** Its id. Throws not_found for its project. */
export async function makeRun(engine: Engine, tx: JobTransaction, runs: Runs, asked: Asked): Promise<string> {
  const project = await readProject(tx, asked.project)
  if (project === undefined) throw noProject(asked.project)
  const { name, categories, instructions, maxResumes, maxRetries, costLimitUsd } = project
  const model = project.model ?? runs.model ?? null
  const settings: Settings = {
    name,
    categories,
    instructions,
    model,
    max_resumes: maxResumes,
    max_retries: maxRetries,
    cost_limit_usd: costLimitUsd,
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

export const noProject = (id: string) => new RetomaError('not_found', { what: say('project', 'projeto'), id })

/** Documents of an execution that are not done ask another model from here on. */
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

/** What an answer depends on. */
const digest = (of: readonly unknown[]) => createHash('sha256').update(JSON.stringify(of)).digest()

/** Of those with the same bytes, all but the first name the first. */
function withDuplicates(documents: readonly Sent[]): NewDocument[] {
  const first = new Map<string, string>()
  return documents.map(each => {
    const hash = Buffer.from(each.hash).toString('hex')
    const duplicateOf = first.get(hash) ?? null
    if (duplicateOf === null) first.set(hash, each.code)
    return { ...each, duplicateOf }
  })
}

/** Does nothing where it is submitted already, or gone. */
export async function submitRun(engine: Engine, classification: RunOptions['classification'], id: string) {
  const found = await readUnsubmitted(engine, id)
  if (found === undefined) return
  const { documents, maxResumes, maxRetries, reuse } = found
  const submitting = engine.submit(
    classification,
    documents.map(each => ({ document: each.id })),
    {
      key: `execution-${id}`,
      ref: (_, index) => documents[index]!.code,
      maxResumes,
      about: { label: say(`execution ${id}`, `execução ${id}`), path: `/execucoes/${id}/status-detalhado` },
      items: { attempts: maxRetries + 1 },
      // One at a time of those with the same bytes: the first buys, the others use what it bought.
      ...(reuse ? { each: (_: unknown, index: number) => ({ groupKey: documents[index]!.hash }) } : {}),
    },
  )
  const batch = await submitting.then(made => made.id, endedMeanwhile)
  await noteSubmitted(engine, id, batch, (tx, files) => engine.files.keep(files, { batch, tx }))
}

/** Somebody pressed on the batch itself while it was being submitted: it is the one that it has. */
function endedMeanwhile(error: unknown): string {
  if (isRetomaError(error, 'batch_cancelled') || isRetomaError(error, 'batch_state')) return String(error.facts.id)
  throw error
}

/** Rows, purchases, checkpoints, failures, events and files. false: there is none that is final. */
export async function eraseRun(engine: Engine, id: string): Promise<boolean> {
  const hidden = await engine.transaction(tx => hideRun(engine, tx, id))
  if (hidden === undefined && (await readHidden(engine, id)) === undefined) return false
  try {
    await finishErasing(engine, id)
    return true
  } catch (error) {
    if (!isRetomaError(error, 'batch_state')) throw error
    // It was pressed to go on in that very moment.
    await showRun(engine, id)
    return false
  }
}

async function finishErasing(engine: Engine, id: string): Promise<void> {
  const hidden = await readHidden(engine, id)
  if (hidden !== undefined) {
    await engine.eraseBatch(hidden.batch)
    // Before the last of it goes: of what is gone nobody would come back for it.
    await engine.forgetAnswers('post /execucoes', id)
    if (hidden.openJob !== null) await eraseOpenJob(engine, hidden.openJob)
  }
  await removeHiddenRun(engine, id)
}

/** One that is due only now finds nothing to submit; it need not begin. */
async function eraseOpenJob(engine: Engine, job: string): Promise<void> {
  try {
    await engine.eraseJob(job)
  } catch (error) {
    if (!isRetomaError(error, 'wrong_state')) throw error
    await engine.cancel(job).catch(unlessOver)
    await engine.eraseJob(job)
  }
}

function unlessOver(error: unknown): void {
  if (!isRetomaError(error, 'not_found') && !isRetomaError(error, 'wrong_state')) throw error
}
