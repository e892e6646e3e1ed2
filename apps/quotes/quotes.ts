/**
 * Creates, submits, recovers and erases quotes and batches of quotes.
 *
 * Invariant: a quote answered with 201 runs, once. A single quote and its job are written in one transaction. The rows of a batch and the
 * job that submits the batch are written in one transaction, and the batch of the engine has a unique key, so that ten concurrent submits
 * create a single batch. Erasing first hides the rows and then removes the job: after a crash in between, the next tidy job finds the rest.
 */
import {
  defineJob,
  defineSchedule,
  type Engine,
  hours,
  isRetomaError,
  type Job,
  type JobLog,
  type JobTransaction,
  localized,
  minutes,
  RetomaError,
  type Schedule,
  seconds,
} from 'retoma'
import { forgetResponses } from 'retoma/http'
import { z } from 'zod'
import { errors } from './errors.ts'
import { longestTries, type QuoteJobs, queue } from './jobs.ts'
import {
  type HiddenBatch,
  hideBatch,
  hideOldBatches,
  insertBatch,
  noteOpenJob,
  noteSubmitted,
  readHiddenBatches,
  readUnsubmitted,
  removeHiddenBatch,
} from './store/batches.ts'
import { pruneFipe } from './store/fipe.ts'
import { readOld, readStuckJobs } from './store/processing.ts'
import {
  type HiddenQuote,
  hideOldQuotes,
  hideQuote,
  insertQuote,
  type NewQuote,
  noteQuoteJob,
  readHiddenOfBatch,
  readHiddenQuotes,
  removeHiddenQuote,
} from './store/quotes.ts'
import { pruneTurns } from './store/turns.ts'

export interface Quotes extends QuoteJobs {
  /** A provider has no key, so that an answer may be simulated. */
  isSimulated: boolean
  /** Submits a batch that the creating process could not submit. */
  openBatch: Job<{ batch: string }>
  schedules: readonly Schedule[]
}

export function createQuotes(jobs: QuoteJobs, isSimulated: boolean, engine: () => Engine): Quotes {
  const openBatch = defineJob({
    kind: 'open-quote-batch',
    internal: true,
    queue,
    input: z.object({ batch: z.string() }),
    maxAttempts: 1000,
    backoff: { first: seconds(5), factor: 2, max: minutes(5), jitter: 0.1 },
    timeout: minutes(5),
    run: (_, { batch }) => submitBatch(engine(), jobs.batch, batch),
  })

  const caring = { internal: true, queue, timeout: minutes(10) } as const
  const recoverJob = defineJob({
    ...caring,
    kind: 'recover_stuck_quotes',
    run: async () => ({ recovered: (await recoverStuck(engine(), 'recover_stuck_quotes')).length }),
  })
  const cleanupJob = defineJob({
    ...caring,
    kind: 'cleanup_old_processing',
    run: async () => ({ marked: await cleanUpOld(engine(), 'cleanup_old_processing') }),
  })
  const tidyJob = defineJob({ ...caring, kind: 'tidy_quotes', run: ctx => tidyQuotes(engine(), ctx.log) })
  const once = (name: string) => ({ catchUp: 'once', options: { key: name, priority: 0 } }) as const
  return {
    ...jobs,
    isSimulated,
    openBatch,
    schedules: [
      defineSchedule({
        name: 'recover_stuck_quotes',
        every: minutes(5),
        job: recoverJob,
        input: undefined,
        ...once('recover_stuck_quotes'),
      }),
      defineSchedule({
        name: 'cleanup_old_processing',
        cron: '0 4 * * *',
        timeZone: 'America/Sao_Paulo',
        job: cleanupJob,
        input: undefined,
        ...once('cleanup_old_processing'),
      }),
      defineSchedule({ name: 'tidy_quotes', every: hours(1), job: tidyJob, input: undefined, ...once('tidy_quotes') }),
    ],
  }
}

