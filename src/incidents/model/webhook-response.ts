/** Judges the response of a webhook. Pure. */
import { type Duration, hours, seconds } from '../../lib/values/duration.ts'

export type WebhookVerdict =
  | { what: 'told' }
  /** The receiver asks for a delay: the attempt is not counted. */
  | { what: 'wait'; delay: Duration }
  | { what: 'again' }
  /** Another attempt with the same request cannot help. */
  | { what: 'refused' }

const longestWait = hours(1)

export function judgeWebhookResponse(status: number, retryAfter: string | undefined, now: Date): WebhookVerdict {
  if (status >= 200 && status < 300) return { what: 'told' }
  if (status === 429 || status === 503) {
    const delay = delayOf(retryAfter, now)
    if (delay !== undefined) return { what: 'wait', delay }
  }
  if (status >= 500 || status === 408 || status === 425 || status === 429) return { what: 'again' }
  // Redirects are not followed: a request signed for an address is not sent to another address.
  return { what: 'refused' }
}

/** Parses seconds or a date, as in HTTP; another form is ignored. */
function delayOf(given: string | undefined, now: Date): Duration | undefined {
  const text = given?.trim() ?? ''
  // Date.parse alone reads "-5" as a year.
  const date = /^[a-z]{3,9},? .* gmt$/i.test(text) ? Date.parse(text) : Number.NaN
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : date - now.getTime()
  if (Number.isNaN(ms)) return undefined
  return Math.min(Math.max(ms, seconds(1)), longestWait) as Duration
}
