/**
 * Estimates the next check of the watchdog, which checks every few seconds after its last check. Names the first check after the
 * due time, not the due time, so that a person who waits so long has waited long enough.
 */
import { type LocalizedText, localized } from '../../errors/errors.ts'
import { watchEvery } from '../../jobs/model/policy.ts'
import { spanText } from '../../lib/values/format-duration.ts'
import type { WatchdogFacts } from './explain-facts.ts'
import { nothing, since } from './sentence-parts.ts'

/** Without six checks in a row an explanation promises no check, well before the failure limit (jobs/model/policy.ts, unwatchedAfter). */
const lateMs = 6 * watchEvery

export interface NextCheck {
  /** Seconds until the first check from `due` on; 0: at any moment. */
  seconds: number
  /** No watchdog runs: there will be no check. */
  late: boolean
}

export function nextCheck({ checkedAt }: WatchdogFacts, now: Date, due = now): NextCheck {
  if (checkedAt === null || now.getTime() - checkedAt.getTime() > lateMs) return { seconds: 0, late: true }
  // A late check can come at any moment.
  const from = Math.max(checkedAt.getTime(), now.getTime() - watchEvery)
  const checks = Math.max(1, Math.ceil((due.getTime() - from) / watchEvery))
  return { seconds: Math.max(0, Math.ceil((from + checks * watchEvery - now.getTime()) / 1000)), late: false }
}

/**
 * Returns the first sweep from `due` on. A kind with a long sweepEvery is swept at instants derived from the clock alone, which
 * are sweepEvery minus a check interval apart.
 */
export function nextSweep(due: Date, sweepEvery: number): Date {
  const step = sweepEvery - watchEvery
  return step <= 0 ? due : new Date(Math.ceil(due.getTime() / step) * step)
}

/** `; but no watchdog has checked for 3 min`; empty while a watchdog checks. */
export function noWatchdog({ checkedAt }: WatchdogFacts, { late }: NextCheck, now: Date): LocalizedText {
  if (!late) return nothing
  if (checkedAt === null)
    return localized('; but no watchdog has ever checked', '; mas nenhum watchdog verificou até hoje')
  const span = since(checkedAt, now)
  return localized(`; but no watchdog has checked for ${span}`, `; mas nenhum watchdog verifica há ${span}`)
}

/** `in about 8 s`, `at any moment`. */
export const comingIn = ({ seconds }: NextCheck): LocalizedText =>
  seconds === 0
    ? localized('at any moment', 'a qualquer momento')
    : localized(`in about ${spanText(seconds)}`, `em cerca de ${spanText(seconds)}`)

export const startWatchdog = localized(
  'start one; every `retoma up`, `serve` or `worker` checks',
  'inicie um; todo `retoma up`, `serve` ou `worker` verifica',
)
