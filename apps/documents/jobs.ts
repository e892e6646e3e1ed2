/**
 * Defines the job of a document: read the PDF, draw its first page, write the result. And the guard over the documents.
 *
 * Invariant: a document that is DONE or FAILED stays so until a person sends it again. Each write of an attempt names its job and its
 * number and finds the document PROCESSING, and the guard marks only a document that is PROCESSING; both lock the row, so exactly one of
 * them wins. An attempt that lost ends, and is not repeated.
 */
import {
  defineGuard,
  defineJob,
  doNotRetry,
  type Engine,
  type Guard,
  guardNow,
  isRetomaError,
  type Job,
  type JobContext,
  minutes,
  RetomaError,
  seconds,
} from 'retoma'
import { z } from 'zod'
import { eraseJob } from './erase-job.ts'
import { errors } from './errors.ts'
import { languageOf } from './language.ts'
import type { PdfReader } from './pdf/reader.ts'
import type { Status } from './status.ts'
import { type Begun, beginRun, failRun, finishRun, type Run, touchRun } from './store/processing.ts'

export const queue = 'documents'

export interface DocumentJobOptions {
  read: PdfReader
  /** Draws the first page of a PDF as WebP, and stores the picture. Returns the id of the file; null: there is no picture. */
  draw: (ctx: JobContext, path: string) => Promise<string | null>
  engine: () => Engine
}

const maxAttempts = 3

/** `replaces`: the earlier jobs of the document, of which nothing shall stay. */
export type DocumentJob = Job<{ document: string; replaces?: string | readonly string[] | undefined }>

export function createDocumentJob(options: DocumentJobOptions): DocumentJob {
  return defineJob({
    kind: 'process-document',
    internal: true,
    private: true,
    queue,
    input: z.object({ document: z.string(), replaces: z.union([z.string(), z.array(z.string())]).optional() }),
    maxAttempts,
    backoff: { first: seconds(5), factor: 2, max: minutes(10), jitter: 0.1 },
    timeout: minutes(15),
    expect: seconds(30),
    stallAfter: noProgress,
    onStall: 'fail',
    messages: { stalled: timedOut },
    async run(ctx, { document, replaces = [] }) {
      for (const job of [replaces].flat()) await eraseJob(options.engine(), job)
      await processDocument(ctx, document, options)
    },
  })
}

/** The seed's rule and its words. */
const noProgress = minutes(10)
const timedOut = 'Processing timeout (watchdog)'

/**
 * Marks a document without progress. The guard leaves a document alone whose process died: the engine runs its job again
 * (`follow_document_jobs` shows such a document as PENDING until then).
 */
export const documentGuard = (): Guard =>
  defineGuard({
    name: 'documents',
    table: 'documents.documents',
    status: { column: 'status', running: 'PROCESSING' },
    signal: 'updated_at',
    after: noProgress,
    private: true,
    where: { deleted_at: null },
    job: 'job_id',
    set: { status: 'FAILED', error_message: timedOut, updated_at: guardNow },
  })

/** The end of an attempt that ran to its end: `late`, if the document was not its own any more. */
type Ending = { is: 'done' } | { is: 'late' } | { is: 'failed'; trouble: RetomaError }

async function processDocument(ctx: JobContext, document: string, options: DocumentJobOptions): Promise<void> {
  const home = options.engine()
  const run: Run = { document, job: ctx.id, attempt: ctx.attempt }
  const begun = await beginRun(home, run)
  if ('over' in begun) {
    // An earlier attempt has finished, and its answer was lost.
    if (begun.over === 'DONE') return
    throw tooLate(begun.over)
  }
  let ending: Ending
  try {
    ending = await attemptAt(ctx, run, begun, options)
  } catch (error) {
    await giveBack(ctx, run, error, home)
    throw error
  }
  if (ending.is === 'late') throw tooLate('FAILED')
  if (ending.is === 'failed') throw doNotRetry(inPortuguese(ending.trouble))
}

async function attemptAt(ctx: JobContext, run: Run, begun: Begun, options: DocumentJobOptions): Promise<Ending> {
  const { read, draw, engine } = options
  const home = engine()
  const path = await ctx.files.path(begun.file)
  const content = path === null ? { trouble: fileMissing() } : await read(ctx, path, begun.filename)
  if ('trouble' in content) {
    const { trouble } = content
    const isOurs = await ctx.transaction('fail', tx => failRun(home, tx, run, trouble.in('pt')))
    return isOurs ? { is: 'failed', trouble } : { is: 'late' }
  }
  if (!(await touchRun(home, run))) return { is: 'late' }
  const thumbnail = await draw(ctx, path!)
  const { pages, title, text, isComplete } = content
  const done = { pages, title, text, textComplete: isComplete, language: languageOf(text), thumbnail }
  const isOurs = await ctx.transaction('finish', async tx => {
    const finished = await finishRun(home, tx, run, begun, done)
    if (finished && thumbnail !== null) await home.files.keep([thumbnail], { job: ctx.id, tx })
    return finished
  })
  return { is: isOurs ? 'done' : 'late' }
}

/**
 * Writes the end of an attempt that was interrupted or failed: PENDING if the job runs again, otherwise FAILED. If this write is lost, the
 * next attempt begins all the same, or the guard or the next look at ended jobs marks the document.
 */
async function giveBack(ctx: JobContext, run: Run, error: unknown, home: Engine): Promise<void> {
  try {
    if (ctx.signal.aborted) {
      // The worker stops and gives the job back. After a lost lease or a deadline the attempt has no say.
      if (isRetomaError(ctx.signal.reason, 'worker_stopping')) await failRun(home, home, run, null)
      return
    }
    const reason = isDeferred(error) || ctx.failures + 1 < maxAttempts ? null : reasonOf(error)
    await failRun(home, home, run, reason)
  } catch (problem) {
    ctx.log.warn({ err: problem }, 'the end of an attempt could not be written into its document')
  }
}

const fileMissing = () => new RetomaError(errors.document_file_missing, {})

/** No child process was free: the job waits, and the attempt does not count. */
const isDeferred = (error: unknown): boolean => error instanceof Error && 'why' in error && error.why === 'child'

function reasonOf(error: unknown): string {
  const problem = isRetomaError(error) ? { en: error.in('en'), pt: error.in('pt') } : unexpected
  return new RetomaError(errors.document_attempt, { problem }).in('pt')
}

const unexpected = { en: 'unexpected error', pt: 'erro inesperado' }

const tooLate = (status: Status | null): Error =>
  doNotRetry(
    inPortuguese(
      status === null ? new RetomaError(errors.document_erased, {}) : new RetomaError(errors.document_over, { status }),
    ),
  )

/** The error of the job: the sentence that the user reads, and the code. */
function inPortuguese(why: RetomaError): Error {
  const error = new Error(why.in('pt'), why.cause === undefined ? {} : { cause: why.cause })
  error.name = 'DocumentError'
  return Object.assign(error, { code: why.code })
}
