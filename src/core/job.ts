/**
 * `defineJob`: a kind of job as its author writes it, checked at the door. What comes out is trusted everywhere else.
 */
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { type Saying, say } from '../errors.ts'
import type { Backoff } from './backoff.ts'
import type { JobContext } from './context.ts'
import { type Duration, longestDuration } from './duration.ts'
import { cleanText } from './json.ts'
import { namePattern, nameRule } from './name.ts'
import type { Skip, Snooze } from './outcome.ts'
import { type Action, beatEvery, defaultPolicy, type Isolation, type Messages, type Policy } from './policy.ts'
import { type Refuse, refuseDefinition, refuseUnknown } from './refuse.ts'

export interface JobOptions {
  kind: string
  /** Default: `default`. */
  queue?: string
  /**
   * Raise it when you change anything here: while an old and a new release run beside each other, all watchdogs judge by
   * the newest, and the old one leaves the new one's jobs alone. Jobs of older versions run here too; `ctx.version` says
   * whose a job is. A whole number from 1 (default).
   */
  version?: number
  /** The oldest version whose jobs this code still runs; older ones wait for a worker that does. Default 1. */
  oldestVersion?: number
  attempts?: number
  backoff?: Partial<Backoff>
  timeout?: Duration
  stallAfter?: Duration
  maxAge?: Duration
  expect?: Duration
  orphanAfter?: Duration
  sweepEvery?: Duration
  maxCrashes?: number
  onOrphan?: Action
  onStall?: Action
  isolation?: Isolation
  memory?: number
  /** What is said of a job that the watchdog ended, in place of its own words. */
  messages?: Messages
}

/** A kind of job: what `enqueue` takes and what a worker runs. */
export interface Job<Input = never, Output = unknown> {
  readonly kind: string
  readonly queue: string
  readonly version: number
  readonly oldestVersion: number
  readonly policy: Policy
  /** The parsed input, or the sentence that says what is wrong with it: the schema's own words. */
  readonly parse: (input: unknown) => Promise<{ value: unknown } | { problem: Saying }>
  readonly run: (context: JobContext, input: never) => Promise<unknown>
  /** Types only. */
  readonly types?: { input: Input; output: Output }
}

/** Any kind of job, whatever its input. */
// biome-ignore lint/suspicious/noExplicitAny: a list of jobs of different inputs has no narrower type
export type AnyJob = Job<any, any>

/** Whether defineJob made it. */
export const isJob = (job: AnyJob | undefined): boolean =>
  typeof job?.kind === 'string' && typeof job.parse === 'function'

type Result<Output> = Output | Skip | Snooze | Promise<Output | Skip | Snooze>

