/**
 * Checks the policy options of a kind (defineJob) and of the items of a batch (defineBatch and submit), with the same code.
 *
 * Invariant: the result has only the given options, each option complete: if a part of an option is given, such as
 * `backoff.first`, the rest comes from the policy below. A policy therefore overrides another policy option by option, here with
 * a spread and in the database with `||`.
 */

import { type Refuse, refuseUnknown } from '../../errors/invalid-option.ts'
import { megabytes } from '../../lib/values/bytes.ts'
import { type Duration, longestDuration } from '../../lib/values/duration.ts'
import { cleanText, shownValue } from '../../lib/values/json.ts'
import type { Backoff } from './backoff.ts'
import { heartbeatEvery, type Isolation, type JobPolicy, type PolicyAction, type PolicyMessages } from './policy.ts'

/** The policy of a kind: attempts, timeouts and what happens in trouble. */
export interface PolicyOptions {
  /** Attempts in total: 3 means the first attempt and two more. Default 3. */
  maxAttempts?: number
  /**
   * The delays between attempts. A part that is left out has its default. Default: 5 s, doubled each time, 10 minutes
   * at most, 10 % jitter.
   */
  backoff?: Partial<Backoff>
  /** The longest duration of an attempt. Default 15 minutes. */
  timeout?: Duration
  /** The longest time of an attempt without a step, a checkpoint or progress. Default: no limit. */
  stallAfter?: Duration
  /** The longest time from enqueue, or from `runAt`, to the final state; an older job fails, even while it runs. Default: no limit. */
  maxAge?: Duration
  /**
   * The longest time a ready job waits for a worker; then the job fails. Counts from the instant at which the job became ready, anew after a retry
   * or a release. A running job never fails by `maxWait`, and the pause of a queue or batch does not count. Default: no limit.
   */
  maxWait?: Duration
  /** The usual duration of an attempt; the watchdog reports a longer attempt as slow. Default: no report. */
  expect?: Duration
  /** The time without a heartbeat of the worker until the job is an orphan; 15 s at least. Default 20 s. */
  orphanAfter?: Duration
  /** The interval of the watchdog's checks for timeouts and stalls of the kind. Default 5 s. */
  sweepEvery?: Duration
  /** Crashes of the process until the job fails as `poison`. Default 3. */
  maxCrashes?: number
  /** What happens to an orphan: retry, stall (wait for a person) or fail. Default: retry. */
  onOrphan?: PolicyAction
  /** What happens after `stallAfter`: retry, stall (wait for a person) or fail. Default: stall. */
  onStall?: PolicyAction
  /**
   * Place of the handler. thread and process need `handler`: a function cannot be sent to another process. Default:
   * inline.
   */
  isolation?: Isolation
  /**
   * Memory limit of the thread (heap) or process (total): `megabytes(512)`; above the limit the engine ends the
   * child, and the job has a crash. Default: no limit.
   */
  memory?: number
  /** Messages for jobs ended by the watchdog, in place of the default messages. */
  messages?: PolicyMessages
}

export const policyOptions = [
  'maxAttempts', 'backoff', 'timeout', 'stallAfter', 'maxAge', 'maxWait', 'expect', 'orphanAfter', 'sweepEvery', 'maxCrashes', 'onOrphan', 'onStall',
  'isolation', 'memory', 'messages',
] // biome-ignore format: read as one list

/**
 * Options of the kind only: isolation depends on the code of the handler; the death of a worker and the sweeps concern all jobs
 * of the kind at once.
 */
const ofTheKind = ['isolation', 'memory', 'orphanAfter', 'sweepEvery'] as const

/** Policy override for the items of a batch. null: switches an option of the kind off. */
export interface ItemOptions
  extends Omit<PolicyOptions, (typeof ofTheKind)[number] | 'stallAfter' | 'maxAge' | 'maxWait' | 'expect'> {
  /** As in `defineJob`; null: no limit. Default: the option of the kind. */
  stallAfter?: Duration | null
  /** As in `defineJob`; null: no limit. Default: the option of the kind. */
  maxAge?: Duration | null
  /** As in `defineJob`; null: no limit. Default: the option of the kind. */
  maxWait?: Duration | null
  /** As in `defineJob`; null: no report. Default: the option of the kind. */
  expect?: Duration | null
}

