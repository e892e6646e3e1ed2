/** Gives routes of an application the few internals of the engine that such routes need. */
import {
  deliverNotice,
  deliveryPolicy,
  type Engine,
  internalsOf,
  isWebAddress,
  type Webhook,
  type WebhookNotice,
} from '../engine/create-engine.ts'
import type { JobContext, Snooze } from '../index.ts'
import type { Clock } from '../lib/clock.ts'

/** The source of time of the engine: the virtual clock in a test. */
export const clockOf = (engine: Engine): Clock => internalsOf(engine).clock

/**
 * Call after erasing a resource created by an idempotent request of `route` (`post /letters`). Replaces the stored response by the
 * field `id`; repeating the request then fails with `not_found` instead of creating the resource again.
 */
export const forgetResponses = (engine: Engine, route: string, id: string): Promise<void> =>
  internalsOf(engine).forgetAnswers(route, id)

/** The options of a job that posts to a webhook: attempts with backoff for a day. */
export const webhookPolicy = deliveryPolicy

/** True for an http or https address, for the check of a webhook that a request names. */
export const isWebhookAddress: (given: unknown) => boolean = isWebAddress

/**
 * Posts a notice to a webhook of an application, in the handler of a job with `webhookPolicy`: signed, without redirects, and judged as the
 * notices of the engine are. Return the result from the handler. The errors contain neither the address nor the secret.
 */
export const deliverWebhook = (
  engine: Engine,
  ctx: Pick<JobContext, 'id' | 'signal' | 'resumeData' | 'checkpoint'>,
  webhook: Webhook,
  notice: WebhookNotice,
): Promise<{ status: number } | Snooze> => deliverNotice(ctx, webhook, notice, clockOf(engine))
