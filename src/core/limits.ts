/** What a queue allows, over all workers: how many run at once, how many start within a time, how many may wait. */
import { type Duration, hours, seconds } from './duration.ts'
import { asText } from './json.ts'
import { namePattern, nameRule } from './name.ts'
import { refuseOption, refuseUnknownOptions } from './refuse.ts'

export interface Rate {
  limit: number
  per: Duration
}

export interface GroupLimits {
  /** At once, over all workers. */
  concurrency?: number
  /** At most `limit` starts in any stretch of time as long as `per`. */
  rate?: Rate
}

export interface PerGroupLimits extends GroupLimits {
  /** At most `limit` jobs come in by enqueue and enqueueMany in any stretch as long as `per`; past it: rate_limited. */
  admit?: Rate
}

export interface QueueLimits extends GroupLimits {
  /** The same for each groupKey by itself; jobs without one are not limited by it. */
  perGroup?: PerGroupLimits
  /** Once so many wait, enqueue refuses with queue_full. */
  maxDepth?: number
}

/** Queue name to its limits. A queue that is not named keeps those it has; `{}` lifts them. */
export type Limits = Readonly<Record<string, QueueLimits>>

const most = 1_000_000
// A number that was meant as seconds would be a thousand times too short.
const shortestPer = seconds(1)
const longestPer = hours(24)

export function checkLimits(limits: Limits): Limits {
  for (const [queue, asked] of Object.entries(object('limits', limits))) {
    const at = `limits.${queue}`
    if (!namePattern.test(queue))
      refuseOption(at, `a queue's name is ${nameRule.en}`, `o nome de uma fila tem ${nameRule.pt}`)
    refuseUnknownOptions(object(at, asked), ['concurrency', 'rate', 'perGroup', 'maxDepth'], `${at}.`)
    gate(at, asked)
    whole(`${at}.maxDepth`, asked.maxDepth, 100_000_000)
    if (asked.perGroup === undefined) continue
    refuseUnknownOptions(object(`${at}.perGroup`, asked.perGroup), ['concurrency', 'rate', 'admit'], `${at}.perGroup.`)
    gate(`${at}.perGroup`, asked.perGroup)
    if (asked.perGroup.admit !== undefined) rateAt(`${at}.perGroup.admit`, asked.perGroup.admit)
  }
  return limits
}

function gate(at: string, { concurrency, rate }: GroupLimits): void {
  whole(`${at}.concurrency`, concurrency, most)
  if (rate !== undefined) rateAt(`${at}.rate`, rate)
}

function rateAt(at: string, rate: Rate): void {
  refuseUnknownOptions(object(at, rate), ['limit', 'per'], `${at}.`)
  if (rate.limit === undefined || rate.per === undefined)
    refuseOption(at, 'it is { limit, per }, with both', 'é { limit, per }, com os dois')
  checkRate(rate, `${at}.`)
}

/** `within`: where its two options stand, such as `limits.q.rate.`. */
export function checkRate({ limit, per }: Rate, within = ''): void {
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

/** Its jobs pass a gate. */
export const isGated = (of: QueueLimits): boolean => limits(of) || limits(of.perGroup)
/** And one for each group. */
export const isGrouped = (of: QueueLimits): boolean => limits(of.perGroup)
