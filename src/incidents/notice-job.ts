/**
 * Validates `createEngine({ notify })` and defines the job that posts a notice. incidents/incident-check.ts finds the incidents; a
 * notice is a job in a queue of its own, so that the notice survives the outage that it reports.
 *
 * Invariant: a notice is delivered at least once, or given up after a day; the notice of an end never precedes the notice of the
 * begin. The URL and the secret exist only in this process: not in the job, the errors of the job or the log.
 */

import { type Language, localized, RetomaError } from '../errors/errors.ts'
import { refuseOption, refuseUnknownOptions } from '../errors/invalid-option.ts'
import { type AnyJob, defineJob } from '../jobs/model/job.ts'
import type { JobContext } from '../jobs/model/job-context.ts'
import { doNotRetry, type Snooze, skip, snooze } from '../jobs/model/outcome.ts'
import { isFinal, type JobState } from '../jobs/model/state.ts'
import type { Clock } from '../lib/clock.ts'
import { hours, minutes, seconds } from '../lib/values/duration.ts'
import type { WebhookNotice, Writing } from './model/notice.ts'
import { notifyKind, notifyQueue } from './model/notice.ts'
import { judgeWebhookResponse } from './model/webhook-response.ts'
import { postNotice, refusedBy, type Webhook } from './webhook.ts'

/** The webhook for notices. */
export interface NotifyOptions {
  /** Address for notices: http or https. */
  url: string
  /** Signs notices (HMAC-SHA256); without a secret notices are unsigned. Default: unsigned. */
  secret?: string | undefined
  /** Public address of Retoma, for the links in notices. Default: no links. */
  link?: string | undefined
  /** The language of the sentences. Default: en. */
  language?: Language | undefined
}

export interface Notify {
  webhook: Webhook
  writing: Writing
}

export function checkNotify(options: NotifyOptions): Notify {
  if (options === null || typeof options !== 'object')
    refuseOption('notify', 'it is an object with url', 'é um objeto com url')
  refuseUnknownOptions(options, ['url', 'secret', 'link', 'language'], 'notify.')
  const { url, secret, link, language = 'en' } = options
  if (language !== 'pt' && language !== 'en') refuseOption('notify.language', 'it is "en" or "pt"', 'é "en" ou "pt"')
  if (secret !== undefined && typeof secret !== 'string') refuseOption('notify.secret', 'it is a text', 'é um texto')
  if (!isWebAddress(url))
    throw new RetomaError('bad_option', {
      option: 'notify.url',
      problem: localized('it is an http or https address', 'é um endereço http ou https'),
    })
  if (link !== undefined && !isWebAddress(link))
    throw new RetomaError('bad_option', {
      option: 'notify.link',
      problem: localized('it is an http or https address', 'é um endereço http ou https'),
    })
  return { webhook: { url, secret: secret || undefined }, writing: { language, link: link ?? null } }
}

export const isWebAddress = (given: unknown): boolean =>
  typeof given === 'string' && /^https?:\/\/[^/]/i.test(given) && URL.canParse(given)

/** A refusal may be temporary (a deploy of the receiver), but three refusals are final. */
const refusals = 3

interface NoticeInput {
  notice: WebhookNotice
  /** The job that sent the notice of the begin, if this is the notice of the end. */
  after: string | null
}

/** `stateOf` answers the state of a job; undefined: the job is deleted. */
export function notifyJob(given: {
  webhook: Webhook
  clock: Clock
  stateOf: (job: string) => Promise<JobState | undefined>
}): AnyJob {
  const { webhook, clock, stateOf } = given
  return defineJob<NoticeInput>({
    kind: notifyKind,
    queue: notifyQueue,
    ...deliveryPolicy,
    async run(ctx, { notice, after }) {
      const before = after === null ? undefined : await stateOf(after)
      if (before !== undefined && !isFinal(before)) return snooze(minutes(1))
      if (before === 'failed' || before === 'cancelled') return skip('no notice was sent about its begin')
      return deliverNotice(ctx, webhook, notice, clock)
    },
  })
}

/** The policy of a job that posts to a webhook: repeated for a day. */
export const deliveryPolicy = {
  maxAttempts: 1000,
  backoff: { first: seconds(5), factor: 2, max: minutes(15), jitter: 0.1 },
  timeout: seconds(30),
  maxAge: hours(24),
} as const

/** Posts a notice in an attempt of a job, and decides by the response: delivered, later, again, or given up at the third refusal. */
export async function deliverNotice(
  ctx: Pick<JobContext, 'id' | 'signal' | 'resumeData' | 'checkpoint'>,
  webhook: Webhook,
  notice: WebhookNotice,
  clock: Clock,
): Promise<{ status: number } | Snooze> {
  const { status, retryAfter } = await postNotice(webhook, notice, ctx.id, { clock, signal: ctx.signal })
  const judged = judgeWebhookResponse(status, retryAfter, clock.now())
  if (judged.verdict === 'accepted') return { status }
  if (judged.verdict === 'wait') return snooze(judged.delay)
  if (judged.verdict !== 'refused') throw refusedBy(status)
  // Counted apart from attempts: an attempt that waited, or met a failing server, was not refused.
  const refused = 1 + (typeof ctx.resumeData === 'number' ? ctx.resumeData : 0)
  if (refused >= refusals) throw doNotRetry(refusedBy(status))
  await ctx.checkpoint('refused', refused)
  throw refusedBy(status)
}
