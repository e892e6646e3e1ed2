/**
 * Declares the parameters of each engine method by position: options and filters with their known names, ids, names, functions.
 * The closed check (closed-check.ts) validates every call against this table before the method begins.
 *
 * Invariant: every engine method has an entry here, and every option of its type has a check (the types of the tables require
 * both). An option with a typo is rejected everywhere, and `null` never reaches a statement that would read `null` as "any".
 */

import { roles } from '../auth/model/token.ts'
import type { TokenFilter } from '../auth/sql/token-rows.ts'
import type { CreateTokenOptions } from '../auth/tokens.ts'
import type { ItemPageOptions, ResumeOptions } from '../batches/batch-actions.ts'
import { type AnyBatch, batchOverrides } from '../batches/model/batch.ts'
import { batchStates } from '../batches/model/batch-state.ts'
import type { ItemFilter } from '../batches/sql/batch-items.ts'
import type { SubmitOptions } from '../batches/submit-batch.ts'
import type { EnqueueManyOptions } from '../enqueue/enqueue.ts'
import type { EnqueueOptions } from '../enqueue/model/enqueue-options.ts'
import type { JobUpdate } from '../enqueue/update-job.ts'
import { localized } from '../errors/errors.ts'
import { refuseOption, refuseUnknownOptions } from '../errors/invalid-option.ts'
import type { EventsFilter } from '../events/model/event.ts'
import type { FileHome } from '../files/file-streams.ts'
import type { FileOptions } from '../files/model/file.ts'
import type { IdempotencyKey } from '../idempotency/stored-response.sql.ts'
import type { BulkFilter, BulkOptions } from '../jobs/bulk-actions.ts'
import type { FailOptions, JobResults, RunAgainOptions } from '../jobs/job-actions.ts'
import type { ActedBy } from '../jobs/model/actor.ts'
import { isJob } from '../jobs/model/job.ts'
import type { JobHandle, WaitOptions } from '../jobs/model/job-handle.ts'
import type { JobLogFilter } from '../jobs/model/job-log.ts'
import { states } from '../jobs/model/state.ts'
import type { JobFilter } from '../jobs/sql/job-list.ts'
import { isStorableText, shownValue } from '../lib/values/json.ts'
import type { ListPageOptions } from '../lib/values/page.ts'
import type { QueueLimits } from '../limits/model/queue-limits.ts'
import type { LimitOptions } from '../limits/model/rate-window.ts'
import type { QueueClearOptions } from '../limits/queue-actions.ts'
import type { HistoryOptions } from '../metrics/model/history-span.ts'
import type { StatsOptions } from '../metrics/stats.ts'
import { checkMaxMs, type RunUntilEmptyOptions } from '../worker/run-until-empty.ts'
import { checkMemory, type WorkOptions } from '../worker/work-options.ts'
import type { Engine } from './engine-api.ts'
import type { InternalMethods } from './internals.ts'

/** Throws `bad_option`. `at`: the name of the option or of the parameter. */
type Check = (value: unknown, at: string) => void
type Checks<Options> = { readonly [Name in keyof Options]-?: Check }

export interface Parameter {
  /** The name in error messages. */
  readonly name: string
  readonly check: Check
  /** The known option names; undefined: the parameter is not an options object. */
  readonly known?: readonly string[]
}

/** The methods of the engine itself, without the namespaces and without `close`, which is never refused. */
export type FlatMethods = Pick<
  Engine,
  | 'enqueue'
  | 'enqueueMany'
  | 'submit'
  | 'job'
  | 'batch'
  | 'wait'
  | 'explain'
  | 'events'
  | 'work'
  | 'runUntilEmpty'
  | 'watch'
  | 'query'
  | 'transaction'
  | 'limit'
>

const wrong = (value: unknown, at: string, en: string, pt: string): never => {
  const shown = shownValue(value)
  return refuseOption(at, `it is ${en}, not ${shown}`, `é ${pt}, não ${shown}`)
}

