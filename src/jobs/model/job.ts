/** Checks `defineJob`: the definition of a kind. Other code trusts the returned job. */

import type { StandardSchemaV1 } from '@standard-schema/spec'
import { type LocalizedText, localized } from '../../errors/errors.ts'
import { type Refuse, refuseDefinition, refuseUnknown } from '../../errors/invalid-option.ts'
import { shownValue } from '../../lib/values/json.ts'
import { namePattern, nameRule } from '../../lib/values/name.ts'
import { type ChildEnvironment, checkChildEnvironment } from './environment-option.ts'
import type { JobContext } from './job-context.ts'
import { moduleAddress } from './module-address.ts'
import type { Skip, Snooze } from './outcome.ts'
import { defaultPolicy, type JobPolicy } from './policy.ts'
import { kindPolicy, type PolicyOptions, policyOptions } from './policy-options.ts'
import { type OwnRetention, ownRetention, type Retention } from './retention.ts'

/** Options of `defineJob` besides the input and the handler. */
export interface JobOptions extends PolicyOptions {
  /** The name of the kind: 1 to 100 letters, digits, `.`, `_`, `:` or `-`. */
  kind: string
  /** The queue of the jobs. Default: `default`. */
  queue?: string
  /**
   * Raise the version with every change of the definition. While an old and a new release run side by side, all watchdogs use the
   * newest policy, and the old release does not claim jobs of the new release. Jobs of older versions run here too; `ctx.version`
   * is the version of the job. A whole number from 1 (default).
   */
  version?: number
  /**
   * With isolation `thread` or `process`: environment variables of the child besides PATH, HOME, the locale and the like: names,
   * or `'all'`. Default: none. An inline handler has all variables of the worker.
   */
  env?: readonly string[] | 'all'
  /**
   * true: only your own code creates jobs of this kind (`enqueue`, `submit`, schedules); `POST /api/v1/jobs` and
   * `POST /api/v1/batches` refuse the kind with `internal_kind`. For a handler that trusts its input. Default: false.
   */
  internal?: boolean
  /**
   * true: over HTTP only admins see and change jobs of this kind; for everybody else `/api/v1` has no such jobs, neither in lists nor in
   * events. For jobs about data of single users. The numbers of their queue are also for admins only: give the kind a queue of its own. Not for items of batches. Default: false.
   */
  private?: boolean
  /** The oldest version whose jobs this code runs; older jobs wait for a worker with older code. Default 1. */
  oldestVersion?: number
  /**
   * The time a job of the kind stays after its end: a duration, or a duration for each final state. Counts for jobs that are enqueued
   * afterwards; the items of a batch stay as long as the batch. Default: `retention` of the engine, 90 days.
   */
  retention?: Retention
}

/** The parsed input, or the problem in the words of the schema. */
export type ParsedInput = { value: unknown } | { problem: LocalizedText }

/** A job definition, for `enqueue` and for workers. */
export interface Job<Input = never, Output = unknown> {
  readonly kind: string
  readonly queue: string
  readonly version: number
  readonly oldestVersion: number
  readonly policy: JobPolicy
  /** null: the retention of the engine. */
  readonly retention: OwnRetention | null
  /** Returns the parsed input, or the problem in the words of the schema. */
  readonly parse: (input: unknown) => ParsedInput | Promise<ParsedInput>
  /** null: the handler is in a module. */
  readonly run: ((context: JobContext, input: never) => Promise<unknown>) | null
  /** URL of the module. */
  readonly handler: string | null
  /** HTTP requests cannot create jobs of this kind. */
  readonly internal: boolean
  /** Over HTTP only admins see jobs of this kind. */
  readonly private: boolean
  /** Environment of the child, for an isolated kind. */
  readonly env: ChildEnvironment
  /** Types only. */
  readonly types?: { input: Input; output: Output }
}

/** Any job definition, with any input. */
// biome-ignore lint/suspicious/noExplicitAny: a list of jobs of different inputs has no narrower type
export type AnyJob = Job<any, any>

/** The input type of a job. */
// biome-ignore lint/suspicious/noExplicitAny: the other type of the job does not matter
export type InputOf<Of extends AnyJob> = Of extends Job<infer Input, any> ? Input : never

/** The result type of a job. */
// biome-ignore lint/suspicious/noExplicitAny: the other type of the job does not matter
export type OutputOf<Of extends AnyJob> = Of extends Job<any, infer Output> ? Output : never

/** Accepts a job whose input may be left out, and refuses every other job. */
export type NoInputNeeded<Of extends AnyJob> = undefined extends InputOf<Of> ? unknown : never

/** Returns true if defineJob returned the object. */
export const isJob = (job: AnyJob | undefined): boolean =>
  typeof job?.kind === 'string' && typeof job.parse === 'function'

/** The return value of a handler. */
export type JobResult<Output> = Output | Skip | Snooze | Promise<Output | Skip | Snooze>

/** The result of a handler that returns `Returned`: without the promise, `skip` and `snooze`. */
export type ResultOf<Returned> = Exclude<Awaited<Returned>, Skip | Snooze>

