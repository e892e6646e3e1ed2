/**
 * Validates the options of `createEngine`. Missing options come from the environment and from `.env` in the working folder: the
 * same names in the same places as for the command line.
 *
 * Invariant: the choice of the database is explicit. An option wins over the environment, the environment over `.env`; an empty
 * address is rejected; in production the embedded PostgreSQL requires the explicit value 'embedded'; and a log line names the
 * database.
 */
import { resolve } from 'node:path'
import type { AnyBatch } from '../batches/model/batch.ts'
import type { ConnectionConfig, ConnectionPool } from '../database/connection-config.ts'
import { targetOf, targetOfPool } from '../database/connection-target.ts'
import type { DbOptions } from '../database/db.ts'
import { RetomaError } from '../errors/errors.ts'
import { refuseOption, refuseUnknownOptions } from '../errors/invalid-option.ts'
import type { Guard } from '../guards/model/guard.ts'
import type { NotifyOptions } from '../incidents/notice-job.ts'
import type { ConfiguredHandlers } from '../isolation/isolation-mode.ts'
import { type AnyJob, isJob } from '../jobs/model/job.ts'
import type { Retention } from '../jobs/model/retention.ts'
import type { Clock } from '../lib/clock.ts'
import { createLog, type GivenLog, type Log, logOf, silentLog } from '../lib/logging/log.ts'
import { megabytes } from '../lib/values/bytes.ts'
import { days } from '../lib/values/duration.ts'
import { shownValue } from '../lib/values/json.ts'
import type { LimitsByQueue } from '../limits/model/queue-limits.ts'
import type { RateLimits } from '../limits/rate-limiter.ts'
import { checkUpstash } from '../limits/upstash.ts'
import type { Schedule } from '../schedules/model/schedule.ts'
import { embedded } from '../settings/environment.ts'
import { readEnvironment, readLibrarySettings } from '../settings/index.ts'
import { isSchemaName, postgresUrl, Refusal, schemaRule } from '../settings/setting-checks.ts'
import type { Supervision } from '../supervisor/supervision.ts'
import { ownVariables } from '../supervisor/suspected-job-file.ts'
import { checkSystems, type SystemParts } from './system-parts.ts'

export type { ConnectionConfig } from '../database/connection-config.ts'

/** Options of `createEngine`. */
export interface EngineOptions {
  /**
   * Default: DATABASE_URL of the environment or of `.env`. Without either, the embedded PostgreSQL of this folder
   * (RETOMA_DATA_DIR, `.retoma`), except if NODE_ENV is production: there the value 'embedded' is required.
   */
  databaseUrl?: string | undefined
  /**
   * For LISTEN and heartbeats, if `databaseUrl` is a PgBouncer in transaction mode. Default: DATABASE_DIRECT_URL, if the database
   * comes from DATABASE_URL.
   */
  databaseDirectUrl?: string | undefined
  /**
   * A configuration of pg in place of `databaseUrl`: TLS, a `password` function for tokens that expire, the `stream` of a connector of a
   * cloud provider (docs/connection.md). Default: none.
   */
  connection?: ConnectionConfig | undefined
  /**
   * Your own Pool of pg in place of `databaseUrl`. The engine borrows connections for its statements, leaves no setting in a session, and
   * never ends the pool. LISTEN and heartbeats have connections of their own, with the options of the pool (docs/connection.md).
   * Default: none, the engine has its own pool.
   */
  pool?: ConnectionPool | undefined
  /**
   * The schema of the engine's tables. Engines with different schemas in one database do not see each other. Default: RETOMA_SCHEMA, or
   * `retoma`.
   */
  schema?: string | undefined
  /** The jobs that workers of this engine run. Default: none; `enqueue` adds its job. */
  jobs?: readonly AnyJob[]
  /**
   * The batches of this engine. The jobs and `onComplete` jobs of batches need not be listed in `jobs`. Default:
   * none.
   */
  batches?: readonly AnyBatch[]
  /**
   * Limits of queues over all workers: concurrency, rate, depth. A queue not named keeps its limits; `{}` removes
   * them. Default: the stored limits.
   */
  limits?: LimitsByQueue
  /**
   * Storage of the rate windows of `engine.limit`. Default: Upstash Redis if UPSTASH_REDIS_REST_URL and UPSTASH_REDIS_REST_TOKEN
   * are set, else PostgreSQL. 'off', as with RETOMA_LIMITS=off: no limits, for development.
   */
  rateLimits?: RateLimits
  /**
   * Schedules enqueue jobs while this engine works or watches; the jobs need not be listed in `jobs`. Default: none.
   */
  schedules?: readonly Schedule[]
  /**
   * Guards check tables of the user while this engine works or watches; the jobs need not be listed in `jobs`.
   * Default: none.
   */
  guards?: readonly Guard[]
  /** Whole applications with their jobs, limits and tables. Their routes go to `createApp`. Default: none. */
  systems?: readonly SystemParts[]
  /** The webhook for notices about incidents and their end: docs/notify.md. Default: RETOMA_NOTIFY_URL, if set. */
  notify?: NotifyOptions | undefined
  /** false: do not migrate the schema, nor the tables of the systems; fail if they are not up to date. Default true. */
  migrate?: boolean
  /**
   * Maximum number of connections of this engine, without the connections for LISTEN and for heartbeats, and the same number
   * again for `ctx.transaction`. Default: RETOMA_CONNECTIONS, or 10.
   */
  connections?: number
  /** Retention of finished jobs, for all or by final state. Default: RETENTION_DAYS, or 90 days. */
  retention?: Retention
  /**
   * A logger with debug, info, warn and error, such as a pino logger or `console`; `false` logs nothing. Default: a log on stderr, pretty on a terminal and JSON lines elsewhere;
   * LOG_LEVEL (default info) and LOG_FORMAT change this.
   */
  log?: GivenLog | false
  /**
   * true: the workers of this engine keep the last 200 lines that a handler writes with `ctx.log`, for `engine.jobs.logs`. Default: true,
   * unless RETOMA_JOB_LOGS is off.
   */
  jobLogs?: boolean
  /** The source of time; a test gives the VirtualClock of retoma/testing. Default: the clock of the system. */
  clock?: Clock
}