/** The method checks the value. */
const left: Check = () => {}
const text: Check = (value, at) => {
  if (typeof value === 'string') return
  if (at === 'id' && typeof (value as { id?: unknown } | null)?.id === 'string')
    refuseOption(
      at,
      'it is a text, not a whole handle: give its id',
      'é um texto, não um handle inteiro: passe o id dele',
    )
  wrong(value, at, 'a text', 'um texto')
}
/** A text that PostgreSQL can store; no column contains any other text. */
const storedText: Check = (value, at) => {
  text(value, at)
  if (!isStorableText(value as string) || (value as string).length > 10_000)
    refuseOption(
      at,
      'it is a text of at most 10000 characters that PostgreSQL can store',
      'é um texto de até 10000 caracteres que o PostgreSQL consegue guardar',
    )
}
const bool: Check = (value, at) => {
  if (typeof value !== 'boolean') wrong(value, at, 'true or false', 'true ou false')
}
const attemptNumber: Check = (value, at) => {
  if (!Number.isInteger(value) || (value as number) < 1 || (value as number) > 2 ** 31 - 1)
    wrong(value, at, 'the number of an attempt, from 1', 'o número de uma tentativa, a partir de 1')
}
const fn: Check = (value, at) => {
  if (typeof value !== 'function') wrong(value, at, 'a function', 'uma função')
}
const instant: Check = (value, at) => {
  if (!(value instanceof Date && Number.isFinite(value.getTime()))) wrong(value, at, 'a valid Date', 'um Date válido')
  const year = (value as Date).getUTCFullYear()
  if (year < 1 || year > 9999) refuseOption(at, 'its year is from 1 to 9999', 'o ano é de 1 a 9999')
}
const signal: Check = (value, at) => {
  if (!(value instanceof AbortSignal)) refuseOption(at, 'it is an AbortSignal', 'é um AbortSignal')
}
const bytes: Check = (value, at) => {
  if (!(value instanceof Uint8Array)) wrong(value, at, 'bytes', 'bytes')
}
/** Words of other job systems for a state. */
const ofPeers: Readonly<Record<string, string>> = {
  completed: 'succeeded',
  complete: 'succeeded',
  success: 'succeeded',
  done: 'succeeded',
  active: 'running',
  executing: 'running',
  pending: 'waiting',
  queued: 'waiting',
  delayed: 'waiting',
  scheduled: 'waiting',
  discarded: 'failed',
  canceled: 'cancelled',
}

const oneOf =
  (...allowed: readonly string[]): Check =>
  (value, at) => {
    if (allowed.includes(value as string)) return
    const all = allowed.join(', ')
    const meant = ofPeers[String(value)]
    const hint = meant !== undefined && allowed.includes(meant) ? meant : undefined
    refuseOption(
      at,
      hint === undefined ? `it is one of ${all}` : `it is "${hint}" here, one of ${all}`,
      hint === undefined ? `é um destes: ${all}` : `aqui é "${hint}", um destes: ${all}`,
    )
  }

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

interface ObjectRules {
  /** The argument is required. */
  required?: true
  /** Options that must not be present as `undefined`, because the action would then affect more jobs than intended. */
  defined?: readonly string[]
  /** All options are required. */
  whole?: true
  /** Exactly one of these options is required. */
  exactlyOne?: readonly string[]
}

function object<Options extends object>(name: string, checks: Checks<Options>, rules: ObjectRules = {}): Parameter {
  const known = Object.keys(checks)
  const entries = Object.entries<Check>(checks)
  const shape = `{ ${known.join(', ')} }`
  const check: Check = value => {
    if (value === undefined && rules.required === undefined) return
    if (!isObject(value)) return refuseOption(name, `it is an object ${shape}`, `é um objeto ${shape}`)
    if (isJob(value as never))
      refuseOption(
        name,
        `it is an object ${shape}, not a job; the handler of a job is in defineJob({ run })`,
        `é um objeto ${shape}, não um job; o handler de um job fica em defineJob({ run })`,
      )
    refuseUnknownOptions(value, known)
    for (const [option, check] of entries) {
      const given = (value as Record<string, unknown>)[option]
      if (given !== undefined) check(given, option)
      else if (rules.whole) refuseOption(option, 'it is missing', 'falta')
      else if (rules.defined?.includes(option) && option in value)
        refuseOption(
          option,
          'it is there and undefined; leave it out to mean any',
          'está lá e é undefined; deixe fora para dizer qualquer um',
        )
    }
    const { exactlyOne } = rules
    if (exactlyOne === undefined) return
    const given = exactlyOne.filter(option => (value as Record<string, unknown>)[option] !== undefined)
    if (given.length !== 1)
      refuseOption(
        name,
        `it names exactly one of ${exactlyOne.join(', ')}`,
        `diz exatamente um destes: ${exactlyOne.join(', ')}`,
      )
  }
  return { name, check, known }
}

const value = (name: string, check: Check): Parameter => ({ name, check: given => check(given, name) })

