/**
 * Defines the classifier's jobs: a job for each document, and the batch of an execution.
 *
 * Invariant: a step saves a paid answer before anything else happens, and the price is written once, together with the result. So the AI
 * gets a document again only while no useful answer is saved. Only a useless answer, or an answer received by a process that crashed
 * before saving, is ever bought twice.
 */
import {
  type AnyJob,
  type Batch,
  defineBatch,
  defineJob,
  doNotRetry,
  type Engine,
  isRetomaError,
  type Job,
  type JobContext,
  type LimitsByQueue,
  minutes,
  RetomaError,
  seconds,
  skip,
} from 'retoma'
import { z } from 'zod'
import { answerFor, type Kept, type Paid, providerName, providerShown } from './ask.ts'
import { errors } from './errors.ts'
import { type Extracted, extractText, readBefore, type Saved } from './extract/index.ts'
import { failed } from './failed.ts'
import { createNotices, type Notices, noticeQueue } from './notice.ts'
import { outsideSample } from './sample.ts'
import {
  type Document,
  endTurnOfQuestion,
  readDocument,
  saveAnswer,
  saveOcr,
  savePurchase,
  saveUseless,
} from './store/answers.ts'
import { storable } from './text.ts'

export interface OpenRouterOptions {
  /** Without a key the local classifier answers, and the answers are marked simulado. */
  key: string | undefined
  /** The model for projects without a model; the default is `defaultModel`. */
  model: string | undefined
  baseUrl: string
  /** Documents at the same time, over all workers. Default 20. */
  concurrency?: number | undefined
  /** Questions in any minute, over all workers. Default: no limit. */
  requestsPerMinute?: number | undefined
}

export interface Jobs {
  classify: Job<{ document: string }>
  /** Posts the state of an execution to its webhook. */
  notice: Notices['notice']
  /** Finds executions whose state goes to a webhook. */
  watch: Notices['watch']
  classification: Batch<{ document: string }>
  limits: LimitsByQueue
  queues: Record<string, number>
  jobs: AnyJob[]
  /** The engine that runs the jobs. */
  attach(engine: Engine): void
}

const queue = 'classifier'
const defaultConcurrency = 20
const noticesAtOnce = 5
/** A short answer takes seconds. A document has two minutes: one minute for the answer, the other for the text. */
const longestAnswer = seconds(60)

export function createJobs({ openRouter }: { openRouter: OpenRouterOptions }): Jobs {
  let home: Engine | undefined
  const engine = () => {
    if (home === undefined) throw new Error('the classifier has no engine: call attach first')
    return home
  }
  const { key, baseUrl, model, concurrency = defaultConcurrency, requestsPerMinute } = openRouter
  const paid: Paid = key === undefined ? undefined : { key, baseUrl, model, requestsPerMinute }
  const classify = defineJob({
    kind: 'classify-document',
    internal: true,
    queue,
    input: z.object({ document: z.string() }),
    maxAttempts: 3,
    backoff: { first: seconds(5), factor: 2, max: minutes(10), jitter: 0.1 },
    timeout: minutes(2),
    expect: seconds(45),
    maxCrashes: 3,
    run: (ctx, input) => classifyDocument(ctx, input.document, paid, engine()),
  })
  const { notice, watch } = createNotices(engine)
  const classification = defineBatch({
    name: 'classification',
    job: classify,
    stallAfter: minutes(5),
    onStall: 'stall',
    maxResumes: 3,
    // An outage of the AI fails a document after the other, each with the same error fingerprint.
    stopAfter: { sameCause: 20 },
    onComplete: notice,
  })
  return {
    classify,
    notice,
    watch,
    classification,
    // Executions take turns: the first documents of a small execution do not wait for the last of a large one.
    limits: { [queue]: { concurrency, fair: 'batch' } },
    queues: { [queue]: concurrency, [noticeQueue]: noticesAtOnce },
    jobs: [classify],
    attach: given => {
      home = given
    },
  }
}

