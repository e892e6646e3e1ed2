/** What a queue allows, over all workers: how many run at once, how many start within a time, how many may wait. */
import { RetomaError, say } from '../errors.ts'
import { type Duration, hours, seconds } from './duration.ts'
import { asText } from './json.ts'
import { namePattern, nameRule } from './name.ts'
import { suggestion } from './suggest.ts'

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

export interface QueueLimits extends GroupLimits {
  /** The same for each groupKey by itself; jobs without one are not limited by it. */
  perGroup?: GroupLimits
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
      refuse(at, `a queue's name is ${nameRule.en}`, `o nome de uma fila tem ${nameRule.pt}`)
    known(at, object(at, asked), ['concurrency', 'rate', 'perGroup', 'maxDepth'])
    gate(at, asked)
    whole(`${at}.maxDepth`, asked.maxDepth, 100_000_000)
    if (asked.perGroup === undefined) continue
    known(`${at}.perGroup`, object(`${at}.perGroup`, asked.perGroup), ['concurrency', 'rate'])
    gate(`${at}.perGroup`, asked.perGroup)
  }
  return limits
}

function gate(at: string, { concurrency, rate }: GroupLimits): void {
  whole(`${at}.concurrency`, concurrency, most)
  if (rate === undefined) return
  known(`${at}.rate`, object(`${at}.rate`, rate), ['limit', 'per'])
  if (rate.limit === undefined || rate.per === undefined)
    refuse(`${at}.rate`, 'it is { limit, per }, with both', 'é { limit, per }, com os dois')
  whole(`${at}.rate.limit`, rate.limit, most)
  if (!(Number.isFinite(rate.per) && rate.per >= shortestPer && rate.per <= longestPer))
    refuse(
      `${at}.rate.per`,
      `it is a duration from 1 second to 24 hours, such as minutes(1), not ${asText(rate.per)}`,
      `é uma duração de 1 segundo a 24 horas, como minutes(1), não ${asText(rate.per)}`,
    )
}

function whole(option: string, value: number | undefined, largest: number): void {
  if (value !== undefined && !(Number.isInteger(value) && value >= 1 && value <= largest))
    refuse(
      option,
      `it is a whole number from 1 to ${largest}, not ${asText(value)}`,
      `é um número inteiro de 1 a ${largest}, não ${asText(value)}`,
    )
}

function known(at: string, given: object, names: readonly string[]): void {
  for (const name of Object.keys(given)) {
    if (names.includes(name)) continue
    const hint = suggestion(name, names)
    refuse(`${at}.${name}`, `there is no such option${hint.en}`, `não existe essa opção${hint.pt}`)
  }
}

function object<T extends object>(at: string, value: T): T {
  const prototype = typeof value === 'object' && value !== null ? Object.getPrototypeOf(value) : undefined
  if (prototype !== Object.prototype && prototype !== null)
    refuse(at, `it is an object, not ${asText(value)}`, `é um objeto, não ${asText(value)}`)
  return value
}

function refuse(option: string, en: string, pt: string): never {
  throw new RetomaError('bad_option', { option, problem: say(en, pt) })
}

const limits = ({ concurrency, rate }: GroupLimits = {}): boolean => concurrency !== undefined || rate !== undefined

/** Its jobs pass a gate. */
export const isGated = (of: QueueLimits): boolean => limits(of) || limits(of.perGroup)
/** And one for each group. */
export const isGrouped = (of: QueueLimits): boolean => limits(of.perGroup)