/** A module with a handler: the default export, or the export `run`. */
export type HandlerModule = { default: ModuleHandler } | { run: ModuleHandler }
type ModuleHandler = (context: JobContext, input: never) => unknown

type HandlerIn<Module> = Module extends { default: infer Handler extends ModuleHandler }
  ? Handler
  : Module extends { run: infer Handler extends ModuleHandler }
    ? Handler
    : never

/** The URL of a handler module with the types of the handler. A plain URL has no types and is accepted everywhere. */
export type HandlerUrl<Input, Output> = URL & {
  /** Types only. */
  readonly handlerTypes?: (input: Input) => Output
}

/** The URL of a module, with the types of the handler in the module. */
export type HandlerUrlOf<Module extends HandlerModule> = HandlerUrl<
  Parameters<HandlerIn<Module>>[1],
  ResultOf<ReturnType<HandlerIn<Module>>>
>

/**
 * Gives the URL of a handler module the types of the module, so that `defineJob` checks the handler against the input schema and knows
 * the result. At run time the URL is unchanged. `./extract.js` also finds `./extract.ts` where the sources run, and the other way round.
 *
 * @example
 * defineJob({
 *   kind: 'extract',
 *   input: z.object({ code: z.string() }),
 *   handler: handlerOf<typeof import('./extract.js')>(new URL('./extract.js', import.meta.url)),
 * })
 */
export function handlerOf<Module extends HandlerModule>(url: URL | string): HandlerUrlOf<Module> {
  return url as HandlerUrlOf<Module>
}

/**
 * Defines a kind of job: its input, its handler and its policy. `run` is the handler, or `handler` is the URL of a module with the handler,
 * and `handlerOf` gives the URL the types of the module. Throws `bad_definition`.
 *
 * @example
 * const classify = defineJob({
 *   kind: 'classify-document',
 *   input: z.object({ code: z.string() }),
 *   maxAttempts: 5,
 *   timeout: minutes(2),
 *   run: async (ctx, { code }) => {
 *     const text = await ctx.step('extract', () => extract(code, ctx.signal))
 *     return { category: await ask(text, ctx.signal) }
 *   },
 * })
 */
export function defineJob<Schema extends StandardSchemaV1, Output = unknown>(
  options: JobOptions & {
    input: Schema
    handler: HandlerUrl<StandardSchemaV1.InferOutput<Schema>, Output> | string
    run?: undefined
  },
): Job<StandardSchemaV1.InferInput<Schema>, Output>
export function defineJob<Input = undefined, Output = unknown>(
  options: JobOptions & { input?: undefined; handler: HandlerUrl<Input, Output> | string; run?: undefined },
): Job<Input, Output>
export function defineJob<Schema extends StandardSchemaV1, Output>(
  options: JobOptions & {
    input: Schema
    run: (context: JobContext, input: StandardSchemaV1.InferOutput<Schema>) => JobResult<Output>
  },
): Job<StandardSchemaV1.InferInput<Schema>, ResultOf<Output>>
export function defineJob<Input = undefined, Output = unknown>(
  options: JobOptions & { input?: undefined; run: (context: JobContext, input: Input) => JobResult<Output> },
): Job<Input, ResultOf<Output>>
export function defineJob(
  options: JobOptions & {
    input?: StandardSchemaV1 | undefined
    run?: ((context: JobContext, input: never) => unknown) | undefined
    handler?: URL | string
  },
): AnyJob {
  const name = typeof options?.kind === 'string' ? options.kind : ''
  const refuse: Refuse = refuseDefinition(
    name ? localized(`the job "${name}"`, `job "${name}"`) : localized('a job', 'job'),
  )
  if (options === null || typeof options !== 'object')
    refuse('defineJob takes one object with kind and run', 'defineJob recebe um objeto com kind e run')
  refuseUnknown(options, knownOptions, refuse)
  if (!namePattern.test(name)) refuse(`kind must be ${nameRule.en}`, `kind deve ter ${nameRule.pt}`)
  const queue = options.queue ?? 'default'
  if (typeof queue !== 'string' || !namePattern.test(queue))
    refuse(`queue must be ${nameRule.en}`, `queue deve ter ${nameRule.pt}`)
  if (isEngineQueue(queue) && !isInternalKind(name))
    refuse(`the queue "${queue}" belongs to the engine`, `a fila "${queue}" pertence ao motor`)
  if (options.input !== undefined && options.input?.['~standard']?.validate === undefined) {
    refuse(
      'input must be a Standard Schema, such as one of zod, valibot or arktype',
      'input deve ser um Standard Schema, como os de zod, valibot ou arktype',
    )
  }
  const { run, version = 1, oldestVersion = 1 } = options
  if (!Number.isInteger(version) || version < 1 || version > largestVersion)
    refuse(
      `version must be a whole number from 1, not ${shownValue(version)}`,
      `version deve ser um número inteiro a partir de 1, não ${shownValue(version)}`,
    )
  if (!Number.isInteger(oldestVersion) || oldestVersion < 1 || oldestVersion > version)
    refuse(
      `oldestVersion must be a whole number from 1 to its version, ${version}, not ${shownValue(oldestVersion)}`,
      `oldestVersion deve ser um número inteiro de 1 até a versão, ${version}, não ${shownValue(oldestVersion)}`,
    )
  const policy = kindPolicy(options, defaultPolicy, refuse)
  const handler = handlerHref(options, refuse)
  const parse = parser(options.input)
  return {
    kind: name,
    queue,
    version,
    oldestVersion,
    policy,
    retention:
      options.retention === undefined
        ? null
        : ownRetention(options.retention, (en, pt) => refuse(`retention: ${en}`, `retention: ${pt}`)),
    parse,
    run: run === undefined ? null : async (context, input) => run(context, input),
    handler,
    internal: internalOf(options, refuse),
    private: privateOf(options, refuse),
    env: environmentOf(options, refuse),
  }
}