/** Opaque; the method reports an unknown id. */
const id = value('id', text)
const named = (name: string) => value(name, text)
const job = value('job', (given, at) => {
  if (!isJob(given as never))
    refuseOption(at, 'it is a job made by defineJob, not a name', 'é um job feito por defineJob, não um nome')
})
const batch = value('batch', (given, at) => {
  const { name, job } = Object(given) as Partial<AnyBatch>
  if (typeof name !== 'string' || !isJob(job))
    refuseOption(at, 'it is made by defineBatch({ name, job })', 'é feito por defineBatch({ name, job })')
})
const list = (name: string, such = localized('', '')) =>
  value(name, (given, at) => {
    const iterable = Object(given)
    const isList =
      typeof given === 'object' &&
      (typeof iterable[Symbol.asyncIterator] === 'function' || typeof iterable[Symbol.iterator] === 'function')
    if (!isList)
      refuseOption(
        at,
        `it is a list or a stream: an array, a generator, any (async) iterable${such.en}`,
        `é uma lista ou um fluxo: um array, um gerador, qualquer iterável (assíncrono também)${such.pt}`,
      )
  })
const ofFile = localized(', such as createReadStream(path)', ', como createReadStream(path)')
const ids = value('ids', (given, at) => {
  if (!(Array.isArray(given) && given.every(each => typeof each === 'string')))
    refuseOption(at, 'it is a list of ids', 'é uma lista de ids')
})
const work = value('work', fn)

const by = object<ActedBy>('options', { by: left })
const page = { limit: left, after: text }

const enqueueOptions: Checks<EnqueueOptions> = {
  key: left,
  keyUntil: left,
  priority: left,
  runAt: left,
  delay: left,
  groupKey: left,
  ref: left,
  queue: left,
  maxAttempts: left,
  backoff: left,
  timeout: left,
  retention: left,
}
const submitOptions: Checks<SubmitOptions<never>> = {
  ...(Object.fromEntries(batchOverrides.map(name => [name, left])) as Record<(typeof batchOverrides)[number], Check>),
  priority: left,
  groupKey: left,
  runAt: left,
  delay: left,
  queue: left,
  key: left,
  ref: left,
  each: left,
  whole: bool,
  tx: left,
  signal,
}
const texts: Check = (value, at) => {
  if (!(Array.isArray(value) && value.every(each => typeof each === 'string')))
    wrong(value, at, 'a list of texts', 'uma lista de textos')
}
const jobFilter: Checks<JobFilter> = {
  state: oneOf(...states),
  kind: text,
  queue: text,
  groupKey: text,
  ref: text,
  key: text,
  createdBefore: instant,
  createdAfter: instant,
  error: text,
  worker: text,
  except: texts,
}
const bulkFilter: Checks<BulkFilter> = {
  state: oneOf(...states),
  kind: text,
  queue: text,
  groupKey: text,
  createdBefore: instant,
  createdAfter: instant,
  error: text,
  except: texts,
  ids: (value, at) => ids.check(value, at),
  batchId: text,
}
/** For actions on every job that matches the filter. */
const allOf = object<BulkFilter>('filter', bulkFilter, { required: true, defined: Object.keys(bulkFilter) })
const once = object<IdempotencyKey>(
  'once',
  { who: storedText, route: storedText, key: storedText, hash: bytes },
  { required: true, whole: true },
)
const newToken = object<CreateTokenOptions>('options', { user: left, role: left, by: storedText }, { required: true })
const limit = object<LimitOptions>('limit', { bucket: left, who: left, limit: left, per: left }, { required: true })
const ofWork: Checks<Pick<WorkOptions, 'queues' | 'grace'>> = {
  queues: (given, at) => {
    if (!isObject(given)) wrong(given, at, 'an object of queue names and numbers', 'um objeto de filas e números')
  },
  grace: (given, at) => {
    if (!(typeof given === 'number' && given >= 0))
      wrong(given, at, 'a duration, such as seconds(5)', 'uma duração, como seconds(5)')
  },
}
const workOptions = object<WorkOptions>('options', {
  ...ofWork,
  memory: given => void checkMemory(given as number),
  killWhenHung: bool,
  signals: bool,
})

const waitOptions = object<WaitOptions>('options', { signal })
const idOrHandle: Check = (given, at) => {
  const id = typeof given === 'object' && given !== null ? (given as Partial<JobHandle>).id : given
  if (typeof id !== 'string') wrong(given, at, 'an id, or what enqueue returned', 'um id, ou o que enqueue devolveu')
}

