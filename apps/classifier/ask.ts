/**
 * Gets the answer for a document: from an earlier answer to the same bytes, from the local classifier, or from the paid AI.
 *
 * Invariant: a paid answer is returned, useful or not, so the step around the call saves the answer before anything else can fail. A
 * failure without payment is thrown: as a failed attempt, or as a request to the engine to wait, stop or pause.
 */
import {
  type Engine,
  isRetomaError,
  type JobContext,
  minutes,
  type ProviderWait,
  pauseBatch,
  providerStop,
  providerWait,
  RetomaError,
  seconds,
} from 'retoma'
import { errors } from './errors.ts'
import type { Excerpt } from './extract/excerpt.ts'
import { failed } from './failed.ts'
import { money } from './money.ts'
import { promptOf } from './prompt.ts'
import { type Answer, type Bought, judge } from './providers/answer.ts'
import { classifyLocally, localModel } from './providers/local.ts'
import { askOpenRouter, defaultModel, type OpenRouter } from './providers/openrouter.ts'
import type { Reply } from './providers/reply.ts'
import {
  type Document,
  findReusable,
  type Reusable,
  reserveCost,
  savePurchase,
  takeTurnOfQuestion,
} from './store/answers.ts'

export const providerName = 'openrouter'
/** The name for people. */
export const providerShown = 'OpenRouter'

/**
 * The answer for a document, as plain data saved by a step. `attempt`: the attempt that bought the answer; `settingsHash`: the settings
 * of the question.
 */
export type Kept = {
  attempt: number
  bought: Bought | null
  settingsHash: Uint8Array
} /** `written`: the text of a paid answer, for operators. */ & (
  | {
      is: 'ok'
      reply: Reply
      model: string | null
      simulated: boolean
      reusedFrom: string | null
      written: string | null
    }
  /** A useless answer; `final`: another answer for this document would be useless too. `written`: the text of the AI, for operators. */
  | { is: 'useless'; code: string; message: string; final: boolean; written: string | null }
)

/** undefined: there is no key, and the answer is simulated. */
export type Paid = (OpenRouter & { model: string | undefined; requestsPerMinute: number | undefined }) | undefined

export interface Question {
  document: Document
  excerpt: Excerpt
  paid: Paid
  /** The engine, for writes outside any step. */
  home: Engine
}

export async function answerFor(ctx: JobContext, question: Question, signal: AbortSignal): Promise<Kept> {
  const { document, excerpt, paid, home } = question
  const asked = { attempt: ctx.attempt, settingsHash: document.settingsHash }
  const found = document.reuse ? await reusedFor(ctx, home, document, paid === undefined) : undefined
  if (found !== undefined) {
    const { from, model, labels, ...answer } = found
    const reply = labels === null ? answer : { ...answer, labels }
    return {
      is: 'ok',
      ...asked,
      reply,
      model,
      simulated: paid === undefined,
      reusedFrom: from,
      bought: null,
      written: null,
    }
  }
  if (paid === undefined) {
    const reply = withNote(
      classifyLocally(excerpt.text, document.settings.categories, document.settings.several),
      excerpt,
    )
    return {
      is: 'ok',
      ...asked,
      reply,
      model: localModel,
      simulated: true,
      reusedFrom: null,
      bought: null,
      written: null,
    }
  }
  if (paid.requestsPerMinute !== undefined) await takeTurn(home, paid.requestsPerMinute)
  if (document.limited) await reserve(ctx, home, document)
  const model = document.settings.model ?? paid.model ?? defaultModel
  return ctx.provider(providerOf(model), async () => {
    const answer = await ctx.provider(providerName, () =>
      askPaid(paid, document, { model, excerpt, asked, home }, signal),
    )
    if (answer.is === 'busy') throw providerWait(answer.said)
    return answer
  })
}

/**
 * Finds an answer to the same bytes. Without an answer, a single document at a time asks the AI: the others are deferred, without any
 * cost, and find the answer of the first. A simulated answer costs nothing, so nobody waits for a simulated answer.
 */
async function reusedFor(
  ctx: JobContext,
  home: Engine,
  document: Document,
  simulated: boolean,
): Promise<Reusable | undefined> {
  const found = await findReusable(ctx, document, simulated)
  if (found !== undefined || simulated) return found
  if (!(await patiently(() => takeTurnOfQuestion(home, document, ctx))))
    throw providerWait({ retryAfter: seconds(1), message: 'the answer to the same bytes' })
  // The question may have ended with an answer since the first search.
  return findReusable(ctx, document, simulated)
}