/** Room for a date as a number, such as 20260131. */
const largestVersion = 2 ** 31 - 1

const knownOptions = [
  'kind',
  'queue',
  'version',
  'oldestVersion',
  'input',
  'run',
  'handler',
  'env',
  'internal',
  'private',
  'retention',
  ...policyOptions,
]

/** Returns true if the kind belongs to the engine. */
export const isInternalKind = (kind: string): boolean => kind.startsWith('retoma.')

/** Returns true if the queue is for jobs of the engine alone, such as notices: a job of another kind could delay the notices. */
export const isEngineQueue = (queue: string): boolean => queue.startsWith('retoma-')

function internalOf({ kind, internal }: JobOptions, refuse: Refuse): boolean {
  if (internal !== undefined && typeof internal !== 'boolean')
    refuse('internal must be true or false', 'internal deve ser true ou false')
  return internal === true || isInternalKind(kind)
}

function privateOf({ private: isPrivate = false }: JobOptions, refuse: Refuse): boolean {
  if (typeof isPrivate !== 'boolean') refuse('private must be true or false', 'private deve ser true ou false')
  return isPrivate
}

/** Returns the URL of the handler's module, if any. */
function handlerHref(
  { run, handler, isolation = 'inline' }: JobOptions & { run?: unknown; handler?: unknown },
  refuse: Refuse,
): string | null {
  if (run !== undefined && handler !== undefined)
    refuse('it has both run and handler; give one of them', 'tem run e handler; dê só um deles')
  if (handler === undefined && typeof run !== 'function')
    refuse('run must be a function (ctx, input) => result', 'run deve ser uma função (ctx, input) => result')
  if (handler === undefined && isolation !== 'inline')
    refuse(
      `isolation "${isolation}" needs its handler in a module: handler: new URL('./work.js', import.meta.url)`,
      `isolation "${isolation}" precisa do handler num módulo: handler: new URL('./work.js', import.meta.url)`,
    )
  if (handler === undefined) return null
  if (typeof handler === 'function')
    refuse(
      'handler is the URL of a module; a function (ctx, input) => result goes to run',
      'handler é a URL de um módulo; uma função (ctx, input) => result vai em run',
    )
  const address = moduleAddress(handler)
  if (address === null)
    refuse(
      "handler must be the URL of a file, such as new URL('./work.js', import.meta.url)",
      "handler deve ser a URL de um arquivo, como new URL('./work.js', import.meta.url)",
    )
  return address
}

function environmentOf({ env, isolation = 'inline' }: JobOptions, refuse: Refuse): ChildEnvironment {
  if (env === undefined) return []
  if (isolation === 'inline')
    refuse(
      'env is for isolation "thread" or "process"; an inline handler has the environment of its worker',
      'env é para isolation "thread" ou "process"; um handler inline tem o ambiente do seu worker',
    )
  return checkChildEnvironment(env, (en, pt) => refuse(`env: ${en}`, `env: ${pt}`))
}

function parser(schema: StandardSchemaV1 | undefined): AnyJob['parse'] {
  if (schema === undefined) return value => ({ value })
  const validate = (input: unknown) => schema['~standard'].validate(input)
  return async input => {
    let result = await validate(input)
    // JSON has no undefined: a missing input is stored as null, and the schema must accept the stored input again.
    if (result.issues !== undefined && input === null) {
      const leftOut = await validate(undefined)
      if (leftOut.issues === undefined) result = leftOut
    }
    if (result.issues === undefined) return { value: result.value }
    const problem = result.issues.slice(0, 3).map(issueText).join('; ')
    const left = result.issues.length - 3
    return {
      problem:
        left > 0
          ? localized(`${problem}; and ${left} more`, `${problem}; e mais ${left}`)
          : localized(problem, problem),
    }
  }
}

function issueText(issue: StandardSchemaV1.Issue): string {
  const path = issue.path?.map(part => String(typeof part === 'object' ? part.key : part)).join('.')
  return path ? `${path}: ${issue.message}` : issue.message
}
