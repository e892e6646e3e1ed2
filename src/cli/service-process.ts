/**
 * Runs `up`, `serve` and `worker`: the same parts, started in order and stopped in order. A signal at any moment, even during the start,
 * stops the started parts: HTTP, worker, engine, database.
 *
 * The port is taken first, so that a taken port is reported before anything slow begins. But a second start in the same folder is
 * reported as such, not as a conflict about the port of the first process.
 */

import { isIPv6 } from 'node:net'
import { createEngineOn, type Engine, openDb, rateLimitsOf, type WorkerHandle } from '../engine/create-engine.ts'
import { internalsOf } from '../engine/internals.ts'
import { isRetomaError, RetomaError } from '../errors/errors.ts'
import { createApp } from '../http/index.ts'
import { systemClock } from '../lib/clock.ts'
import { builtModule } from '../lib/package-root.ts'
import { megabytes } from '../lib/values/bytes.ts'
import { days } from '../lib/values/duration.ts'
import { connectionShare, type DatabaseShare } from '../maintenance/index.ts'
import { isLoopback, type Settings, suggestion } from '../settings/index.ts'
import { restartCode } from '../supervisor/model/crash-report.ts'
import { removeStatusFile, writeStatusFile } from '../supervisor/status-files.ts'
import { type ProcessPlace, Supervision } from '../supervisor/supervision.ts'
import { wrongUse } from './arguments.ts'
import type { Context } from './command-context.ts'
import {
  type Database,
  databaseOf,
  hasData,
  isOwnDatabase,
  openDatabase,
  refuseInProduction,
} from './command-database.ts'
import { listenForSignals, whenAborted } from './interrupt-signals.ts'
import type { LoadedApps } from './load-apps.ts'
import { strayLimits } from './load-config.ts'
import { StartingServer } from './starting-server.ts'
import { notifyOf } from './webhook-settings.ts'

/** The module with which a child of a worker loads the config. */
const childLoader = builtModule('cli/child-loader.js')

export interface ServiceParts {
  /** Reserves the data folder, so that a second process gets the address of the first. */
  alone: boolean
  http: boolean
  /** Queues and sizes; undefined: no worker. */
  work: Readonly<Record<string, number>> | undefined
  /** The value of --processes. */
  processes?: number | undefined
}

export interface RunningService {
  address: string | undefined
  where: string
  embedded: boolean
  /** This machine has access without a token. */
  open: boolean
  /** The share of each of several processes in the connections of the database; undefined: one process. */
  share: DatabaseShare | undefined
}

/** Resolves with the exit code after everything has stopped. Calls `ready` when everything runs. */
export async function runService(
  context: Context,
  loaded: LoadedApps,
  parts: ServiceParts,
  ready: (running: RunningService) => void,
): Promise<number> {
  const { output, log } = context
  const signals = listenForSignals()
  const supervision = new Supervision()
  const { reportFolder, place } = supervision
  checkProcesses(context, parts, place)
  // One process of several speaks for all.
  const isFirst = place.number === 1
  signals.asked.addEventListener('abort', () => writeStatusFile(reportFolder, 'asked'), { once: true })
  const serviceProcess = new ServiceProcess(context, supervision)
  for (const queue of isFirst ? strayLimits(loaded) : []) {
    const hint = suggestion(queue, Object.keys(loaded.queues))[output.language]
    output.note(output.word.config.strayLimits(queue, hint))
  }
  try {
    const running = await serviceProcess.open(loaded, parts, signals.asked)
    if (running !== undefined) {
      writeStatusFile(reportFolder, 'ready')
      if (isFirst) ready(running)
      serviceProcess.firstClaim.then(
        () => writeStatusFile(reportFolder, 'claims'),
        () => {},
      )
      await Promise.race([whenAborted(signals.asked), serviceProcess.restartNeeded])
    }
    if (isFirst) output.say(output.word.up.stopping)
    log.debug({ signal: signals.name }, 'stopping')
  } finally {
    await serviceProcess.close()
    signals.forget()
  }
  if (isFirst) output.say(output.word.up.stopped)
  return signals.asked.aborted ? 0 : restartCode
}

