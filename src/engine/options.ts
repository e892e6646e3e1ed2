/**
 * What an application may say of its engine. What the options leave out comes from the environment and from `.env` in the working
 * folder: the same names in the same places as for the command line.
 *
 * Invariant: the database is never a surprise. An option wins over the environment, the environment over `.env`; an empty address is
 * refused; the embedded server is not used in production unless somebody asks for it by name; and one log line names the database.
 */
import { resolve } from 'node:path'
import type { AnyBatch } from '../core/batch.ts'
import { days } from '../core/duration.ts'
import type { Guard } from '../core/guard.ts'
import { type AnyJob, isJob } from '../core/job.ts'
import { asText } from '../core/json.ts'
import type { Limits } from '../core/limits.ts'
import { megabytes } from '../core/megabytes.ts'
import { refuseOption, refuseUnknownOptions } from '../core/refuse.ts'
import type { Retention } from '../core/retention.ts'
import type { Schedule } from '../core/schedule.ts'
import { RetomaError } from '../errors.ts'
import type { Clock } from '../lib/clock.ts'
import { createLog, type Log } from '../lib/log.ts'
import { postgresUrl, Refusal } from '../settings/checks.ts'
import { embedded } from '../settings/environment.ts'
import { readEnvironment, readLibrarySettings } from '../settings/index.ts'
import { addressOf } from '../store/trouble.ts'
import { ownVariables } from '../supervisor/papers.ts'
import type { RateLimits } from './limits.ts'
import type { NotifyOptions } from './notify.ts'
import { checkUpstash } from './upstash.ts'

export interface EngineOptions {
  /**
   * Default: DATABASE_URL, of the environment or of `.env`. Without either the embedded PostgreSQL of this folder (RETOMA_DATA_DIR,
   * `.retoma`), but where NODE_ENV is production: there that is refused, unless this says 'embedded'.
   */
  databaseUrl?: string | undefined
  /**
   * For LISTEN and for heartbeats, where `databaseUrl` is a PgBouncer in transaction mode. Default: DATABASE_DIRECT_URL, where the
   * database is that of DATABASE_URL.
   */
  databaseDirectUrl?: string | undefined
  jobs?: readonly AnyJob[]
  /** Their jobs, and what they have run at their end, need not be among `jobs`. */
  batches?: readonly AnyBatch[]
  /** What queues allow over all workers: at once, within a time, waiting. A queue not named keeps its limits; `{}` lifts them. */
  limits?: Limits
  /**
   * Where `engine.limit` keeps its windows. Default: in Upstash Redis when UPSTASH_REDIS_REST_URL and
   * UPSTASH_REDIS_REST_TOKEN are set, else in PostgreSQL. 'off', as with RETOMA_LIMITS=off: everything passes, for development.
   */
  rateLimits?: RateLimits
  /** They fire while this engine works or watches; their jobs need not be among `jobs`. */
  schedules?: readonly Schedule[]
  /** They look at tables that are not ours while this engine works or watches; their jobs need not be among `jobs`. */
  guards?: readonly Guard[]
  /**
   * A webhook that tells a person when something is stuck, and when it is over: docs/notify.md. Default: that of
   * RETOMA_NOTIFY_URL, where it is set.
   */
  notify?: NotifyOptions | undefined
  /** false: do not bring the schema up to date; refuse when it is not. Default true. */
  migrate?: boolean
  /**
   * Most connections this engine opens besides the one that listens and the one of a worker's heart, and as many again for
   * `ctx.transaction`. Default 10.
   */
  connections?: number
  /** How long finished jobs are kept, for all or by how they ended. Default: RETENTION_DAYS, or 90 days. */
  retention?: Retention
  /** Default: warnings and errors to stderr; LOG_LEVEL and LOG_FORMAT say otherwise. */
  log?: Log
  clock?: Clock
}