/** The options with the values that only the command line and the settings give. */
export interface ResolvedOptions extends Omit<EngineOptions, 'log'> {
  log?: Log
  /** Folder of the embedded PostgreSQL, used without a `databaseUrl`. */
  dataDir?: string
  /** The embedded PostgreSQL was not chosen explicitly: the log line that names the folder is a warning. */
  embeddedByDefault?: boolean
  /** Name of the database in the log; default: the address without user and password. */
  databaseName?: string
  /** Default memory limit of workers: RETOMA_WORKER_MEMORY. */
  workerMemory?: number
  /** Default: read from the environment of this process. */
  supervision?: Supervision
  /** The configuration file that brings the jobs, for handlers in child processes. */
  handlers?: ConfiguredHandlers
}

const known = Object.keys({
  databaseUrl: true,
  databaseDirectUrl: true,
  connection: true,
  pool: true,
  schema: true,
  jobs: true,
  batches: true,
  limits: true,
  rateLimits: true,
  schedules: true,
  guards: true,
  systems: true,
  notify: true,
  migrate: true,
  connections: true,
  retention: true,
  log: true,
  jobLogs: true,
  clock: true,
} satisfies Record<keyof EngineOptions, true>)

/** Throws `bad_option` for an unknown name or an invalid value. */
export function checkEngineOptions(options: EngineOptions): void {
  if (options === null || typeof options !== 'object')
    refuseOption('options', 'createEngine takes one object', 'createEngine recebe um objeto')
  refuseUnknownOptions(options, known)
  for (const name of ['jobs', 'batches', 'schedules', 'guards', 'systems'] as const)
    if (options[name] !== undefined && !Array.isArray(options[name]))
      refuseOption(name, `it is a list, such as [${name.slice(0, -1)}]`, `é uma lista, como [${name.slice(0, -1)}]`)
  options.jobs?.forEach((job, index) => {
    if (isJob(job)) return
    const isOther = typeof job === 'object' && job !== null && isJob((job as { job?: AnyJob }).job)
    refuseOption(
      `jobs[${index}]`,
      `it is not made by defineJob${isOther ? '; a batch goes to batches, a schedule to schedules' : ''}`,
      `não foi feito por defineJob${isOther ? '; um lote vai em batches, uma agenda em schedules' : ''}`,
    )
  })
  checkSystems(options.systems ?? [])
  if (options.databaseUrl !== undefined && options.databaseUrl !== embedded)
    checkUrl('databaseUrl', options.databaseUrl)
  if (options.databaseDirectUrl !== undefined) checkUrl('databaseDirectUrl', options.databaseDirectUrl)
  checkConnection(options)
  const { connections, migrate, log, jobLogs, clock } = options
  if (connections !== undefined && !(Number.isInteger(connections) && connections >= 1 && connections <= 1000))
    refuseOption(
      'connections',
      `it is a whole number from 1 to 1000, not ${shownValue(connections)}`,
      `é um número inteiro de 1 a 1000, não ${shownValue(connections)}`,
    )
  if (migrate !== undefined && typeof migrate !== 'boolean')
    refuseOption('migrate', 'it is true or false', 'é true ou false')
  if (jobLogs !== undefined && typeof jobLogs !== 'boolean')
    refuseOption('jobLogs', 'it is true or false', 'é true ou false')
  const has = (value: object, ...names: string[]) =>
    typeof value === 'object' &&
    value !== null &&
    names.every(name => typeof (value as Record<string, unknown>)[name] === 'function')
  if (log !== undefined && log !== false && !has(log, 'debug', 'info', 'warn', 'error'))
    refuseOption(
      'log',
      'it has debug, info, warn and error, as a logger of pino has; or it is false. The level is LOG_LEVEL',
      'tem debug, info, warn e error, como um logger do pino; ou é false. O nível é LOG_LEVEL',
    )
  if (clock !== undefined && !has(clock, 'instant', 'now', 'elapsed', 'sleep'))
    refuseOption(
      'clock',
      'it is a VirtualClock of retoma/testing, or has its methods',
      'é um VirtualClock de retoma/testing, ou tem os métodos dele',
    )
}