interface Asked {
  by: string
  simulated: boolean
}

/** Returns the id. */
export async function makeQuote(
  engine: Engine,
  tx: JobTransaction,
  quotes: Quotes,
  quote: NewQuote,
  by: string,
): Promise<string> {
  const asked: Asked = { by, simulated: quotes.isSimulated }
  const id = await insertQuote(engine, tx, quote, asked)
  const { id: job } = await engine.enqueue(quotes.quote, { quote: id }, { tx, ref: id })
  await noteQuoteJob(tx, id, job)
  return id
}

/** The creating process submits the batch at once; this job matters only if the process died before. */
const openAfter = seconds(10)

/** Returns the id. */
export async function makeBatch(
  engine: Engine,
  tx: JobTransaction,
  quotes: Quotes,
  given: readonly NewQuote[],
  by: string,
): Promise<string> {
  const id = await insertBatch(engine, tx, given, { by, simulated: quotes.isSimulated })
  const { id: job } = await engine.enqueue(quotes.openBatch, { batch: id }, { tx, priority: 0, delay: openAfter })
  await noteOpenJob(tx, id, job)
  return id
}

/** Does nothing if the batch is submitted or erased. */
export async function submitBatch(engine: Engine, batch: QuoteJobs['batch'], id: string): Promise<void> {
  const quotes = await readUnsubmitted(engine, id)
  if (quotes === undefined) return
  const submitting = engine.submit(
    batch,
    quotes.map(quote => ({ quote })),
    {
      key: `quote-batch-${id}`,
      ref: ({ quote }) => quote,
      about: {
        label: localized(`quote batch ${id}`, `lote de cotações ${id}`),
        path: `/api/system/batch-status/${id}`,
      },
    },
  )
  await noteSubmitted(engine, id, await submitting.then(made => made.id, endedMeanwhile))
  // Quotes that a person erased during the submit. After a crash the next tidy job finds them.
  for (const hidden of await readHiddenOfBatch(engine, id)) await finishErasing(engine, hidden)
}

/** A person ended the batch during the submit: the quotes keep this batch. */
function endedMeanwhile(error: unknown): string {
  if (isRetomaError(error, 'batch_cancelled') || isRetomaError(error, 'batch_state')) return String(error.facts.id)
  throw error
}

/**
 * Puts stuck quotes back into the queue: the watchdog has taken the quote from its worker (`stalled`), and the late end of the old attempt is
 * refused. If the watchdog has not checked a stuck quote yet, one check runs first, so that every quote that counts as stuck is recovered now.
 * Returns the ids of the quotes. `batch`: only of this batch of the engine.
 */
export async function recoverStuck(engine: Engine, by: string, batch: string | null = null): Promise<string[]> {
  let stuck = await readStuckJobs(engine, batch)
  if (stuck.some(({ state }) => state === 'running')) {
    await engine.watch({ once: true })
    stuck = await readStuckJobs(engine, batch)
  }
  const recovered: string[] = []
  for (const { job, quote, state } of stuck)
    if (state === 'stalled' && (await resumeQuote(engine, job, by))) recovered.push(quote)
  return recovered
}

/** false: the job is not stalled any more. */
export async function resumeQuote(engine: Engine, job: string, by: string): Promise<boolean> {
  try {
    return (await engine.jobs.resume(job, { by })).changed
  } catch (error) {
    if (isRetomaError(error, 'wrong_state') || isRetomaError(error, 'not_found')) return false
    throw error
  }
}

/** Ends open quotes whose first start is more than 24 hours ago. Returns how many. */
export async function cleanUpOld(engine: Engine, by: string): Promise<number> {
  const why = new RetomaError(errors.quote_too_old, { hours: longestTries / hours(1) })
  let marked = 0
  for (let after = '0'; ; ) {
    const old = await readOld(engine, after)
    for (const { job } of old) if (await failQuote(engine, job, why, by)) marked++
    if (old.length === 0) return marked
    after = old.at(-1)!.job
  }
}