async function classifyDocument(attempt: JobContext, id: string, paid: Paid, home: Engine) {
  const document = await readDocument(attempt, id)
  if (document === undefined) throw gone(id)
  if (!document.sampled) return skip(outsideSample)
  const ctx = ofVersion(attempt, document.version)
  const excerpt = await textOf(ctx, document)
  const { ocr } = excerpt
  if (ocr !== null) await ctx.transaction('save ocr', tx => saveOcr(tx, document, ocr))
  if ('skip' in excerpt) return skip(excerpt.skip)
  // An unpaid answer has no step; if this write is lost, only the operator's view of the answer is lost.
  const keepWritten = async (error: unknown): Promise<never> => {
    const { written } = error as { written?: unknown }
    if (typeof written === 'string') await saveUseless(home, id, written).catch(() => {})
    throw error
  }
  // A document sent as text has the text in the row already.
  const content = document.text === null ? storable(excerpt.text) : null
  const answerOf = (kept: Extract<Kept, { is: 'ok' }>) => ({
    ...kept.reply,
    ...kept,
    ...tokensOf(kept),
    content,
    version: document.version,
  })
  for (let n = 1; ; n++) {
    const kept = await answered(ctx, n, signal => answerFor(ctx, { document, excerpt, paid, home }, signal)).catch(
      keepWritten,
    )
    const isLate = await ctx.transaction(`save ${n}`, async tx => {
      const { attempt, bought, settingsHash } = kept
      const usable = kept.is === 'ok'
      if (bought !== null) await savePurchase(tx, document, providerName, { attempt, bought, usable, settingsHash })
      const isTaken = kept.is === 'ok' ? await saveAnswer(tx, document, answerOf(kept)) : true
      if (kept.is !== 'ok') await saveUseless(tx, id, kept.written)
      if (document.reuse) await endTurnOfQuestion(tx, document, settingsHash)
      return !isTaken
    })
    // Thrown here and not in the transaction: the answer to the replaced file is paid, too.
    if (isLate) throw failed(new RetomaError(errors.file_replaced, {}))
    if (kept.is === 'ok') return { category: kept.reply.category, confidence: kept.reply.confidence }
    // An earlier attempt bought this useless answer. This attempt asks again.
    if (kept.attempt === ctx.attempt) throw uselessError(kept)
  }
}

/**
 * The context of an attempt for a document whose file was replaced: the steps and the checkpoint of another version of the file do not
 * count. The first version has the names without a prefix.
 */
function ofVersion(ctx: JobContext, version: number): JobContext {
  if (version === 1) return ctx
  const name = (given: string) => `v${version} ${given}`
  const own: Partial<JobContext> = {
    step: (given, run, options) => ctx.step(name(given), run, options),
    isolated: (given, module, input, options) => ctx.isolated(name(given), module, input, options),
    transaction: (given, run) => ctx.transaction(name(given), run),
    checkpoint: (given, data, options) => ctx.checkpoint(name(given), { version, data }, options),
    get resumeData() {
      const saved = ctx.resumeData as { version?: number; data?: unknown } | null | undefined
      return saved?.version === version ? saved.data : undefined
    },
  }
  return new Proxy(ctx, {
    get(target, property) {
      if (Object.hasOwn(own, property)) return Reflect.get(own, property)
      const value = Reflect.get(target, property, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

/** The nth paid answer, of this attempt or of an earlier attempt. */
async function answered(ctx: JobContext, n: number, ask: (signal: AbortSignal) => Promise<Kept>): Promise<Kept> {
  try {
    return await ctx.step(`answer ${n}`, ask, { timeout: longestAnswer })
  } catch (error) {
    if (!isRetomaError(error, 'step_timeout')) throw error
    throw failed(new RetomaError('provider_timeout', { provider: providerShown, seconds: longestAnswer / 1000 }))
  }
}

const tokensOf = ({ bought }: Kept) => ({ tokensIn: bought?.tokensIn ?? null, tokensOut: bought?.tokensOut ?? null })

function uselessError({ code, message, final }: Extract<Kept, { is: 'useless' }>): Error {
  const error = Object.assign(new Error(message), { name: 'ClassifierError', code })
  return final ? doNotRetry(error) : error
}

async function textOf(ctx: JobContext, { id, code, text, file, settings }: Document): Promise<Extracted> {
  if (text !== null) return extractText(ctx, { text, name: code })
  const options = { ocrPages: settings.ocr_pages ?? 0, pages: settings.pages ?? null }
  const before = ctx.resumeData as Saved | null | undefined
  if (before?.kind !== undefined) return readBefore(ctx, before, options)
  const [about, path] = file === null ? [null, null] : [await ctx.files.open(file), await ctx.files.path(file)]
  if (about === null || path === null) throw gone(id)
  const read = await extractText(ctx, { path, name: about.name, type: about.type }, options)
  // A provider wait may defer the document many times: only the first attempt fetches the file.
  if ('text' in read && read.saved !== null) await ctx.checkpoint('read', read.saved)
  return read
}

const gone = (id: string) => doNotRetry(failed(new RetomaError(errors.document_gone, { id })))