/** With what only the command line and the settings say. */
export interface ResolvedOptions extends EngineOptions {
  /** Folder of the embedded server, where there is no `databaseUrl`. */
  dataDir?: string
  /** Nobody asked for the embedded server by name: the log line that names it is a warning. */
  embeddedByDefault?: boolean
  /** How the log names the database; default: the address without user and password. */
  databaseName?: string
  /** For workers that are not told otherwise: RETOMA_WORKER_MEMORY. */
  workerMemory?: number
}

const known = Object.keys({
  databaseUrl: true,
  databaseDirectUrl: true,
  jobs: true,
  batches: true,
  limits: true,
  rateLimits: true,
  schedules: true,
  guards: true,
  notify: true,
  migrate: true,
  connections: true,
  retention: true,
  log: true,
  clock: true,
} satisfies Record<keyof EngineOptions, true>)

/** Throws bad_option: for an unknown name, and for a value that no engine can be made with. */
export function checkEngineOptions(options: EngineOptions): void {
  if (options === null || typeof options !== 'object')
    refuseOption('options', 'createEngine takes one object', 'createEngine recebe um objeto')
  refuseUnknownOptions(options, known)
  for (const name of ['jobs', 'batches', 'schedules', 'guards'] as const)
    if (options[name] !== undefined && !Array.isArray(options[name]))
      refuseOption(name, `it is a list, not ${asText(options[name])}`, `é uma lista, não ${asText(options[name])}`)
  options.jobs?.forEach((job, index) => {
    if (!isJob(job)) refuseOption(`jobs[${index}]`, 'it is not made by defineJob', 'não foi feito por defineJob')
  })
  if (options.databaseUrl !== undefined && options.databaseUrl !== embedded)
    checkUrl('databaseUrl', options.databaseUrl)
  if (options.databaseDirectUrl !== undefined) checkUrl('databaseDirectUrl', options.databaseDirectUrl)
  const { connections, migrate, log, clock } = options
  if (connections !== undefined && !(Number.isInteger(connections) && connections >= 1 && connections <= 1000))
    refuseOption(
      'connections',
      `it is a whole number from 1 to 1000, not ${asText(connections)}`,
      `é um número inteiro de 1 a 1000, não ${asText(connections)}`,
    )
  if (migrate !== undefined && typeof migrate !== 'boolean')
    refuseOption('migrate', 'it is true or false', 'é true ou false')
  const has = (value: object, ...names: string[]) =>
    typeof value === 'object' &&
    value !== null &&
    names.every(name => typeof (value as Record<string, unknown>)[name] === 'function')
  if (log !== undefined && !has(log, 'debug', 'info', 'warn', 'error'))
    refuseOption(
      'log',
      'it has debug, info, warn and error, as a logger of pino has',
      'tem debug, info, warn e error, como um logger do pino',
    )
  if (clock !== undefined && !has(clock, 'instant', 'now', 'elapsed', 'sleep'))
    refuseOption(
      'clock',
      'it is a VirtualClock of retoma/testing, or has its methods',
      'é um VirtualClock de retoma/testing, ou tem os métodos dele',
    )
}

function checkUrl(option: string, url: unknown): void {
  if (typeof url !== 'string')
    refuseOption(option, `it is a text, not a ${typeof url}`, `é um texto, não do tipo ${typeof url}`)
  if (url.trim() === '')
    refuseOption(
      option,
      'it is empty: is a variable not set? Leave the option out to use DATABASE_URL',
      'está vazia: falta definir uma variável? Deixe a opção fora para usar DATABASE_URL',
    )
  try {
    postgresUrl(url)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    refuseOption(option, error.saying.en, error.saying.pt)
  }
}