async function failQuote(engine: Engine, job: string, why: RetomaError, by: string): Promise<boolean> {
  try {
    return (await engine.jobs.fail(job, why.in('pt'), { by, code: why.code })).changed
  } catch (error) {
    if (isRetomaError(error, 'wrong_state') || isRetomaError(error, 'not_found')) return false
    throw error
  }
}

/** Erases a quote with its job, steps, failures, events and pages; an open quote is cancelled first. false: there is no such quote. */
export async function eraseQuote(engine: Engine, id: string): Promise<boolean> {
  const hidden = await hideQuote(engine, id)
  if (hidden === undefined) return false
  await finishErasing(engine, hidden)
  return true
}

/** Until the batch of the quote is submitted, the quote is cancelled only: the submit needs the list of the quotes. */
async function finishErasing(engine: Engine, { id, job, isSubmitted }: HiddenQuote): Promise<void> {
  if (!isSubmitted) {
    if (job !== null) await engine.jobs.cancel(job).catch(unlessOver)
    return
  }
  if (job !== null) await eraseJob(engine, job)
  // Before the last row goes: after the row is gone, no process would repeat this call.
  await forgetResponses(engine, 'post /api/quotes', id)
  await removeHiddenQuote(engine, id)
}

async function eraseJob(engine: Engine, job: string): Promise<void> {
  await engine.jobs.cancel(job).catch(unlessOver)
  await engine.jobs.erase(job)
}

function unlessOver(error: unknown): void {
  if (!isRetomaError(error, 'not_found') && !isRetomaError(error, 'wrong_state')) throw error
}

/** false: there is no such batch in a final state. */
export async function eraseBatch(engine: Engine, id: string): Promise<boolean> {
  const hidden = await hideBatch(engine, id)
  if (hidden === undefined) return false
  await finishErasingBatch(engine, hidden)
  return true
}

async function finishErasingBatch(engine: Engine, { id, batch, openJob }: HiddenBatch): Promise<void> {
  await engine.batches.erase(batch)
  await forgetResponses(engine, 'post /api/quotes/batch', id)
  if (openJob !== null) await eraseJob(engine, openJob)
  await removeHiddenBatch(engine, id)
}

/**
 * Erases the rest: of erasures that a crash interrupted, of quotes whose job the janitor has removed, of old FIPE months, of turns of dead
 * processes. An entry that cannot be erased now does not keep the others: the next run tries again.
 */
async function tidyQuotes(engine: Engine, log: JobLog): Promise<{ erased: number; left: number }> {
  const counts = { erased: 0, left: 0 }
  const erase = async (what: object, work: () => Promise<unknown>) => {
    try {
      await work()
      counts.erased++
    } catch (error) {
      counts.left++
      log.warn({ err: error, ...what }, 'a hidden quote or batch could not be erased')
    }
  }
  for (let last: string | null = '0'; last !== null; ) last = await hideOldBatches(engine, last)
  for await (const hidden of everyHidden(after => readHiddenBatches(engine, after)))
    await erase({ batch: hidden.id }, () => finishErasingBatch(engine, hidden))
  for (let last: string | null = '0'; last !== null; ) last = await hideOldQuotes(engine, last)
  for await (const hidden of everyHidden(after => readHiddenQuotes(engine, after)))
    await erase({ quote: hidden.id }, () => finishErasing(engine, hidden))
  await pruneFipe(engine)
  await pruneTurns(engine)
  return counts
}

/** All rows, a page at a time. */
async function* everyHidden<T extends { id: string }>(read: (after: string) => Promise<T[]>): AsyncGenerator<T> {
  for (let after = '0'; ; ) {
    const page = await read(after)
    yield* page
    if (page.length === 0) return
    after = page.at(-1)!.id
  }
}