export function defineJob<Schema extends StandardSchemaV1, Output>(
  options: JobOptions & {
    input: Schema
    run: (context: JobContext, input: StandardSchemaV1.InferOutput<Schema>) => Result<Output>
  },
): Job<StandardSchemaV1.InferInput<Schema>, Output>
export function defineJob<Input = undefined, Output = unknown>(
  options: JobOptions & { input?: undefined; run: (context: JobContext, input: Input) => Result<Output> },
): Job<Input, Output>
export function defineJob(
  options: JobOptions & { input?: StandardSchemaV1 | undefined; run: (context: JobContext, input: never) => unknown },
): AnyJob {
  const name = typeof options?.kind === 'string' ? options.kind : ''
  const refuse: Refuse = refuseDefinition(name ? say(`the job "${name}"`, `job "${name}"`) : say('a job', 'job'))
  if (options === null || typeof options !== 'object')
    refuse('defineJob takes one object with kind and run', 'defineJob recebe um objeto com kind e run')
  refuseUnknown(options, knownOptions, refuse)
  if (!namePattern.test(name)) refuse(`kind must be ${nameRule.en}`, `kind deve ter ${nameRule.pt}`)
  const queue = options.queue ?? 'default'
  if (typeof queue !== 'string' || !namePattern.test(queue))
    refuse(`queue must be ${nameRule.en}`, `queue deve ter ${nameRule.pt}`)
  if (typeof options.run !== 'function')
    refuse('run must be a function (ctx, input) => result', 'run deve ser uma função (ctx, input) => result')
  if (options.input !== undefined && options.input?.['~standard']?.validate === undefined) {
    refuse(
      'input must be a Standard Schema, such as one of zod, valibot or arktype',
      'input deve ser um Standard Schema, como os de zod, valibot ou arktype',
    )
  }
  const { run, version = 1, oldestVersion = 1 } = options
  if (!Number.isInteger(version) || version < 1 || version > largestVersion)
    refuse(
      `version must be a whole number from 1, not ${String(version)}`,
      `version deve ser um número inteiro a partir de 1, não ${String(version)}`,
    )
  if (!Number.isInteger(oldestVersion) || oldestVersion < 1 || oldestVersion > version)
    refuse(
      `oldestVersion must be a whole number from 1 to its version, ${version}, not ${String(oldestVersion)}`,
      `oldestVersion deve ser um número inteiro de 1 até a versão, ${version}, não ${String(oldestVersion)}`,
    )
  const policy = policyOf(options, refuse)
  const parse = parser(options.input)
  return {
    kind: name,
    queue,
    version,
    oldestVersion,
    policy,
    parse,
    run: async (context, input) => run(context, input),
  }
}

/** Room for a date written as a number, such as 20260131. */
const largestVersion = 2 ** 31 - 1

const knownOptions = [
  'kind', 'queue', 'version', 'oldestVersion', 'input', 'run', 'attempts', 'backoff', 'timeout', 'stallAfter', 'maxAge', 'expect', 'orphanAfter', 'sweepEvery',
  'maxCrashes', 'onOrphan', 'onStall', 'isolation', 'memory', 'messages',
] // biome-ignore format: read as one list

function policyOf(options: JobOptions, refuse: Refuse): Policy {
  const whole = (option: 'attempts' | 'maxCrashes', least: number) => {
    const value = options[option] ?? defaultPolicy[option]
    if (!Number.isInteger(value) || value < least || value > 1_000_000)
      refuse(
        `${option} must be a whole number from ${least}, not ${value}`,
        `${option} deve ser um número inteiro a partir de ${least}, não ${value}`,
      )
    return value
  }
  const duration = (option: string, value: Duration | undefined) => {
    if (value !== undefined && !(value > 0 && value <= longestDuration))
      refuse(
        `${option} must be a duration above zero and up to 100 years, such as minutes(2)`,
        `${option} deve ser uma duração acima de zero e de até 100 anos, como minutes(2)`,
      )
    return value
  }
  const oneOf = <T extends string>(option: string, value: T | undefined, allowed: readonly T[], otherwise: T): T => {
    if (value !== undefined && !allowed.includes(value))
      refuse(
        `${option} must be one of ${allowed.join(', ')}, not "${value}"`,
        `${option} deve ser um destes: ${allowed.join(', ')}; não "${value}"`,
      )
    return value ?? otherwise
  }
  const backoff = { ...defaultPolicy.backoff, ...options.backoff }
  refuseUnknown(options.backoff ?? {}, Object.keys(defaultPolicy.backoff), refuse, 'backoff.')
  duration('backoff.max', backoff.max)
  if (!(backoff.first >= 0 && backoff.first <= longestDuration))
    refuse(
      'backoff.first must be a duration, such as seconds(5)',
      'backoff.first deve ser uma duração, como seconds(5)',
    )
  if (!(backoff.factor >= 1 && backoff.factor <= 100))
    refuse('backoff.factor must be from 1 to 100', 'backoff.factor deve ser de 1 a 100')
  if (!(backoff.jitter >= 0 && backoff.jitter <= 1))
    refuse('backoff.jitter must be from 0 to 1', 'backoff.jitter deve ser de 0 a 1')
  const orphanAfter = duration('orphanAfter', options.orphanAfter) ?? defaultPolicy.orphanAfter
  const threeBeats = `${(beatEvery * 3) / 1000} s`
  if (orphanAfter < beatEvery * 3)
    refuse(
      `orphanAfter must be at least three heartbeats, ${threeBeats}`,
      `orphanAfter deve ser de pelo menos três batimentos, ${threeBeats}`,
    )
  const isolation = oneOf('isolation', options.isolation, ['inline', 'thread', 'process'], defaultPolicy.isolation)
  if (isolation !== 'inline')
    refuse(
      `isolation "${isolation}" is not built yet; only "inline" runs in this version`,
      `isolation "${isolation}" ainda não foi feito; só "inline" roda nesta versão`,
    )
  return {
    attempts: whole('attempts', 1),
    backoff,
    timeout: duration('timeout', options.timeout) ?? defaultPolicy.timeout,
    stallAfter: duration('stallAfter', options.stallAfter) ?? null,
    maxAge: duration('maxAge', options.maxAge) ?? null,
    expect: duration('expect', options.expect) ?? null,
    orphanAfter,
    sweepEvery: duration('sweepEvery', options.sweepEvery) ?? defaultPolicy.sweepEvery,
    maxCrashes: whole('maxCrashes', 1),
    onOrphan: oneOf('onOrphan', options.onOrphan, ['retry', 'stall', 'fail'], defaultPolicy.onOrphan),
    onStall: oneOf('onStall', options.onStall, ['retry', 'stall', 'fail'], defaultPolicy.onStall),
    isolation,
    memoryBytes: memoryOf(options, refuse),
    messages: messagesOf(options, refuse),
  }
}