type Namespace = Exclude<keyof Engine, keyof FlatMethods | 'close' | typeof Symbol.asyncDispose>
type ParametersOf<Methods> = { readonly [Name in keyof Methods]: readonly Parameter[] }

const flat: ParametersOf<FlatMethods> = {
  enqueue: [job, value('input', left), object('options', { ...enqueueOptions, tx: left })],
  enqueueMany: [
    job,
    list('inputs'),
    object<EnqueueManyOptions<never> & Pick<EnqueueOptions, 'key' | 'ref'>>('options', {
      ...enqueueOptions,
      tx: left,
      each: fn,
    }),
  ],
  submit: [batch, list('items'), object('options', { ...submitOptions, keyUntil: left })],
  job: [id, value('job', (given, at) => void (given === undefined || job.check(given, at)))],
  batch: [id],
  wait: [
    object<{ job: string; batch: string }>(
      'wait',
      { job: idOrHandle, batch: text },
      { required: true, exactlyOne: ['job', 'batch'] },
    ),
    waitOptions,
  ],
  events: [object<EventsFilter>('events', { job: left, batch: left, after: left, logs: bool, signal })],
  explain: [
    object<{ job: string; batch: string; queue: string }>(
      'explain',
      { job: text, batch: text, queue: text },
      { required: true, exactlyOne: ['job', 'batch', 'queue'] },
    ),
    object<{ language?: string; except?: readonly string[] }>('options', {
      language: oneOf('en', 'pt'),
      except: texts,
    }),
  ],
  runUntilEmpty: [object<RunUntilEmptyOptions>('options', { ...ofWork, maxMs: checkMaxMs })],
  work: [workOptions],
  watch: [object<{ once: true }>('options', { once: bool })],
  limit: [limit],
  query: [
    value('query', (given, at) => {
      const text = typeof given === 'string' ? given : (given as { text?: unknown } | null | undefined)?.text
      if (typeof text !== 'string' || text.trim() === '')
        refuseOption(
          at,
          'it is a statement: a text, or { text, values }',
          'é um comando: um texto, ou { text, values }',
        )
    }),
    value('values', (given, at) => {
      if (given !== undefined && !Array.isArray(given)) wrong(given, at, 'a list', 'uma lista')
    }),
  ],
  transaction: [work],
}

