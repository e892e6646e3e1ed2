/**
 * Finds and loads the user's retoma.config, TypeScript included, on a bare Node 20. Called by the commands that run or enqueue jobs.
 */
import { access, stat } from 'node:fs/promises'
import { basename, join, relative, resolve } from 'node:path'
import type { AnyBatch } from '../batches/model/batch.ts'
import type { Config } from '../config.ts'
import { type ConnectionConfig, checkConnectionConfig } from '../engine/engine-options.ts'
import { checkSystems } from '../engine/system-parts.ts'
import type { OwnErrors } from '../errors/app-errors.ts'
import { isRetomaError, type LocalizedText, localized, type RetomaError } from '../errors/errors.ts'
import { hintForOption } from '../errors/invalid-option.ts'
import type { Guard } from '../guards/model/guard.ts'
import type { Route, System } from '../http/index.ts'
import type { AnyJob } from '../jobs/model/job.ts'
import { withDeadline } from '../lib/with-deadline.ts'
import { checkLimits, type LimitsByQueue } from '../limits/model/queue-limits.ts'
import type { Schedule } from '../schedules/model/schedule.ts'
import type { Context } from './command-context.ts'
import { asConfigError, badConfig } from './config-errors.ts'
import { both } from './messages/index.ts'

/** The definitions of a config or a system, with defaults filled in. */
export interface Registered {
  /** Includes the jobs of the batches, schedules and guards. */
  readonly jobs: readonly AnyJob[]
  readonly batches: readonly AnyBatch[]
  readonly schedules: readonly Schedule[]
  readonly guards: readonly Guard[]
  /** Every queue of the jobs, with its concurrency per worker. */
  readonly queues: Readonly<Record<string, number>>
  /** Queues that the process of the API does not work on. */
  readonly workerOnly: readonly string[]
  readonly limits: LimitsByQueue
  readonly routes: readonly Route[]
  readonly errors: OwnErrors
}

export interface LoadedConfig extends Registered {
  /** Undefined: there is no config, and nothing is registered. */
  readonly file: string | undefined
  readonly systems: readonly System[]
  readonly simulated: readonly string[]
  /** Answers the connection of the config; undefined: the config has none. */
  connection(): Promise<ConnectionConfig | undefined>
}

export const configNames = ['retoma.config.ts', 'retoma.config.js', 'retoma.config.mjs']
const usualSize = 10
const longestLoad = 60_000

export async function loadConfig({
  folder,
  configFile,
}: Pick<Context, 'folder' | 'configFile'>): Promise<LoadedConfig> {
  const file = configFile === undefined ? await findConfig(folder) : resolve(folder, configFile)
  if (file === undefined)
    return { file, systems: [], simulated: [], connection: async () => undefined, ...registered({}) }
  const name = relative(folder, file) || basename(file)
  if (!(await isFile(file)))
    throw badConfig(
      name,
      both(word => word.config.noFile),
    )
  const refuse = (problem: LocalizedText) => badConfig(name, problem)
  const config = check(await evaluate(file, folder), refuse)
  const { systems = [], simulated = [] } = config
  return {
    file,
    systems,
    simulated,
    connection: () => connectionOf(config, file, folder, refuse),
    ...registered(config),
  }
}

export function registered(config: Config): Registered {
  const { batches = [], schedules = [], guards = [], queues = {}, workerOnly = [] } = config
  const { limits = {}, routes = [], errors = {} } = config
  const ofBatches = batches.flatMap(({ job, onComplete }) => (onComplete === null ? [job] : [job, onComplete]))
  const ofSchedules = schedules.map(schedule => schedule.job)
  const ofGuards = guards.flatMap(({ enqueue }) => (enqueue === null ? [] : [enqueue.job]))
  const jobs = [...new Set([...(config.jobs ?? []), ...ofBatches, ...ofSchedules, ...ofGuards])]
  const usual = Object.fromEntries(jobs.map(job => [job.queue, usualSize]))
  return { jobs, batches, schedules, guards, queues: { ...usual, ...queues }, workerOnly, limits, routes, errors }
}

/** Queues with limits but without a job in the config: a misspelled name limits nothing. */
export const strayLimits = ({ limits, queues }: Registered): string[] =>
  Object.keys(limits).filter(queue => !Object.hasOwn(queues, queue) && Object.keys(limits[queue]!).length > 0)

/** The reason for having no jobs, for commands that need jobs. */
export const whyNoJobs = (config: Pick<LoadedConfig, 'file'>): LocalizedText =>
  both(word => (config.file === undefined ? word.config.missing : word.config.none(basename(config.file))))

async function findConfig(folder: string): Promise<string | undefined> {
  for (const name of configNames) if (await isFile(join(folder, name))) return join(folder, name)
  return undefined
}

const isFile = async (path: string): Promise<boolean> => {
  const found = await stat(path).catch(() => undefined)
  return (
    found?.isFile() === true &&
    (await access(path).then(
      () => true,
      () => false,
    ))
  )
}