/** Returns the policy of a kind: the given options over the defaults. */
export const kindPolicy = (given: PolicyOptions, defaults: JobPolicy, refuse: Refuse): JobPolicy => ({
  ...defaults,
  ...policyGiven(given, defaults, refuse, '', false),
})

/** Returns the policy override of a batch's items, relative to the policy of the kind. */
export function itemPolicy(given: ItemOptions, kind: JobPolicy, refuse: Refuse): Partial<JobPolicy> {
  if (given === null || typeof given !== 'object')
    refuse(
      'items takes what is to differ from its kind, such as { maxAttempts: 5 }',
      'items recebe o que deve ser diferente do tipo, como { maxAttempts: 5 }',
    )
  for (const option of ofTheKind)
    if (option in given)
      refuse(
        `items.${option} cannot differ from batch to batch; give it to defineJob`,
        `items.${option} não pode variar de lote para lote; dê em defineJob`,
      )
  const known = policyOptions.filter(option => !ofTheKind.some(each => each === option))
  refuseUnknown(given, known, refuse, 'items.')
  return policyGiven(given, kind, refuse, 'items.', true)
}

/** Options of the policy that a single job may override. */
export type JobPolicyOptions = Pick<PolicyOptions, (typeof ofTheJob)[number]>
const ofTheJob = ['maxAttempts', 'backoff', 'timeout'] as const

/** Returns the policy override of a job, relative to the policy of the kind; null: none. `refuse`: by option. */
export function jobPolicy(
  given: JobPolicyOptions,
  kind: JobPolicy,
  refuse: (option: string) => Refuse,
): Partial<JobPolicy> | null {
  const own = ofTheJob.filter(option => given[option] !== undefined)
  if (own.length === 0) return null
  return Object.assign(
    {},
    ...own.map(option => policyGiven({ [option]: given[option] }, kind, refuse(option), '', false)),
  ) as Partial<JobPolicy>
}

/** `within`: prefix of the option names. `mayBeOff`: null may switch off an option of the policy below. */
function policyGiven(
  given: PolicyOptions | ItemOptions,
  below: JobPolicy,
  refuse: Refuse,
  within: string,
  mayBeOff: boolean,
): Partial<JobPolicy> {
  const options: Omit<PolicyOptions, keyof ItemOptions> & ItemOptions = given
  const whole = (option: 'maxAttempts' | 'maxCrashes') => {
    const value = options[option]
    if (value !== undefined && !(Number.isInteger(value) && value >= 1 && value <= 1_000_000))
      refuse(
        `${within}${option} must be a whole number from 1 to 1000000, not ${shownValue(value)}`,
        `${within}${option} deve ser um número inteiro de 1 a 1000000, não ${shownValue(value)}`,
      )
    return value
  }
  const duration = (option: string, value: Duration | undefined) => {
    if (value !== undefined && !(value > 0 && value <= longestDuration))
      refuse(
        `${within}${option} must be a duration above zero and up to 100 years, such as minutes(2)`,
        `${within}${option} deve ser uma duração acima de zero e de até 100 anos, como minutes(2)`,
      )
    return value
  }
  const optional = (option: 'stallAfter' | 'maxAge' | 'maxWait' | 'expect') => {
    const value = options[option]
    return value === null && mayBeOff ? null : duration(option, value as Duration | undefined)
  }
  const oneOf = <T extends string>(option: string, value: T | undefined, allowed: readonly T[]) => {
    if (value !== undefined && !allowed.includes(value))
      refuse(
        `${within}${option} must be one of ${allowed.join(', ')}, not "${value}"`,
        `${within}${option} deve ser um destes: ${allowed.join(', ')}; não "${value}"`,
      )
    return value
  }
  const backoff = backoffOf(options.backoff, below.backoff, refuse, within)
  duration('backoff.max', backoff?.max)
  const orphanAfter = duration('orphanAfter', options.orphanAfter)
  const threeBeats = `${(heartbeatEvery * 3) / 1000} s`
  if (orphanAfter !== undefined && orphanAfter < heartbeatEvery * 3)
    refuse(
      `orphanAfter must be at least three heartbeats, ${threeBeats}`,
      `orphanAfter deve ser de pelo menos três batimentos, ${threeBeats}`,
    )
  return onlyGiven({
    maxAttempts: whole('maxAttempts'),
    backoff,
    timeout: duration('timeout', options.timeout),
    stallAfter: optional('stallAfter'),
    maxAge: optional('maxAge'),
    maxWait: optional('maxWait'),
    expect: optional('expect'),
    orphanAfter,
    sweepEvery: duration('sweepEvery', options.sweepEvery),
    maxCrashes: whole('maxCrashes'),
    onOrphan: oneOf('onOrphan', options.onOrphan, actions),
    onStall: oneOf('onStall', options.onStall, actions),
    isolation: oneOf('isolation', options.isolation, ['inline', 'thread', 'process']),
    memoryBytes: memoryOf(options.memory, refuse),
    messages: messagesOf(options.messages, below.messages, refuse, within),
  })
}

