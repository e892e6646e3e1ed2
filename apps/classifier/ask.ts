/**
 * Who answers for a document: an earlier answer to the same bytes, the local classifier, or the AI, which is paid.
 *
 * Invariant: whatever was paid for comes back, useful or not, so that the step around it keeps it before anything else can
 * fail. What was not is thrown: a failure of this attempt, or a word to the engine that it should wait, stop or pause.
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
import { type Document, findReusable, reserveCost } from './store/answers.ts'

export const providerName = 'openrouter'
/** As people know it. */
export const providerShown = 'OpenRouter'

/** How a document was answered; plain data, as a step keeps it. `attempt`: which one it was bought by, `settingsHash`: asked by what. */
export type Kept = { attempt: number; bought: Bought | null; settingsHash: Uint8Array } & (
  | { is: 'ok'; reply: Reply; model: string | null; simulated: boolean; reusedFrom: string | null }
  /** Of no use; `final`: for this document no other would be either. `written`: what the AI wrote, for operators. */
  | { is: 'useless'; code: string; message: string; final: boolean; written: string | null }
)

/** undefined: there is no key, and the answer is played. */
export type Paid = (OpenRouter & { model: string | undefined; requestsPerMinute: number | undefined }) | undefined

export interface Question {
  document: Document
  excerpt: Excerpt
  paid: Paid
  /** The engine, for what is written outside of any step. */
  home: Engine
}

export async function answerFor(ctx: JobContext, question: Question, signal: AbortSignal): Promise<Kept> {
  const { document, excerpt, paid, home } = question
  const asked = { attempt: ctx.attempt, settingsHash: document.settingsHash }
  const found = document.reuse ? await findReusable(ctx, document, paid === undefined) : undefined
  if (found !== undefined) {
    const { from, model, ...reply } = found
    return { is: 'ok', ...asked, reply, model, simulated: paid === undefined, reusedFrom: from, bought: null }
  }
  if (paid === undefined) {
    const reply = withNote(classifyLocally(excerpt.text, document.settings.categories), excerpt)
    return { is: 'ok', ...asked, reply, model: localModel, simulated: true, reusedFrom: null, bought: null }
  }
  if (paid.requestsPerMinute !== undefined) await takeTurn(home, paid.requestsPerMinute)
  if (document.limited) await reserve(ctx, home, document)
  const model = document.settings.model ?? paid.model ?? defaultModel
  return ctx.provider(providerOf(model), async () => {
    const answer = await ctx.provider(providerName, () => askPaid(paid, document, { model, excerpt, asked }, signal))
    if (answer.is === 'busy') throw providerWait(answer.said)
    return answer
  })
}

/** So many questions in any minute, over all workers. Whoever comes too early is handed back until its turn, and pays nothing for it. */
async function takeTurn(home: Engine, limit: number): Promise<void> {
  const { allowed, retryAfterSeconds } = await patiently(() =>
    home.limit({ bucket: 'openrouter', who: 'requests', limit, per: minutes(1) }),
  )
  if (!allowed) throw providerWait({ retryAfter: seconds(retryAfterSeconds), message: 'requests per minute' })
}

/** Pauses the execution where its limit does not allow this question, counting what is being asked by its expected price. */
async function reserve(ctx: JobContext, home: Engine, document: Document): Promise<void> {
  const spent = await patiently(() => reserveCost(home, document, ctx))
  if (spent === 'reserved') return
  if (spent === 'wait') throw providerWait({ retryAfter: seconds(1), message: 'the price of the first answer' })
  const [limit, cost, needed] = [spent.allowed, spent.cost, spent.needed].map(money)
  const why = new RetomaError(errors.cost_limit, { limit: limit!, cost: cost!, needed: needed! })
  throw pauseBatch({ code: why.code, message: why.in('pt') })
}

/** A database that is away is no fault of the document's: it is handed back, and comes again. */
async function patiently<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch (error) {
    if (isRetomaError(error) && error.retryable) throw providerWait({ retryAfter: seconds(1), message: error.code })
    throw error
  }
}

/** What concerns the key concerns every model; a limit of requests, or an outage, concerns one of them. */
export const providerOf = (model: string): string =>
  `${providerName}:${model.replace(/[^A-Za-z0-9._:-]/g, '.')}`.slice(0, 100)

/** The model asks to wait. */
interface Busy {
  is: 'busy'
  said: ProviderWait
}

/** `signal`: of the step, which is aborted with the attempt's, and when the call has taken too long. */
async function askPaid(
  paid: NonNullable<Paid>,
  { settings }: Document,
  { model, excerpt, asked }: { model: string; excerpt: Excerpt; asked: Pick<Kept, 'attempt' | 'settingsHash'> },
  signal: AbortSignal,
): Promise<Kept | Busy> {
  const received = await askOpenRouter(paid, { model, messages: promptOf(settings, excerpt.text) }, signal)
  const answer = judge(received, { provider: providerShown, categories: settings.categories, key: paid.key })
  switch (answer.is) {
    case 'ok': {
      const { reply, bought } = answer
      return {
        is: 'ok',
        ...asked,
        bought,
        reply: withNote(reply, excerpt),
        model: bought.model ?? model,
        simulated: false,
        reusedFrom: null,
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

/** What of the document nobody has read is said with the answer. */
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