function checkConnection(options: EngineOptions): void {
  const { connection, pool, schema } = options
  const given = (['databaseUrl', 'connection', 'pool'] as const).filter(name => options[name] !== undefined)
  if (given.length > 1)
    refuseOption(
      given[1]!,
      `it does not go with ${given[0]}: give one of databaseUrl, connection and pool`,
      `não vai com ${given[0]}: passe um destes: databaseUrl, connection, pool`,
    )
  if (pool !== undefined && options.connections !== undefined)
    refuseOption(
      'connections',
      'it does not go with pool: the pool has its own max',
      'não vai com pool: o pool tem o seu max',
    )
  if (connection !== undefined) checkConnectionConfig(connection)
  if (pool !== undefined) checkPool(pool)
  if (schema !== undefined && !isSchemaName(schema))
    refuseOption('schema', `${schemaRule.en}, not ${shownValue(schema)}`, `${schemaRule.pt}, não ${shownValue(schema)}`)
}

/** Refuses guards over tables of the engine; `schema`: of the engine, from the options or from RETOMA_SCHEMA. */
export function refuseOwnTables(guards: readonly Guard[], schema: string | undefined): void {
  const own = guards.find(({ table }) => schema !== undefined && table.schema === schema)
  if (own !== undefined)
    refuseOption(
      'guards',
      `the guard "${own.name}" is over a table of Retoma, which has the schema "${schema}"`,
      `a guarda "${own.name}" é sobre uma tabela do Retoma, que tem o esquema "${schema}"`,
    )
}

/** Words of other drivers for options of pg. pg ignores an unknown option, and would connect to this machine. */
const misnamed = {
  hostname: 'host',
  server: 'host',
  username: 'user',
  pass: 'password',
  db: 'database',
  dbname: 'database',
  url: 'connectionString',
  uri: 'connectionString',
  sslmode: 'ssl',
  tls: 'ssl',
}

/** Throws `bad_option` for a value that is no configuration of pg. */
export function checkConnectionConfig(connection: unknown): void {
  if (typeof connection !== 'object' || connection === null || Array.isArray(connection))
    refuseOption(
      'connection',
      'it is a configuration of pg, such as { host, user, password, ssl }; a connection string is databaseUrl',
      'é uma configuração do pg, como { host, user, password, ssl }; uma string de conexão é databaseUrl',
    )
  if ('connect' in connection)
    refuseOption(
      'connection',
      'it is a client or a pool; give a Pool of pg as pool',
      'é um client ou um pool; passe um Pool do pg em pool',
    )
  for (const [given, meant] of Object.entries(misnamed))
    if (given in connection)
      refuseOption(
        `connection.${given}`,
        `pg has no such option, did you mean "${meant}"?`,
        `o pg não tem essa opção, você quis dizer "${meant}"?`,
      )
  const { connectionString, password, stream } = connection as ConnectionConfig
  if (Object.values(connection).every(value => value === undefined))
    refuseOption('connection', 'it is empty: give a host, at least', 'está vazia: passe ao menos um host')
  if (connectionString !== undefined) checkUrl('connection.connectionString', connectionString)
  if (password !== undefined && typeof password !== 'string' && typeof password !== 'function')
    refuseOption(
      'connection.password',
      'it is a text, or a function that answers a text, for each new connection',
      'é um texto, ou uma função que responde um texto, para cada conexão nova',
    )
  if (stream !== undefined && typeof stream !== 'function')
    refuseOption('connection.stream', 'it is a function that makes a socket', 'é uma função que cria um socket')
}

/** Fewer connections would let a handler in a transaction wait for itself. */
const leastConnections = 2

