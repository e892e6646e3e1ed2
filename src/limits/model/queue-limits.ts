/** Checks the limits of a queue over all workers: running jobs, starts in a period, waiting jobs. */

import { hintForOption, refuseOption, refuseUnknownOptions } from '../../errors/invalid-option.ts'
import { type Duration, hours, seconds } from '../../lib/values/duration.ts'
import { isStorableText, shownValue } from '../../lib/values/json.ts'
import { namePattern, nameRule } from '../../lib/values/name.ts'
import { mostWeight } from '../../lib/values/weight.ts'

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

/** The limits of each groupKey. Every other property is the name of a group with its own limits. */
export interface EachGroupLimits extends GroupLimits {
  /** At most `limit` jobs per period `per` through enqueue and enqueueMany; above the limit: `rate_limited`. Default: no limit. */
  admit?: QueueRate
}

/** A named group replaces each of the two limits that it gives; the other limit stays the limit of every group. */
export type PerGroupLimits = EachGroupLimits & { [group: string]: GroupLimits | QueueRate | number | undefined }

/** The part of a queue that takes turns: `group`, the jobs with the same groupKey; `batch`, the items of the same batch. */
export type FairTurns = 'group' | 'batch'

/** Limits of a queue over all workers. */
export interface QueueLimits extends GroupLimits {
  /**
   * The same limits for each groupKey separately, or for a group by its name; jobs without a groupKey are free of the limits.
   * Default: no limits.
   */
  perGroup?: PerGroupLimits
  /**
   * Within a priority, the groups or the batches of the queue take turns to start jobs, so that a million jobs of one group do not
   * delay another group. Default: jobs start in the order of their time. With limits in `perGroup` the groups always take turns.
   */
  fair?: FairTurns
  /** Jobs in one turn, by groupKey or by name of the batch: a whole number from 1 to 100. Default: 1. */
  weights?: Readonly<Record<string, number>>
  /** If so many jobs wait, enqueue fails with `queue_full`. Default: no limit. */
  maxDepth?: number
}

/** Limits by queue name. A queue without an entry keeps the stored limits; `{}` removes the limits. */
export type LimitsByQueue = Readonly<Record<string, QueueLimits>>

const most = 1_000_000
/** Every claim reads the row of the queue, so the row must stay small. */
const mostNames = 1000
const limitNames = ['concurrency', 'rate'] as const
const groupNames = [...limitNames, 'admit'] as const
// A number meant as seconds would be too short by a factor of 1,000.
const shortestPer = seconds(1)
const longestPer = hours(24)

export function checkLimits(limits: LimitsByQueue): LimitsByQueue {
  for (const [queue, asked] of Object.entries(object('limits', limits))) {
    const at = `limits.${queue}`
    if (!namePattern.test(queue))
      refuseOption(at, `a queue's name is ${nameRule.en}`, `o nome de uma fila tem ${nameRule.pt}`)
    if (typeof asked !== 'object' || asked === null)
      refuseOption(
        at,
        `limits are by the name of a queue, such as { mail: { concurrency: 5 } }, not ${shownValue(asked)}`,
        `os limites são pelo nome da fila, como { mail: { concurrency: 5 } }, não ${shownValue(asked)}`,
      )
    refuseUnknownOptions(object(at, asked), [...limitNames, 'perGroup', 'fair', 'weights', 'maxDepth'], `${at}.`)
    checkConcurrencyAndRate(at, asked)
    whole(`${at}.maxDepth`, asked.maxDepth, 100_000_000)
    if (asked.perGroup !== undefined) perGroupAt(`${at}.perGroup`, asked.perGroup)
    turnsAt(at, asked)
  }
  return limits
}

function perGroupAt(at: string, asked: PerGroupLimits): void {
  checkConcurrencyAndRate(at, object(at, asked))
  if (asked.admit !== undefined) rateAt(`${at}.admit`, asked.admit)
  const named = namedGroups(asked)
  checkNames(
    at,
    named.map(([group]) => group),
  )
  for (const [group, limits] of named) {
    if (typeof limits !== 'object' || limits === null) {
      // A misspelt option is more likely than a group with a name near an option.
      if (hintForOption(group, groupNames).en !== '') refuseUnknownOptions({ [group]: 0 }, groupNames, `${at}.`)
      const such = `'${group}': { concurrency: 10 }`
      refuseOption(
        `${at}.${group}`,
        `a group has an object of limits, such as ${such}, not ${shownValue(limits)}`,
        `um grupo tem um objeto de limites, como ${such}, não ${shownValue(limits)}`,
      )
    }
    refuseUnknownOptions(object(`${at}.${group}`, limits), limitNames, `${at}.${group}.`)
    checkConcurrencyAndRate(`${at}.${group}`, limits)
  }
}