/** What the options leave out, from the environment and from `.env` in `folder`. Throws bad_setting and no_database. */
export function withSettings(options: EngineOptions, folder = process.cwd()): ResolvedOptions {
  const environment = readEnvironment(folder, process.env)
  // Between a supervisor and its worker, and no settings.
  for (const name of ownVariables) delete environment[name]
  const { settings, database } = readLibrarySettings(environment)
  const isProduction = process.env.NODE_ENV === 'production'
  const byName = options.databaseUrl === embedded || (options.databaseUrl === undefined && database === embedded)
  const databaseUrl = options.databaseUrl === embedded ? undefined : (options.databaseUrl ?? settings.DATABASE_URL)
  if (databaseUrl === undefined && isProduction && !byName) throw new RetomaError('no_database', {})
  // Of another database it would have the heartbeats of this one's workers.
  const ofEnvironment = options.databaseUrl === undefined && databaseUrl !== undefined
  const databaseDirectUrl = options.databaseDirectUrl ?? (ofEnvironment ? settings.DATABASE_DIRECT_URL : undefined)
  const { RETOMA_NOTIFY_URL: url, RETOMA_NOTIFY_SECRET: secret, RETOMA_NOTIFY_LANGUAGE: language } = settings
  const { RETOMA_WORKER_MEMORY: memory } = settings
  return {
    rateLimits: rateLimitsOf(settings),
    retention: days(settings.RETENTION_DAYS),
    notify: url === undefined ? undefined : { url, secret, link: settings.PUBLIC_URL, language },
    ...withoutUndefined(options),
    databaseUrl,
    databaseDirectUrl,
    dataDir: resolve(folder, settings.RETOMA_DATA_DIR),
    embeddedByDefault: !byName,
    log: options.log ?? defaultLog(settings),
    ...(memory === undefined ? {} : { workerMemory: megabytes(memory) }),
  }
}

const withoutUndefined = (options: EngineOptions): EngineOptions =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))

type LibrarySettings = ReturnType<typeof readLibrarySettings>['settings']

function defaultLog({ LOG_LEVEL: level = 'warn', LOG_FORMAT: format }: LibrarySettings): Log {
  return createLog({ level, format: format ?? (process.stderr.isTTY ? 'pretty' : 'json') })
}

export function rateLimitsOf(
  settings: Pick<LibrarySettings, 'RETOMA_LIMITS' | 'UPSTASH_REDIS_REST_URL' | 'UPSTASH_REDIS_REST_TOKEN'>,
): RateLimits {
  const { UPSTASH_REDIS_REST_URL: url, UPSTASH_REDIS_REST_TOKEN: token } = settings
  if (settings.RETOMA_LIMITS === 'off') return 'off'
  return url !== undefined && token !== undefined ? { url, token } : 'postgresql'
}

/** Where the database is. */
export interface Home {
  url: string
  /** Past a pooler, where there is one. */
  directUrl: string | undefined
  /** For the embedded server, which goes once nobody is left. */
  leave: () => Promise<void>
}

/** A database URL, or the embedded server: started or attached to here, left at close. Says in the log which one it is. */
export async function databaseHome(options: ResolvedOptions, log: Log): Promise<Home> {
  const { databaseUrl: url, databaseDirectUrl: directUrl, dataDir = '.retoma', embeddedByDefault } = options
  if (url !== undefined) {
    log.info({ database: options.databaseName ?? addressOf(url) }, 'the database of this engine')
    return { url, directUrl, leave: async () => {} }
  }
  const { openEmbedded } = await import('../postgres/index.ts')
  const server = await openEmbedded({ dataDir, log })
  const { folder } = server
  if (embeddedByDefault)
    log.warn(
      { database: folder },
      'no DATABASE_URL is set: this engine uses the embedded PostgreSQL of this folder, which is for one machine',
    )
  else log.info({ database: folder }, 'the database of this engine: an embedded PostgreSQL')
  return { url: server.url, directUrl: undefined, leave: () => server.leave() }
}

export function checkRateLimits(rateLimits: RateLimits = 'postgresql'): RateLimits {
  if (rateLimits !== 'postgresql' && rateLimits !== 'off') checkUpstash(rateLimits)
  return rateLimits
}