/**
 * Limits questions to `limit` in any minute, over all workers. A document that comes too early is deferred until its turn, without any
 * cost.
 */
async function takeTurn(home: Engine, limit: number): Promise<void> {
  const { allowed, retryAfterSeconds } = await patiently(() =>
    home.limit({ bucket: 'openrouter', who: 'requests', limit, per: minutes(1) }),
  )
  if (!allowed) throw providerWait({ retryAfter: seconds(retryAfterSeconds), message: 'requests per minute' })
}

/** Pauses the execution if the cost limit does not allow this question. Open questions count with the expected price. */
async function reserve(ctx: JobContext, home: Engine, document: Document): Promise<void> {
  const spent = await patiently(() => reserveCost(home, document, ctx))
  if (spent === 'reserved') return
  if (spent === 'wait') throw providerWait({ retryAfter: seconds(1), message: 'the price of the first answer' })
  const [limit, cost, needed] = [spent.allowed, spent.cost, spent.needed].map(money)
  const why = new RetomaError(errors.cost_limit, { limit: limit!, cost: cost!, needed: needed! })
  throw pauseBatch({ code: why.code, message: why.in('pt') })
}

/** A database outage is no failure of the document: the document is deferred, and comes again. */
async function patiently<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch (error) {
    if (isRetomaError(error) && error.retryable) throw providerWait({ retryAfter: seconds(1), message: error.code })
    throw error
  }
}

/** A problem with the key concerns every model; a request limit or an outage concerns a single model. */
export const providerOf = (model: string): string =>
  `${providerName}:${model.replace(/[^A-Za-z0-9._:-]/g, '.')}`.slice(0, 100)

/** The model asks to wait. */
interface Busy {
  is: 'busy'
  said: ProviderWait
}

interface Asked {
  model: string
  excerpt: Excerpt
  asked: Pick<Kept, 'attempt' | 'settingsHash'>
  home: Engine
}

/** A provider may charge for a question and then ask to wait, or stop: no step saves such a purchase, because the attempt does not count. */
const saveUnanswered = (home: Engine, document: Document, paid: Asked['asked'] & { bought: Bought }): Promise<void> =>
  patiently(() => home.transaction(tx => savePurchase(tx, document, providerName, { ...paid, usable: false })))

/** `signal`: the signal of the step, aborted with the attempt and when the call takes too long. */
async function askPaid(
  paid: NonNullable<Paid>,
  document: Document,
  { model, excerpt, asked, home }: Asked,
  signal: AbortSignal,
): Promise<Kept | Busy> {
  const { settings, hash } = document
  const received = await askOpenRouter(paid, { model, messages: promptOf(settings, excerpt.text, hash) }, signal)
  const answer = judge(received, {
    provider: providerShown,
    categories: settings.categories,
    several: settings.several,
    key: paid.key,
  })
  if ((answer.is === 'wait' || answer.is === 'stop') && answer.bought !== null)
    await saveUnanswered(home, document, { ...asked, bought: answer.bought })
  switch (answer.is) {
    case 'ok': {
      const { reply, bought, written } = answer
      return {
        is: 'ok',
        ...asked,
        bought,
        reply: withNote(reply, excerpt),
        model: bought.model ?? model,
        simulated: false,
        reusedFrom: null,
        written,
      }
    }
    case 'item':
      return useless(answer, asked)
    case 'retry':
      if (answer.bought !== null) return useless(answer, asked)
      throw Object.assign(failed(answer.why), { written: answer.written })
    case 'wait': {
      const { why, retryAfter } = answer
      const said = { code: why.code, message: why.in('pt') }
      return { is: 'busy', said: retryAfter === null ? said : { ...said, retryAfter } }
    }
    case 'stop': {
      const said = { code: answer.why.code, message: answer.why.in('pt') }
      throw answer.of === 'provider' ? providerStop(said) : pauseBatch(said)
    }
  }
}

/** Adds the note about unread parts of the document to the answer. */
const withNote = (reply: Reply, { note }: Excerpt): Reply => ({
  ...reply,
  justification: [reply.justification, note].filter(Boolean).join(' '),
})

const useless = (
  { is, why, bought, written }: Extract<Answer, { is: 'item' | 'retry' }>,
  asked: Pick<Kept, 'attempt' | 'settingsHash'>,
): Kept => ({
  is: 'useless',
  ...asked,
  bought,
  code: why.code,
  message: why.in('pt'),
  final: is === 'item',
  written,
})