function checkPool(pool: unknown): void {
  const { connect, totalCount, options, ended, ending } = Object(pool) as Record<string, unknown>
  if (typeof connect !== 'function' || typeof totalCount !== 'number' || typeof options !== 'object')
    refuseOption(
      'pool',
      'it is not a Pool of pg: give new pg.Pool({ … }), or connection or databaseUrl',
      'não é um Pool do pg: passe new pg.Pool({ … }), ou connection ou databaseUrl',
    )
  if (ended === true || ending === true) refuseOption('pool', 'it has ended', 'ele já foi encerrado')
  const { max } = options as { max?: number }
  if (max !== undefined && max < leastConnections)
    refuseOption('pool', `its max is ${max}; it needs 2 at least`, `o max dele é ${max}; precisa de pelo menos 2`)
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

/** Fills in missing options from the environment and from `.env` in `folder`. Throws `bad_setting` and `no_database`. */
export function withSettings(options: EngineOptions, folder = process.cwd()): ResolvedOptions {
  const environment = readEnvironment(folder, process.env)
  // These variables pass between a supervisor and its worker and are no settings.
  for (const name of ownVariables) delete environment[name]
  const { settings, database } = readLibrarySettings(environment)
  const isProduction = process.env.NODE_ENV === 'production'
  const isOwn = options.pool !== undefined || options.connection !== undefined
  const byName = options.databaseUrl === embedded || (options.databaseUrl === undefined && database === embedded)
  const databaseUrl =
    isOwn || options.databaseUrl === embedded ? undefined : (options.databaseUrl ?? settings.DATABASE_URL)
  if (databaseUrl === undefined && isProduction && !byName && !isOwn) throw new RetomaError('no_database', {})
  // The direct URL of another database would get the heartbeats of this database's workers.
  const ofEnvironment = options.databaseUrl === undefined && databaseUrl !== undefined
  const databaseDirectUrl = options.databaseDirectUrl ?? (ofEnvironment ? settings.DATABASE_DIRECT_URL : undefined)
  const { RETOMA_NOTIFY_URL: url, RETOMA_NOTIFY_SECRET: secret, RETOMA_NOTIFY_LANGUAGE: language } = settings
  const { RETOMA_WORKER_MEMORY: memory } = settings
  return {
    rateLimits: rateLimitsOf(settings),
    retention: days(settings.RETENTION_DAYS),
    connections: settings.RETOMA_CONNECTIONS,
    jobLogs: settings.RETOMA_JOB_LOGS !== 'off',
    notify: url === undefined ? undefined : { url, secret, link: settings.PUBLIC_URL, language },
    ...withoutUndefined(options),
    databaseUrl,
    databaseDirectUrl,
    schema: options.schema ?? settings.RETOMA_SCHEMA,
    dataDir: resolve(folder, settings.RETOMA_DATA_DIR),
    embeddedByDefault: !byName,
    log: options.log === false ? silentLog : options.log === undefined ? defaultLog(settings) : logOf(options.log),
    ...(memory === undefined ? {} : { workerMemory: megabytes(memory) }),
  }
}

const withoutUndefined = (options: EngineOptions): EngineOptions =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))

type LibrarySettings = ReturnType<typeof readLibrarySettings>['settings']

function defaultLog({ LOG_LEVEL: level, LOG_FORMAT: format }: LibrarySettings): Log {
  return createLog({ level, format: format ?? (process.stderr.isTTY ? 'pretty' : 'json') })
}

export function rateLimitsOf(
  settings: Pick<LibrarySettings, 'RETOMA_LIMITS' | 'UPSTASH_REDIS_REST_URL' | 'UPSTASH_REDIS_REST_TOKEN'>,
): RateLimits {
  const { UPSTASH_REDIS_REST_URL: url, UPSTASH_REDIS_REST_TOKEN: token } = settings
  if (settings.RETOMA_LIMITS === 'off') return 'off'
  return url !== undefined && token !== undefined ? { url, token } : 'postgresql'
}

/** Location of the database. */
export interface DatabaseHome extends Pick<DbOptions, 'url' | 'connection' | 'pool'> {
  /** Address without the pooler, if a pooler is used. */
  directUrl: string | undefined
  /** Leaves the embedded PostgreSQL, which stops after the last process has left. */
  leave: () => Promise<void>
}

/** Answers the database URL, or starts or joins the embedded PostgreSQL, which close() leaves. Logs the choice. */
export async function databaseHome(options: ResolvedOptions, log: Log): Promise<DatabaseHome> {
  const { databaseUrl: url, databaseDirectUrl: directUrl, dataDir = '.retoma', embeddedByDefault } = options
  const { connection, pool } = options
  const target = pool ? targetOfPool(pool) : (connection ?? url) ? targetOf((connection ?? url)!) : undefined
  if (target !== undefined) {
    log.info({ database: options.databaseName ?? target.address }, 'the database of this engine')
    return { url, connection, pool, directUrl, leave: async () => {} }
  }
  const { openEmbedded } = await import('../embedded-postgres/index.ts')
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