const namespaces: { readonly [Name in Namespace]: ParametersOf<Engine[Name]> } = {
  jobs: {
    list: [object<JobFilter & ListPageOptions>('filter', { ...jobFilter, ...page })],
    logs: [id, object<JobLogFilter & ListPageOptions>('filter', { attempt: attemptNumber, ...page })],
    cancel: [id, by],
    retry: [id, object<RunAgainOptions>('options', { by: left, tx: left })],
    rerun: [id, object<RunAgainOptions>('options', { by: left, tx: left })],
    resume: [id, by],
    skip: [id, value('reason', left), by],
    fail: [id, value('reason', left), object<FailOptions>('options', { by: left, code: storedText })],
    cancelMany: [allOf, object<BulkOptions>('options', { by: left, dryRun: bool })],
    retryMany: [allOf, object<BulkOptions & { after?: string }>('options', { by: left, dryRun: bool, after: text })],
    resumeMany: [allOf, object<BulkOptions & { after?: string }>('options', { by: left, dryRun: bool, after: text })],
    recoverOrphans: [job],
    eraseMany: [allOf, object<BulkOptions & { after?: string }>('options', { by: left, dryRun: bool, after: text })],
    update: [
      id,
      object<JobUpdate>('changes', { runAt: left, delay: left, priority: left, input: left }, { required: true }),
      by,
    ],
    erase: [id, by],
    failures: [object<{ except?: readonly string[] | undefined }>('options', { except: texts })],
  },
  batches: {
    list: [object('filter', { state: oneOf(...batchStates), name: text, except: texts, ...page })],
    items: [
      id,
      object<ItemFilter & ItemPageOptions>('filter', {
        state: oneOf(...states),
        cause: left,
        ref: left,
        offset: left,
        ...page,
      }),
    ],
    map: [id],
    actions: [id, object<ListPageOptions>('filter', page)],
    failures: [id],
    pause: [id, by],
    resume: [id, object<ResumeOptions>('options', { by: left, from: oneOf('paused', 'stalled') })],
    cancel: [id, by],
    retryFailed: [
      id,
      object<ActedBy & { cause?: string }>('options', { by: left, cause: text }, { defined: ['cause'] }),
    ],
    setPriority: [id, value('priority', left), by],
    erase: [id, by],
  },
  queues: {
    list: [],
    pause: [named('queue'), by],
    resume: [named('queue'), by],
    setLimits: [
      named('queue'),
      object<QueueLimits>(
        'limits',
        { concurrency: left, rate: left, perGroup: left, fair: left, weights: left, maxDepth: left },
        { required: true },
      ),
      by,
    ],
    groups: [named('queue'), object<Pick<ListPageOptions, 'limit'>>('filter', { limit: left })],
    clear: [named('queue'), object<QueueClearOptions>('options', { by: left, dryRun: bool, except: texts })],
  },
  schedules: {
    list: [],
    run: [named('schedule'), by],
    pause: [named('schedule'), by],
    resume: [named('schedule'), by],
    occurrences: [named('schedule'), object<{ count?: number }>('options', { count: left })],
  },
  guards: {
    list: [],
    run: [
      value('guard', (given, at) => {
        if (typeof given !== 'string' && !isObject(given))
          wrong(
            given,
            at,
            'the name of a guard, or what defineGuard made',
            'o nome de um guard, ou o que defineGuard fez',
          )
      }),
      object<ActedBy & { dryRun?: boolean }>('options', { by: left, dryRun: bool }),
    ],
  },
  providers: {
    list: [],
    clear: [named('provider'), by],
  },
  workers: {
    list: [],
  },
  tokens: {
    create: [newToken],
    list: [
      object<TokenFilter & ListPageOptions>('filter', { user: storedText, role: oneOf(...roles), live: bool, ...page }),
    ],
    revoke: [id, object<{ by?: string; evenLast?: boolean }>('options', { by: storedText, evenLast: bool })],
  },
  metrics: {
    stats: [object<StatsOptions>('options', { except: texts })],
    read: [object<StatsOptions>('options', { except: texts })],
    history: [
      object<HistoryOptions>('options', { queue: storedText, exceptQueues: texts, from: left, to: left, step: left }),
    ],
    findings: [],
    health: [object<{ except?: readonly string[] }>('options', { except: texts })],
    incidents: [
      object<{ open?: boolean; except?: readonly string[] } & ListPageOptions>('filter', {
        open: bool,
        except: texts,
        ...page,
      }),
    ],
    include: [value('source', fn)],
  },
  files: {
    put: [
      list('source', ofFile),
      object<FileOptions>('options', { name: left, type: left, most: left, job: text }, { required: true }),
    ],
    open: [id],
    keep: [
      ids,
      object<Record<keyof FileHome, unknown>>(
        'home',
        { tx: left, batch: text, job: text },
        { required: true, exactlyOne: ['batch', 'job'] },
      ),
    ],
    share: [ids, object<{ tx?: unknown }>('options', { tx: left })],
    remove: [ids],
  },
}

const internals: ParametersOf<InternalMethods> = {
  enqueueTogether: [list('orders')],
  enqueueOnce: [list('orders'), once, value('answer', fn)],
  once: [once, work],
  transactionOnce: [once, work],
  forgetAnswers: [named('route'), id],
  runScheduleOnce: [named('schedule'), once, value('answer', fn), by],
  scheduleRuns: [named('schedule')],
  jobAsText: [id],
  jobAsShortText: [id],
  checkpointAsText: [id, named('step')],
  jobListed: [id],
  peekLimit: [limit],
  guess: [value('from', left), value('lookUp', fn)],
  createTokenOnce: [newToken, once, value('answer', fn)],
  anyToken: [],
  keepAdminToken: [named('secret')],
  findToken: [named('secret'), value('from', left)],
  logIn: [named('secret'), value('from', left)],
  findLogIn: [named('secret')],
  logOut: [named('secret')],
  kind: [named('kind')],
  kinds: [],
  kindFlags: [],
  privateKindsIn: [named('queue')],
  privateQueues: [],
  batchNamed: [named('batch')],
  findQueue: [named('queue')],
  ping: [],
  databaseNow: [],
  watchdogLag: [],
  claimLag: [],
  firstClaim: [],
  begin: [workOptions, value('mode', left)],
  tick: [],
  clean: [],
  schedule: [],
  guard: [],
  notify: [],
  sample: [],
  endBatches: [],
  doctor: [],
}

const results: ParametersOf<JobResults> = { resultOf: [id, waitOptions] }

export const parameters = { flat, ...namespaces, internals, results }

/** Throws `bad_option` for the first invalid argument. */
export function checkArguments(taken: readonly Parameter[] | undefined, given: readonly unknown[]): void {
  taken?.forEach(({ check, name }, place) => void check(given[place], name))
}