export const actions: readonly PolicyAction[] = ['retry', 'stall', 'fail']

const onlyGiven = (policy: { [Option in keyof JobPolicy]: JobPolicy[Option] | undefined }): Partial<JobPolicy> =>
  Object.fromEntries(Object.entries(policy).filter(([, value]) => value !== undefined))

/** A missing part comes from `below`. */
export function backoffOf(
  given: Partial<Backoff> | undefined,
  below: Backoff,
  refuse: Refuse,
  within: string,
): Backoff | undefined {
  if (given === undefined) return undefined
  const parts = Object.keys(below)
  if (given === null || typeof given !== 'object' || Array.isArray(given))
    refuse(`${within}backoff takes { ${parts.join(', ')} }`, `${within}backoff recebe { ${parts.join(', ')} }`)
  refuseUnknown(given, parts, refuse, `${within}backoff.`)
  const backoff = { ...below, ...given }
  for (const [part, value] of Object.entries(given))
    if (typeof value !== 'number')
      refuse(`${within}backoff.${part} must be a number`, `${within}backoff.${part} deve ser um número`)
  if (!(backoff.first >= 0 && backoff.first <= longestDuration))
    refuse(
      `${within}backoff.first must be a duration, such as seconds(5)`,
      `${within}backoff.first deve ser uma duração, como seconds(5)`,
    )
  if (!(backoff.factor >= 1 && backoff.factor <= 100))
    refuse(`${within}backoff.factor must be from 1 to 100`, `${within}backoff.factor deve ser de 1 a 100`)
  if (!(backoff.jitter >= 0 && backoff.jitter <= 1))
    refuse(`${within}backoff.jitter must be from 0 to 1`, `${within}backoff.jitter deve ser de 0 a 1`)
  return backoff
}

const longestMessage = 1000

function messagesOf(
  given: PolicyMessages | undefined,
  below: PolicyMessages,
  refuse: Refuse,
  within: string,
): PolicyMessages | undefined {
  if (given === undefined) return undefined
  if (given === null || typeof given !== 'object')
    refuse(
      `${within}messages takes { orphan, stalled, overdue }`,
      `${within}messages recebe { orphan, stalled, overdue }`,
    )
  refuseUnknown(given, ['orphan', 'stalled', 'overdue'], refuse, `${within}messages.`)
  for (const [name, text] of Object.entries(given)) {
    if (typeof text !== 'string' || text.trim() === '' || text.length > longestMessage || cleanText(text) !== text)
      refuse(
        `${within}messages.${name} must be a text of 1 to ${longestMessage} characters`,
        `${within}messages.${name} deve ser um texto de 1 a ${longestMessage} caracteres`,
      )
  }
  return { ...below, ...given }
}

/** An idle process takes half of this memory. */
export const leastMemory = megabytes(128)

function memoryOf(memory: number | undefined, refuse: Refuse): number | undefined {
  if (memory !== undefined && !(Number.isSafeInteger(memory) && memory > 0))
    refuse('memory must be a number of bytes', 'memory deve ser um número de bytes')
  if (memory !== undefined && memory < leastMemory)
    refuse(
      `memory must be at least megabytes(${leastMemory / megabytes(1)}), half of which an empty process takes`,
      `memory deve ser de pelo menos megabytes(${leastMemory / megabytes(1)}), metade disso um processo vazio já usa`,
    )
  return memory
}
