/** Checks the options of an enqueued job. */
import { type LocalizedText, localized } from '../../errors/errors.ts'
import { refuseOption, refuseUnknownOptions } from '../../errors/invalid-option.ts'
import type { AnyJob } from '../../jobs/model/job.ts'
import type { JobPolicy } from '../../jobs/model/policy.ts'
import { type JobPolicyOptions, jobPolicy } from '../../jobs/model/policy-options.ts'
import { type OwnRetention, ownRetention, type Retention } from '../../jobs/model/retention.ts'
import { type Duration, longestDuration } from '../../lib/values/duration.ts'
import { asText, isStorableText } from '../../lib/values/json.ts'
import { namePattern, nameRule } from '../../lib/values/name.ts'

/** Options of `enqueue`. */
export interface EnqueueOptions {
  /**
   * Unique key: at most a single job of the kind has the key. While a job has the key, enqueue returns the existing
   * job. Default: no key.
   */
  key?: string
  /** End of the unique key: 24 h after the final state of the job (default), or at the final state. */
  keyUntil?: 'day' | 'final'
  /** 0 (first) to 9; default 4. */
  priority?: number
  /** The instant before which the job does not start. Default: now. */
  runAt?: Date
  /** The time before which the job does not start, such as `minutes(5)`. Default: none. */
  delay?: Duration
  /** The tenant or user of the job. Default: no group. */
  groupKey?: string
  /** Your own code for the job, such as the code of a document; shown wherever the job is shown. Default: none. */
  ref?: string
  /** The queue of this job. Only workers of the queue run the job. Default: the queue of the kind. */
  queue?: string
  /** Attempts in total for this job. Default: `maxAttempts` of the kind. */
  maxAttempts?: number
  /** The delays between the attempts of this job. A part that is left out is as for the kind. Default: `backoff` of the kind. */
  backoff?: NonNullable<JobPolicyOptions['backoff']>
  /** The longest duration of an attempt of this job. Default: `timeout` of the kind. */
  timeout?: Duration
  /**
   * The time this job stays after its end: a duration, or a duration for each final state. A state that is left out is as for the
   * kind. Default: `retention` of the kind, otherwise of the engine.
   */
  retention?: Retention
}

/** The options that a single item of a batch cannot have; a submit has them for all items. */
export const optionsOfWholeBatch = ['queue', 'maxAttempts', 'backoff', 'timeout', 'retention'] as const
/** Options of a single item of a batch. */
export type BatchItemOptions = Omit<EnqueueOptions, (typeof optionsOfWholeBatch)[number]>

/** The checked options of an enqueue, with their defaults. */
export interface CheckedEnqueueOptions {
  key: string | null
  keyHold: 'day' | 'final' | null
  priority: number
  runAt: Date | null
  delayMs: number
  groupKey: string | null
  ref: string | null
  /** null: the queue of the kind. */
  queue: string | null
  /** null: the policy of the kind. */
  policyOverride: Partial<JobPolicy> | null
  /** null: the retention of the engine. */
  retention: OwnRetention | null
}

const names = ['key', 'keyUntil', 'priority', 'runAt', 'delay', 'groupKey', 'ref', ...optionsOfWholeBatch]

