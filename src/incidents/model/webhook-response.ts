/** Judges the response of a webhook. Pure. */
import { type Duration, hours, seconds } from '../../lib/values/duration.ts'

export type WebhookVerdict =
  | { verdict: 'accepted' }
  /** The receiver asks for a delay: the attempt is not counted. */
  | { verdict: 'wait'; delay: Duration }
  | { verdict: 'again' }
  /** Another attempt with the same request cannot help. */
  | { verdict: 'refused' }

const longestWait = hours(1)

export function judgeWebhookResponse(status: number, retryAfter: string | undefined, now: Date): WebhookVerdict {
  if (status >= 200 && status < 300) return { verdict: 'accepted' }
  if (status === 429 || status === 503) {
    const delay = delayOf(retryAfter, now)
    if (delay !== undefined) return { verdict: 'wait', delay }
  }
  if (status >= 500 || status === 408 || status === 425 || status === 429) return { verdict: 'again' }
  // Redirects are not followed: a request signed for an address is not sent to another address.
  return { verdict: 'refused' }
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
