/**
 * Who answers for a document: an earlier answer to the same bytes, the local classifier, or the AI, which is paid.
 *
 * Invariant: whatever was paid for comes back, useful or not, so that the step around it keeps it before anything else can
 * fail. What was not is thrown: a failure of this attempt, or a word to the engine that it should wait, stop or pause.
 */
import { type JobContext, pauseBatch, providerStop, providerWait, RetomaError } from 'retoma'
import { errors } from './errors.ts'
import type { Excerpt } from './extract/excerpt.ts'
import { failed } from './failed.ts'
import { dollars } from './money.ts'
import { promptOf } from './prompt.ts'
import { type Answer, type Bought, judge } from './providers/answer.ts'
import { classifyLocally, localModel } from './providers/local.ts'
import { askOpenRouter, defaultModel, type OpenRouter } from './providers/openrouter.ts'
import type { Reply } from './providers/reply.ts'
import { type Document, findReusable, readSpent } from './store/answers.ts'

export const providerName = 'openrouter'
/** As people know it. */
export const providerShown = 'OpenRouter'

/** How a document was answered; plain data, as a step keeps it. `attempt`: which one it was bought by. */
export type Kept = { attempt: number; bought: Bought | null } & (
  | { is: 'ok'; reply: Reply; model: string | null; simulated: boolean; reusedFrom: string | null }
  /** Of no use; `final`: for this document no other would be either. `written`: what the AI wrote, for operators. */
  | { is: 'useless'; code: string; message: string; final: boolean; written: string | null }
)

/** undefined: there is no key, and the answer is played. */
export type Paid = (OpenRouter & { model: string | undefined }) | undefined

export async function answerFor(
  ctx: JobContext,
  { document, excerpt, paid }: { document: Document; excerpt: Excerpt; paid: Paid },
  signal: AbortSignal,
): Promise<Kept> {
  const { attempt } = ctx
  const found = document.reuse ? await findReusable(ctx, document, paid === undefined) : undefined
  if (found !== undefined) {
    const { from, model, ...reply } = found
    return { is: 'ok', attempt, reply, model, simulated: paid === undefined, reusedFrom: from, bought: null }
  }
  if (paid === undefined) {
    const reply = withNote(classifyLocally(excerpt.text, document.settings.categories), excerpt)
    return { is: 'ok', attempt, reply, model: localModel, simulated: true, reusedFrom: null, bought: null }
  }
  const spent = document.limited ? await readSpent(ctx, document.run) : undefined
  if (spent !== undefined) {
    const why = new RetomaError(errors.cost_limit, { limit: dollars(spent.allowed), cost: dollars(spent.cost) })
    throw pauseBatch({ code: why.code, message: why.in('pt') })
  }
  return ctx.provider(providerName, () => askPaid(paid, document, excerpt, attempt, signal))
}

/** `signal`: of the step, which is aborted with the attempt's, and when the call has taken too long. */
async function askPaid(
  paid: NonNullable<Paid>,
  { settings }: Document,
  excerpt: Excerpt,
  attempt: number,
  signal: AbortSignal,
): Promise<Kept> {
  const model = settings.model ?? paid.model ?? defaultModel
  const received = await askOpenRouter(paid, { model, messages: promptOf(settings, excerpt.text) }, signal)
  const answer = judge(received, { provider: providerShown, categories: settings.categories, key: paid.key })
  switch (answer.is) {
    case 'ok': {
      const { reply, bought } = answer
      return {
        is: 'ok',
        attempt,
        bought,
        reply: withNote(reply, excerpt),
        model: bought.model ?? model,
        simulated: false,
        reusedFrom: null,
      }
    }
    case 'item':
      return useless(answer, attempt)
    case 'retry':
      if (answer.bought !== null) return useless(answer, attempt)
      throw Object.assign(failed(answer.why), { written: answer.written })
    case 'wait': {
      const { why, retryAfter } = answer
      const said = { code: why.code, message: why.in('pt') }
      throw providerWait(retryAfter === null ? said : { ...said, retryAfter })
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

const useless = ({ is, why, bought, written }: Extract<Answer, { is: 'item' | 'retry' }>, attempt: number): Kept => ({
  is: 'useless',
  attempt,
  bought,
  code: why.code,
  message: why.in('pt'),
  final: is === 'item',
  written,
})