/** `job`: the job whose policy and retention the options override. */
export function checkEnqueueOptions(
  options: EnqueueOptions,
  job: Pick<AnyJob, 'policy' | 'retention'>,
): CheckedEnqueueOptions {
  if (options === null || typeof options !== 'object')
    refuseOption('options', 'it is an object, or left out', 'é um objeto, ou nada')
  refuseUnknownOptions(options, names)
  const { key, keyUntil, priority = 4, runAt, delay = 0, groupKey, ref, queue } = options
  if (keyUntil !== undefined && keyUntil !== 'day' && keyUntil !== 'final')
    refuseValue('keyUntil', keyUntil, `it is 'day' or 'final'`, `é 'day' ou 'final'`)
  if (keyUntil !== undefined && key === undefined) refuseOption('keyUntil', 'it goes with key', 'vai com key')
  if (!Number.isInteger(priority) || priority < 0 || priority > 9)
    refuseValue(
      'priority',
      priority,
      'it is a whole number from 0 (first) to 9',
      'é um número inteiro de 0 (primeiro) a 9',
    )
  if (runAt !== undefined && options.delay !== undefined)
    refuseOption('delay', 'give either runAt or delay, not both', 'use runAt ou delay, um só')
  if (runAt !== undefined && !(runAt instanceof Date && Number.isFinite(runAt.getTime())))
    refuseValue('runAt', runAt, 'it is a valid Date', 'é um Date válido')
  if (runAt !== undefined && (runAt.getUTCFullYear() < 1 || runAt.getUTCFullYear() > 9999))
    refuseOption('runAt', 'its year is from 1 to 9999', 'o ano é de 1 a 9999')
  if (!(Number.isFinite(delay) && delay >= 0 && delay <= longestDuration))
    refuseValue(
      'delay',
      delay,
      'it is a duration from zero to 100 years, such as minutes(5)',
      'é uma duração de zero a 100 anos, como minutes(5)',
    )
  return {
    key: textOption('key', key),
    keyHold: key === undefined ? null : (keyUntil ?? 'day'),
    priority,
    runAt: runAt ?? null,
    delayMs: delay,
    groupKey: textOption('groupKey', groupKey),
    ref: textOption('ref', ref),
    queue: queueOption(queue),
    policyOverride: jobPolicy(options, job.policy, option => (en, pt) => refuseOption(option, en, pt)),
    retention: retentionOption(options.retention, job.retention),
  }
}

function queueOption(queue: string | undefined): string | null {
  if (queue === undefined) return null
  if (typeof queue !== 'string' || !namePattern.test(queue))
    refuseValue('queue', queue, `it is ${nameRule.en}`, `tem ${nameRule.pt}`)
  return queue
}

function retentionOption(given: Retention | undefined, ofKind: OwnRetention | null): OwnRetention | null {
  if (given === undefined) return ofKind
  return { ...ofKind, ...ownRetention(given, (en, pt) => refuseOption('retention', en, pt)) }
}

/** Checks the options that `each` returns for an item: a promise or a missing value would silently mean no options. */
export function optionsOfItem(given: unknown): EnqueueOptions {
  if (given instanceof Promise) given.catch(() => {})
  if (given === null || typeof given !== 'object' || given instanceof Promise || Array.isArray(given))
    refuseOption(
      'each',
      'it gives the options of an item at once, such as { key }',
      'dá as opções de um item na hora, como { key }',
    )
  return given
}

/** Returns a text that PostgreSQL can store, of at most 500 characters. */
export function textOption(option: string, value: string | undefined): string | null {
  if (value === undefined) return null
  if (typeof value !== 'string' || value.length === 0 || value.length > 500)
    refuseValue(option, value, 'it is a text of 1 to 500 characters', 'é um texto de 1 a 500 caracteres')
  if (!isStorableText(value))
    refuseOption(
      option,
      'it holds a character that PostgreSQL cannot store',
      'tem um caractere que o PostgreSQL não consegue guardar',
    )
  return value
}

/** Names the expected value and the given value. */
function refuseValue(option: string, value: unknown, en: string, pt: string): never {
  const given = show(value)
  return refuseOption(option, `${en}, not ${given.en}`, `${pt}, não ${given.pt}`)
}

function show(value: unknown): LocalizedText {
  if (value instanceof Date) return localized('an invalid date', 'uma data inválida')
  if (typeof value === 'string' && value.length > 40)
    return localized(`${value.length} characters`, `${value.length} caracteres`)
  const text = typeof value === 'string' ? `"${value}"` : asText(value)
  return localized(text, text)
}

/**
 * Returns the delays to send to workers about new jobs, in milliseconds from now: 0 if a job is ready, and the delay of the
 * earliest other job. A worker with this knowledge claims again at the right instant.
 */
export function dueTimesOf(asked: readonly Pick<CheckedEnqueueOptions, 'runAt' | 'delayMs'>[], now: Date): number[] {
  let ready = false
  let later = Number.POSITIVE_INFINITY
  for (const { runAt, delayMs } of asked) {
    const wait = runAt === null ? delayMs : runAt.getTime() - now.getTime()
    if (wait <= 0) ready = true
    else later = Math.min(later, wait)
  }
  return [...(ready ? [0] : []), ...(later < Number.POSITIVE_INFINITY ? [later] : [])]
}