/** Several processes need a supervisor: refuses the option, and reports a setting without an effect. */
function checkProcesses({ output, settings }: Context, { work, processes }: ServiceParts, { of }: ProcessPlace): void {
  if (of > 1) return
  if ((processes ?? 1) > 1) throw wrongUse(word => word.wrong.processesNeedSupervisor)
  const isSet = work !== undefined && processes === undefined && settings.RETOMA_PROCESSES > 1
  if (isSet) output.note(output.word.up.oneProcess)
}

class ServiceProcess {
  readonly #context: Context
  readonly #supervision: Supervision
  #startingServer: StartingServer | undefined
  #database: Database | undefined
  #engine: Engine | undefined
  #worker: WorkerHandle | undefined

  constructor(context: Context, supervision: Supervision) {
    this.#context = context
    this.#supervision = supervision
  }

  /** Returns undefined if a stop signal came before everything ran. */
  async open(loaded: LoadedApps, parts: ServiceParts, asked: AbortSignal): Promise<RunningService | undefined> {
    const { settings, log, output } = this.#context
    if (parts.http && !(await hasData(this.#context))) this.#refuseUnless(settings.RETOMA_ADMIN_TOKEN !== undefined)
    if (parts.http) await this.#openDoor(parts, asked)
    if (!(await hasData(this.#context))) output.say(output.word.up.starting)
    if (asked.aborted) return undefined
    writeStatusFile(this.#supervision.reportFolder, 'database')
    await this.#openDatabase(parts)
    if (asked.aborted) return undefined
    const { place, where, embedded } = this.#database!
    const { of: processes } = this.#supervision.place
    const share = processes === 1 ? undefined : await connectionShare({ ...place, processes, log })
    this.#engine = await createEngineOn(openDb, {
      ...databaseOf(this.#context, this.#database!),
      jobs: loaded.config.jobs,
      batches: loaded.config.batches,
      limits: loaded.config.limits,
      schedules: loaded.config.schedules,
      guards: loaded.config.guards,
      systems: loaded.systems,
      rateLimits: rateLimitsOf(settings),
      retention: days(settings.RETENTION_DAYS),
      connections: settings.RETOMA_CONNECTIONS,
      jobLogs: settings.RETOMA_JOB_LOGS !== 'off',
      notify: notifyOf(settings),
      log,
      ...(share && { connections: share.connections }),
      supervision: this.#supervision,
      handlers: {
        loader: childLoader,
        config: { folder: this.#context.folder, file: loaded.config.file },
        here: loaded.systems.flatMap(each => each.attached ?? []).map(job => job.kind),
      },
    })
    removeStatusFile(this.#supervision.reportFolder, 'database')
    if (asked.aborted) return undefined
    const closed = parts.http && (await this.#lock(this.#engine))
    if (parts.work === undefined) this.#engine.watch()
    else this.#worker = await this.#engine.work({ queues: parts.work, ...memoryOf(settings.RETOMA_WORKER_MEMORY) })
    const { routes, systems, simulated } = loaded
    this.#startingServer?.open(createApp(this.#engine, { log, ...doorOptions(settings), routes, systems, simulated }))
    return {
      address: this.#startingServer?.address,
      where,
      embedded: embedded !== undefined,
      open: parts.http && !closed,
      share,
    }
  }

  /** True if requests need a token; refuses to listen on the network without a token. */
  async #lock(engine: Engine): Promise<boolean> {
    const { RETOMA_ADMIN_TOKEN } = this.#context.settings
    if (RETOMA_ADMIN_TOKEN !== undefined) await internalsOf(engine).keepAdminToken(RETOMA_ADMIN_TOKEN)
    const closed = await internalsOf(engine).anyToken()
    this.#refuseUnless(closed)
    return closed
  }

  #refuseUnless(closed: boolean): void {
    const { HOST: host } = this.#context.settings
    if (!closed && !isLoopback(host)) throw new RetomaError('host_needs_token', { host })
  }

  /** Resolves after the first claim of the worker. */
  get firstClaim(): Promise<void> {
    return this.#engine === undefined ? new Promise(() => {}) : internalsOf(this.#engine).firstClaim()
  }

  /** Resolves when the worker has stopped by itself and needs a restart of the process. */
  get restartNeeded(): Promise<void> {
    return this.#worker?.restartNeeded ?? new Promise(() => {})
  }

  /** HTTP first, so that no new requests come in; the worker releases its jobs; then engine and database. */
  async close(): Promise<void> {
    const last = [
      () => this.#startingServer?.close(),
      () => this.#worker?.stop(),
      () => this.#engine?.close(),
      () => this.#database?.leave(),
    ]
    for (const step of last) {
      await Promise.resolve(step()).catch(error => this.#context.log.warn({ err: error }, 'stopping was not clean'))
    }
  }

  async #openDoor({ alone }: ServiceParts, asked: AbortSignal): Promise<void> {
    const { settings } = this.#context
    try {
      this.#startingServer = await StartingServer.at(settings.HOST, settings.PORT, settings.PUBLIC_URL)
    } catch (error) {
      const maybeOurs = alone && isRetomaError(error, 'port_taken')
      if (maybeOurs && (await isOwnDatabase(this.#context))) await this.#refuseIfInUse(asked)
      throw error
    }
  }

  /** The port may belong to another `up` of this folder, which may have only just started. */
  async #refuseIfInUse(asked: AbortSignal): Promise<void> {
    const { HOST, PORT } = this.#context.settings
    while (!asked.aborted && (await isStarting(HOST, PORT))) await systemClock.sleep(100, asked)
    // Without data there can be no other `up` in this folder, and a refusal must not create a data folder.
    if (asked.aborted || !(await hasData(this.#context))) return
    this.#database = await openDatabase(this.#context)
    const { embedded, where } = this.#database
    const address = await embedded?.reservedBy()
    if (address !== undefined) throw new RetomaError('data_in_use', { folder: where, address })
  }

  async #openDatabase({ alone }: Pick<ServiceParts, 'alone'>): Promise<void> {
    // `up` starts a database of its own and says so; processes on several hosts share no database without a URL.
    // The first process of `up --processes` has decided for the others.
    if (!alone && this.#supervision.place.number === 1) await refuseInProduction(this.#context)
    this.#database ??= await openDatabase(this.#context)
    const { embedded, where } = this.#database
    if (!alone || embedded === undefined) return
    const holder = await embedded.reserve(this.#startingServer?.address ?? '')
    if (holder !== undefined) throw new RetomaError('data_in_use', { folder: where, address: holder })
  }
}

const doorOptions = ({ PUBLIC_URL, TRUST_PROXY, CRON_SECRET }: Settings) => ({
  publicUrl: PUBLIC_URL,
  trustProxy: TRUST_PROXY,
  cronSecret: CRON_SECRET,
})
const memoryOf = (given: number | undefined) => (given === undefined ? {} : { memory: megabytes(given) })

/** True if a starting Retoma process has this port: until the app is ready, its server (starting-server.ts) responds `starting` to every request. */
async function isStarting(host: string, port: number): Promise<boolean> {
  try {
    const address = `http://${isIPv6(host) ? `[${host}]` : host}:${port}/health`
    const response = await fetch(address, { signal: AbortSignal.timeout(2000) })
    if (response.status !== 503) return false
    const body = (await response.json()) as { error?: { code?: unknown } }
    return body.error?.code === 'starting'
  } catch {
    return false
  }
}