async function evaluate(file: string, folder: string): Promise<unknown> {
  try {
    // The loader takes as long to load as all other modules together, and only commands with a config need the loader.
    const { importModule } = await import('../module-loader.ts')
    const loading = importModule<{ default?: unknown }>(file).then(module => module.default)
    const exported = await withDeadline(loading, longestLoad, () => new Error('it did not load within 60 s'))
    // Read here, so that an error of a getter is reported as an error of the file too.
    return exported !== null && typeof exported === 'object' && !Array.isArray(exported) ? { ...exported } : exported
  } catch (error) {
    // A setting of a system: the sentence names the variable, and the place in the config is of no use.
    if (isRetomaError(error, 'bad_setting')) throw error
    throw asConfigError(file, folder, error)
  }
}

const knownKeys = [
  'connection',
  'jobs',
  'batches',
  'schedules',
  'guards',
  'queues',
  'workerOnly',
  'limits',
  'routes',
  'errors',
  'systems',
  'simulated',
]

const setting = (name: string) =>
  localized(`; set ${name} in the environment or in .env`, `; defina ${name} no ambiente ou em .env`)
const ofPrograms = localized(
  '; the command line takes connection, and a program of yours createEngine({ pool }) with engine.work({ signals: true })',
  '; a linha de comando usa connection, e um programa seu createEngine({ pool }) com engine.work({ signals: true })',
)
/** Options of createEngine that are no keys of a config. */
const elsewhere: Readonly<Record<string, LocalizedText>> = {
  pool: ofPrograms,
  databaseUrl: setting('DATABASE_URL'),
  databaseDirectUrl: setting('DATABASE_DIRECT_URL'),
  schema: setting('RETOMA_SCHEMA'),
  retention: setting('RETENTION_DAYS'),
  log: setting('LOG_LEVEL'),
  jobLogs: setting('RETOMA_JOB_LOGS'),
  notify: setting('RETOMA_NOTIFY_URL'),
  host: setting('HOST'),
  port: setting('PORT'),
}

function check(exported: unknown, refuse: (problem: LocalizedText) => RetomaError): Config {
  if (exported === null || typeof exported !== 'object' || Array.isArray(exported))
    throw refuse(both(word => word.config.notAnObject))
  for (const key of Object.keys(exported)) {
    if (knownKeys.includes(key)) continue
    const hint = Object.hasOwn(elsewhere, key) ? elsewhere[key]! : hintForOption(key, knownKeys)
    throw refuse(both((word, language) => word.config.unknownKey(key, hint[language])))
  }
  const { jobs, batches, schedules, guards, queues, workerOnly, limits, routes, errors, systems, simulated } =
    exported as Record<keyof Config, unknown>
  checkConnection((exported as Config).connection, refuse)
  checkJobs(jobs, refuse)
  checkBatches(batches, refuse)
  checkSchedules(schedules, refuse)
  checkGuards(guards, refuse)
  checkQueues(queues, refuse)
  if (workerOnly !== undefined && !isListOfNames(workerOnly)) throw refuse(both(word => word.config.workerOnlyNoList))
  checkQueueLimits(limits, refuse)
  checkRoutes(routes, refuse)
  checkErrors(errors, refuse)
  checkSystemList(systems, refuse)
  if (simulated !== undefined && !isListOfNames(simulated)) throw refuse(both(word => word.config.simulatedNoList))
  return exported as Config
}

/** A function is checked by its answer. */
function checkConnection(connection: unknown, refuse: (problem: LocalizedText) => RetomaError): void {
  if (connection === undefined) return
  if (process.env.DATABASE_URL?.trim())
    throw refuse(
      localized(
        'connection does not go with DATABASE_URL: remove one of them',
        'connection não vai com DATABASE_URL: remova um dos dois',
      ),
    )
  if (typeof connection !== 'function') checkAnswer(connection, refuse)
}

function checkAnswer(connection: unknown, refuse: (problem: LocalizedText) => RetomaError): void {
  try {
    checkConnectionConfig(connection)
  } catch (error) {
    if (!isRetomaError(error)) throw error
    throw refuse(both((_, language) => error.in(language)))
  }
}

async function connectionOf(
  { connection }: Config,
  file: string,
  folder: string,
  refuse: (problem: LocalizedText) => RetomaError,
): Promise<ConnectionConfig | undefined> {
  if (typeof connection !== 'function') return connection
  const answering = Promise.resolve().then(connection)
  const answer = await withDeadline(
    answering,
    longestLoad,
    () => new Error('connection did not answer within 60 s'),
  ).catch(error => {
    throw asConfigError(file, folder, error)
  })
  checkAnswer(answer, refuse)
  return answer
}

const isListOfNames = (given: unknown): boolean => Array.isArray(given) && given.every(each => typeof each === 'string')