const longestMessage = 1000

function messagesOf({ messages = {} }: JobOptions, refuse: Refuse): Messages {
  if (messages === null || typeof messages !== 'object')
    refuse('messages takes { orphan, stalled, overdue }', 'messages recebe { orphan, stalled, overdue }')
  refuseUnknown(messages, ['orphan', 'stalled', 'overdue'], refuse, 'messages.')
  for (const [name, text] of Object.entries(messages)) {
    if (typeof text !== 'string' || text.trim() === '' || text.length > longestMessage || cleanText(text) !== text)
      refuse(
        `messages.${name} must be a text of 1 to ${longestMessage} characters`,
        `messages.${name} deve ser um texto de 1 a ${longestMessage} caracteres`,
      )
  }
  return messages
}

function memoryOf({ memory }: JobOptions, refuse: Refuse): number | null {
  if (memory !== undefined && !(Number.isSafeInteger(memory) && memory > 0))
    refuse('memory must be a number of bytes', 'memory deve ser um número de bytes')
  return memory ?? null
}

function parser(schema: StandardSchemaV1 | undefined): AnyJob['parse'] {
  if (schema === undefined) return async value => ({ value })
  const validate = (input: unknown) => schema['~standard'].validate(input)
  return async input => {
    let result = await validate(input)
    // JSON has no undefined: an input left out is stored as null, and must be accepted again when it is read.
    if (result.issues !== undefined && input === null) {
      const leftOut = await validate(undefined)
      if (leftOut.issues === undefined) result = leftOut
    }
    if (result.issues === undefined) return { value: result.value }
    const problem = result.issues.slice(0, 3).map(issueText).join('; ')
    const left = result.issues.length - 3
    return {
      problem: left > 0 ? say(`${problem}; and ${left} more`, `${problem}; e mais ${left}`) : say(problem, problem),
    }
  }
}

function issueText(issue: StandardSchemaV1.Issue): string {
  const path = issue.path?.map(part => String(typeof part === 'object' ? part.key : part)).join('.')
  return path ? `${path}: ${issue.message}` : issue.message
}
