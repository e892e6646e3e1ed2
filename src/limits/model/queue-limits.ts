/** Checks the limits of a queue over all workers: running jobs, starts in a period, waiting jobs. */

import { refuseOption, refuseUnknownOptions } from '../../errors/invalid-option.ts'
import { type Duration, hours, seconds } from '../../lib/values/duration.ts'
import { asText } from '../../lib/values/json.ts'
import { namePattern, nameRule } from '../../lib/values/name.ts'

/** At most `limit` in any period of length `per`. */
export interface QueueRate {
  limit: number
  per: Duration
}

/** Limits of a queue, or of each group of a queue. */
export interface GroupLimits {
  /** Running jobs at the same time, over all workers. Default: no limit. */
  concurrency?: number
  /** At most `limit` starts in any period of length `per`. Default: no limit. */
  rate?: QueueRate
}

/** Limits of each group of a queue. */
export interface PerGroupLimits extends GroupLimits {
  /**
   * At most `limit` jobs per period `per` through enqueue and enqueueMany; above the limit: `rate_limited`. Default:
   * no limit.
   */
  admit?: QueueRate
}

/** Limits of a queue over all workers. */
export interface QueueLimits extends GroupLimits {
  /**
   * The same limits for each groupKey separately; jobs without a groupKey are free of the limits. Default: no limits.
   */
  perGroup?: PerGroupLimits
  /** If so many jobs wait, enqueue fails with `queue_full`. Default: no limit. */
  maxDepth?: number
}

/** Limits by queue name. A queue without an entry keeps the stored limits; `{}` removes the limits. */
export type LimitsByQueue = Readonly<Record<string, QueueLimits>>

const most = 1_000_000
// A number meant as seconds would be too short by a factor of 1,000.
const shortestPer = seconds(1)
const longestPer = hours(24)

export function checkLimits(limits: LimitsByQueue): LimitsByQueue {
  for (const [queue, asked] of Object.entries(object('limits', limits))) {
    const at = `limits.${queue}`
    if (!namePattern.test(queue))
      refuseOption(at, `a queue's name is ${nameRule.en}`, `o nome de uma fila tem ${nameRule.pt}`)
    refuseUnknownOptions(object(at, asked), ['concurrency', 'rate', 'perGroup', 'maxDepth'], `${at}.`)
    checkConcurrencyAndRate(at, asked)
    whole(`${at}.maxDepth`, asked.maxDepth, 100_000_000)
    if (asked.perGroup === undefined) continue
    refuseUnknownOptions(object(`${at}.perGroup`, asked.perGroup), ['concurrency', 'rate', 'admit'], `${at}.perGroup.`)
    checkConcurrencyAndRate(`${at}.perGroup`, asked.perGroup)
    if (asked.perGroup.admit !== undefined) rateAt(`${at}.perGroup.admit`, asked.perGroup.admit)
  }
  return limits
}

function checkConcurrencyAndRate(at: string, { concurrency, rate }: GroupLimits): void {
  whole(`${at}.concurrency`, concurrency, most)
  if (rate !== undefined) rateAt(`${at}.rate`, rate)
}

function rateAt(at: string, rate: QueueRate): void {
  refuseUnknownOptions(object(at, rate), ['limit', 'per'], `${at}.`)
  if (rate.limit === undefined || rate.per === undefined)
    refuseOption(at, 'it is { limit, per }, with both', 'é { limit, per }, com os dois')
  checkRate(rate, `${at}.`)
}

/** `within`: prefix of both option names, such as `limits.q.rate.`. */
export function checkRate({ limit, per }: QueueRate, within = ''): void {
  whole(`${within}limit`, limit, most)
  if (!(Number.isFinite(per) && per >= shortestPer && per <= longestPer))
    refuseOption(
      `${within}per`,
      `it is a duration from 1 second to 24 hours, such as minutes(1), not ${asText(per)}`,
      `é uma duração de 1 segundo a 24 horas, como minutes(1), não ${asText(per)}`,
    )
}

function whole(option: string, value: number | undefined, largest: number): void {
  if (value !== undefined && !(Number.isInteger(value) && value >= 1 && value <= largest))
    refuseOption(
      option,
      `it is a whole number from 1 to ${largest}, not ${asText(value)}`,
      `é um número inteiro de 1 a ${largest}, não ${asText(value)}`,
    )
}

function object<T extends object>(at: string, value: T): T {
  const prototype = typeof value === 'object' && value !== null ? Object.getPrototypeOf(value) : undefined
  if (prototype !== Object.prototype && prototype !== null)
    refuseOption(at, `it is an object, not ${asText(value)}`, `é um objeto, não ${asText(value)}`)
  return value
}

const limits = ({ concurrency, rate }: GroupLimits = {}): boolean => concurrency !== undefined || rate !== undefined

/** The jobs of the queue are limited jobs. */
export const isLimited = (of: QueueLimits): boolean => limits(of) || limits(of.perGroup)
/** The queue has a limit for each groupKey. */
export const isGrouped = (of: QueueLimits): boolean => limits(of.perGroup)