function checkJobs(jobs: unknown, refuse: (problem: LocalizedText) => RetomaError): void {
  if (jobs === undefined) return
  if (!Array.isArray(jobs)) throw refuse(both(word => word.config.jobsNoList))
  const kinds = new Set<string>()
  jobs.forEach((job: Partial<AnyJob> | null | undefined, index) => {
    const made = typeof job?.kind === 'string' && typeof job.policy === 'object' && typeof job.parse === 'function'
    if (!made) throw refuse(both(word => word.config.notAJob(index)))
    if (kinds.has(job.kind!)) throw refuse(both(word => word.config.twice(job.kind!)))
    kinds.add(job.kind!)
  })
}

function checkBatches(batches: unknown, refuse: (problem: LocalizedText) => RetomaError): void {
  if (batches === undefined) return
  if (!Array.isArray(batches)) throw refuse(both(word => word.config.batchesNoList))
  const names = new Set<string>()
  batches.forEach((batch: Partial<AnyBatch> | null | undefined, index) => {
    const made = typeof batch?.policy === 'object' && typeof batch.job?.kind === 'string'
    if (!made) throw refuse(both(word => word.config.notABatch(index)))
    if (names.has(batch.name!)) throw refuse(both(word => word.config.batchTwice(batch.name!)))
    names.add(batch.name!)
  })
}

function checkSchedules(schedules: unknown, refuse: (problem: LocalizedText) => RetomaError): void {
  if (schedules === undefined) return
  if (!Array.isArray(schedules)) throw refuse(both(word => word.config.schedulesNoList))
  const names = new Set<string>()
  schedules.forEach((schedule: Partial<Schedule> | null | undefined, index) => {
    const made = typeof schedule?.recurrence === 'object' && typeof schedule.input === 'function'
    if (!made) throw refuse(both(word => word.config.notASchedule(index)))
    if (names.has(schedule.name!)) throw refuse(both(word => word.config.scheduleTwice(schedule.name!)))
    names.add(schedule.name!)
  })
}

function checkGuards(guards: unknown, refuse: (problem: LocalizedText) => RetomaError): void {
  if (guards === undefined) return
  if (!Array.isArray(guards)) throw refuse(both(word => word.config.guardsNoList))
  const names = new Set<string>()
  guards.forEach((guard: Partial<Guard> | null | undefined, index) => {
    const made = typeof guard?.table === 'object' && guard.enqueue !== undefined
    if (!made) throw refuse(both(word => word.config.notAGuard(index)))
    if (names.has(guard.name!)) throw refuse(both(word => word.config.guardTwice(guard.name!)))
    names.add(guard.name!)
  })
}

function checkQueues(queues: unknown, refuse: (problem: LocalizedText) => RetomaError): void {
  if (queues === undefined) return
  if (queues === null || typeof queues !== 'object' || Array.isArray(queues))
    throw refuse(both(word => word.config.queuesNoRecord))
  for (const [queue, size] of Object.entries(queues)) {
    if (!(Number.isInteger(size) && size >= 1 && size <= 10_000))
      throw refuse(both(word => word.config.queueSize(queue)))
  }
}

function checkQueueLimits(limits: unknown, refuse: (problem: LocalizedText) => RetomaError): void {
  if (limits === undefined) return
  try {
    checkLimits(limits as LimitsByQueue)
  } catch (error) {
    if (!isRetomaError(error)) throw error
    throw refuse(both((_, language) => error.in(language)))
  }
}

function checkRoutes(routes: unknown, refuse: (problem: LocalizedText) => RetomaError): void {
  if (routes === undefined) return
  if (!Array.isArray(routes)) throw refuse(both(word => word.config.routesNoList))
  routes.forEach((route: Partial<Route> | null | undefined, index) => {
    const made = typeof route?.path === 'string' && typeof route.method === 'string' && typeof route.run === 'function'
    if (!made) throw refuse(both(word => word.config.notARoute(index)))
  })
}

/** The parts of a system are checked as the parts of a config are. */
function checkSystemList(systems: unknown, refuse: (problem: LocalizedText) => RetomaError): void {
  if (systems === undefined) return
  if (!Array.isArray(systems)) throw refuse(both(word => word.config.systemsNoList))
  systems.forEach((system: Partial<System> | null | undefined, index) => {
    if (typeof system?.name !== 'string') throw refuse(both(word => word.config.notASystem(index)))
    const { name: _, attach: __, attached: ___, migrations: ____, page: _____, ...parts } = system
    if ('connection' in parts) throw refuse(both(word => word.config.unknownKey('connection', '')))
    check(parts, refuse)
  })
  try {
    checkSystems(systems as System[])
  } catch (error) {
    if (!isRetomaError(error)) throw error
    throw refuse(both((_, language) => error.in(language)))
  }
}

function checkErrors(errors: unknown, refuse: (problem: LocalizedText) => RetomaError): void {
  if (errors === undefined) return
  const made =
    errors !== null &&
    typeof errors === 'object' &&
    Object.entries(errors).every(([code, error]) => (error as { code?: unknown } | null)?.code === code)
  if (!made) throw refuse(both(word => word.config.errorsNotMade))
}
