/** What the answer of a webhook means. Pure, in one place. */
import { type Duration, hours, seconds } from './duration.ts'

export type Judged =
  | { what: 'told' }
  /** It asks for time: no try is spent. */
  | { what: 'wait'; delay: Duration }
  | { what: 'again' }
  /** Trying again as it is cannot help. */
  | { what: 'refused' }

const longestWait = hours(1)

export function judgeAnswer(status: number, retryAfter: string | undefined, now: Date): Judged {
  if (status >= 200 && status < 300) return { what: 'told' }
  if (status === 429 || status === 503) {
    const delay = delayOf(retryAfter, now)
    if (delay !== undefined) return { what: 'wait', delay }
  }
  if (status >= 500 || status === 408 || status === 425 || status === 429) return { what: 'again' }
  // A redirect is not followed: what is signed for one address is not sent to another.
  return { what: 'refused' }
}

/** Seconds or a date, as HTTP has it; what is neither says nothing. */
function delayOf(given: string | undefined, now: Date): Duration | undefined {
  const text = given?.trim() ?? ''
  // Date.parse alone takes "-5" for a year.
  const date = /^[a-z]{3,9},? .* gmt$/i.test(text) ? Date.parse(text) : Number.NaN
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : date - now.getTime()
  if (Number.isNaN(ms)) return undefined
  return Math.min(Math.max(ms, seconds(1)), longestWait) as Duration
}