function turnsAt(at: string, { fair, weights, perGroup }: QueueLimits): void {
  if (fair !== undefined && fair !== 'group' && fair !== 'batch')
    refuseOption(
      `${at}.fair`,
      `it is 'group' or 'batch', not ${shownValue(fair)}`,
      `é 'group' ou 'batch', não ${shownValue(fair)}`,
    )
  if (fair === 'batch' && limitsGroups(perGroup))
    refuseOption(
      `${at}.fair`,
      `with limits in perGroup the groups take turns: 'batch' needs a queue without concurrency and rate in perGroup`,
      `com limites em perGroup os grupos se revezam: 'batch' pede uma fila sem concurrency e rate em perGroup`,
    )
  if (weights === undefined) return
  const all = Object.entries(object(`${at}.weights`, weights))
  if (fair === undefined)
    refuseOption(
      `${at}.weights`,
      `it needs fair: 'group' or fair: 'batch' beside it`,
      `precisa de fair: 'group' ou fair: 'batch' ao lado`,
    )
  checkNames(
    `${at}.weights`,
    all.map(([name]) => name),
  )
  for (const [name, weight] of all) whole(`${at}.weights.${name}`, weight, mostWeight)
}

function checkNames(at: string, names: readonly string[]): void {
  if (names.length > mostNames)
    refuseOption(
      at,
      `it has at most ${mostNames} names, not ${names.length}`,
      `tem no máximo ${mostNames} nomes, não ${names.length}`,
    )
  for (const name of names)
    if (name === '' || name.length > 500 || !isStorableText(name))
      refuseOption(
        at,
        'each name is a text of 1 to 500 characters that PostgreSQL can store',
        'cada nome é um texto de 1 a 500 caracteres que o PostgreSQL consegue guardar',
      )
}

function checkConcurrencyAndRate(at: string, { concurrency, rate }: GroupLimits): void {
  whole(`${at}.concurrency`, concurrency, most)
  if (rate !== undefined) rateAt(`${at}.rate`, rate)
}

function rateAt(at: string, rate: QueueRate): void {
  if (typeof rate !== 'object' || rate === null)
    refuseOption(
      at,
      `it is an object, such as { limit: 10, per: seconds(1) }, not ${shownValue(rate)}`,
      `é um objeto, como { limit: 10, per: seconds(1) }, não ${shownValue(rate)}`,
    )
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
      `it is a duration from 1 second to 24 hours, such as minutes(1), not ${shownValue(per)}`,
      `é uma duração de 1 segundo a 24 horas, como minutes(1), não ${shownValue(per)}`,
    )
}

function whole(option: string, value: number | undefined, largest: number): void {
  if (value !== undefined && !(Number.isInteger(value) && value >= 1 && value <= largest))
    refuseOption(
      option,
      `it is a whole number from 1 to ${largest}, not ${shownValue(value)}`,
      `é um número inteiro de 1 a ${largest}, não ${shownValue(value)}`,
    )
}

function object<T extends object>(at: string, value: T): T {
  const prototype = typeof value === 'object' && value !== null ? Object.getPrototypeOf(value) : undefined
  if (prototype !== Object.prototype && prototype !== null)
    refuseOption(at, `it is an object, not ${shownValue(value)}`, `é um objeto, não ${shownValue(value)}`)
  return value
}

const hasLimit = ({ concurrency, rate }: GroupLimits = {}): boolean => concurrency !== undefined || rate !== undefined

/** The groups with limits of their own. */
export const namedGroups = (perGroup: PerGroupLimits = {}): [string, GroupLimits][] =>
  Object.entries(perGroup).filter(([name]) => !groupNames.includes(name as 'rate')) as [string, GroupLimits][]

const limitsGroups = (perGroup: PerGroupLimits | undefined): boolean =>
  hasLimit(perGroup) || namedGroups(perGroup).some(([, limits]) => hasLimit(limits))

/** The jobs of the queue are limited jobs: a claim takes them key by key. */
export const isLimited = (of: QueueLimits): boolean => hasLimit(of) || turnsOf(of) !== null
/** The source of the limit key of each job: the groupKey or the batch; null: all jobs of the queue have the same key. */
export const turnsOf = (of: QueueLimits): FairTurns | null => of.fair ?? (limitsGroups(of.perGroup) ? 'group' : null)
