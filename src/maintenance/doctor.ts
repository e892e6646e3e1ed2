/**
 * Checks a database, its settings and the jobs in it, for `retoma doctor`. The doctor reads, and sends a notification on a
 * channel of its own; nothing is changed.
 *
 * Invariant: every check gets an answer. A check that cannot run says so, and does not keep other checks from running.
 */

import type { ConnectionConfig } from '../database/connection-config.ts'
import { targetOf } from '../database/connection-target.ts'
import { type Db, openDb } from '../database/db.ts'
import { readSystemMigrations } from '../database/migrate.ts'
import { isLockTimeout } from '../database/pg-errors.ts'
import { isRetomaError, type LocalizedText, localized } from '../errors/errors.ts'
import { viewGuards } from '../guards/sql/guard-runs.ts'
import { type QueueView, viewQueues, viewWorkers, type WorkerView } from '../jobs/sql/job-view.ts'
import { type Clock, systemClock } from '../lib/clock.ts'
import { type Log, silentLog } from '../lib/logging/log.ts'
import { viewFindings } from '../recovery/sql/findings.ts'
import { type Check, type CheckName, checkNames, failure, ok, unseen } from './model/doctor-check.ts'
import type { SchemaFacts, ServerFacts, TableSize, WorkFacts } from './model/doctor-facts.ts'
import { checkGuards } from './model/guard-checks.ts'
import {
  checkClock,
  checkConnections,
  checkDisk,
  checkDurability,
  checkPins,
  checkRights,
  checkSchema,
  checkVacuum,
  checkVersion,
  pinSeconds,
  pinTransactions,
} from './model/server-checks.ts'
import {
  checkFindings,
  checkListen,
  checkPaused,
  checkStarved,
  checkWatchdog,
  checkWorkers,
  most,
} from './model/work-checks.ts'
import {
  readPins,
  readRights,
  readSchemaVersion,
  readServer,
  readSizes,
  readStarved,
  readTick,
  readWork,
  testNotifications,
} from './sql/read-doctor-facts.ts'

export interface DoctorOptions {
  databaseUrl?: string | undefined
  /** In place of `databaseUrl`. */
  connection?: ConnectionConfig | undefined
  databaseDirectUrl?: string
  /** The schema of the engine. Default: retoma. */
  schema?: string | undefined
  /** Free bytes on the disk of an embedded PostgreSQL. */
  freeBytes?: number
  /** The systems of the config, to compare their tables. */
  systems?: readonly { readonly name: string; readonly migrations?: URL | undefined }[]
  log?: Log
  clock?: Clock
  /** The name of the database in sentences. Default: the address in `databaseUrl` or `connection`. */
  address?: string
}

export interface DoctorReport {
  checks: Check[]
  /** Further facts, as far as they could be read. */
  server?: ServerFacts
  schema?: SchemaFacts
  tables?: TableSize[]
  queues?: QueueView[]
  workers?: WorkerView[]
}

export async function examine(options: DoctorOptions): Promise<DoctorReport> {
  const { databaseUrl: url, connection, databaseDirectUrl: directUrl, schema, log = silentLog } = options
  const db = openDb({ url, connection, connections: 2, log, directUrl, schema })
  try {
    return await checkAll(db, options)
  } finally {
    await db.close()
  }
}

/** The result if the database is unreachable: no other check could run. */
export function unreachable(error: unknown): DoctorReport {
  const database = failure('database', sentenceOf(error), fixDatabase)
  return {
    checks: [database, ...rest(['database'], localized('the database was not reached', 'o banco não foi alcançado'))],
  }
}

/** @internal With an open database: of an engine, or of a test. */
export async function checkAll(db: Db, options: DoctorOptions): Promise<DoctorReport> {
  const { clock = systemClock, databaseUrl, connection, databaseDirectUrl, freeBytes } = options
  const now = clock.instant()
  let server: ServerFacts
  try {
    server = await readServer(db, clock)
  } catch (error) {
    return unreachable(error)
  }
  const where = options.address ?? targetOf((connection ?? databaseUrl)!).address
  const checks: Check[] = [
    ok('database', localized(`the database at ${where} answers`, `o banco em ${where} responde`)),
    checkVersion(server),
    checkClock(server),
    checkDurability(server),
    checkDisk(server, freeBytes),
    checkConnections(server),
  ]
  const seen: DoctorReport = { checks, server }
  const check = async (name: CheckName, work: () => Promise<Check>) =>
    void checks.push(await work().catch(error => notChecked(name, error)))

  await check('pins', async () => checkPins(await readPins(db, pinSeconds, pinTransactions)))
  await check('listen', async () => {
    const test = await testNotifications(db).catch((error: Error) => error)
    return checkListen(test, databaseDirectUrl !== undefined)
  })
  await check('schema', async () => {
    seen.schema = await readSchemaVersion(db, await readSystemMigrations(options.systems ?? []))
    return checkSchema(seen.schema)
  })
  if (seen.schema === undefined || seen.schema.found !== seen.schema.known) {
    const why = localized('the schema is not the one this Retoma knows', 'o esquema não é o que este Retoma conhece')
    return {
      ...seen,
      checks: sorted([
        ...checks,
        ...rest(
          checks.map(each => each.name),
          why,
        ),
      ]),
    }
  }

  await check('rights', async () => checkRights(await readRights(db)))
  await check('vacuum', async () => {
    seen.tables = await readSizes(db)
    return checkVacuum(server, seen.tables)
  })
  await check('starved', async () => checkStarved(await readStarved(db, most, now)))
  let work: WorkFacts | undefined
  await check('workers', async () => {
    work = await readWork(db, most, now)
    return checkWorkers(work)
  })
  // Both checks use the facts of the previous check.
  await check('paused', async () => (work ? checkPaused(work) : unseen('paused', noWork)))
  await check('watchdog', async () =>
    work ? checkWatchdog(await readTick(db, now), work) : unseen('watchdog', noWork),
  )
  await check('findings', async () => checkFindings(await viewFindings(db)))
  await check('guards', async () => {
    const guards = await viewGuards(db, now)
    return checkGuards(guards.filter(each => each.active || each.late)) // the other guards were abandoned
  })
  const queues = await viewQueues(db, now).catch(() => undefined)
  const workers = await viewWorkers(db, now).catch(() => undefined)
  return { ...seen, checks: sorted(checks), ...(queues ? { queues } : {}), ...(workers ? { workers } : {}) }
}

const noWork = localized('the workers could not be read', 'não foi possível ver os workers')

/** A timeout or a lock timeout leaves the check without a result; any other error fails the check. */
function notChecked(name: CheckName, error: unknown): Check {
  if (isRetomaError(error, 'database_timeout') || isLockTimeout(error)) return unseen(name, sentenceOf(error))
  const isAway = isRetomaError(error, 'database_unreachable') || isRetomaError(error, 'database_refused')
  return failure(name, sentenceOf(error), isAway ? fixDatabase : seeLog)
}

const rest = (seen: readonly CheckName[], why: LocalizedText): Check[] =>
  checkNames.filter(name => name !== 'settings' && !seen.includes(name)).map(name => unseen(name, why))

const sorted = (checks: Check[]): Check[] =>
  checks.sort((a, b) => checkNames.indexOf(a.name) - checkNames.indexOf(b.name))

function sentenceOf(error: unknown): LocalizedText {
  if (isRetomaError(error)) return localized(error.in('en'), error.in('pt'))
  const text = error instanceof Error ? error.message : String(error)
  return localized(text, text)
}

const fixDatabase = localized(
  'see that the database runs and that DATABASE_URL, or the data folder, is the right one',
  'veja se o banco está no ar e se DATABASE_URL, ou a pasta de dados, é a certa',
)
const seeLog = localized(
  'it answers, but not this question: see what is said of schema and rights, and the log of the server',
  'ele responde, mas não a esta pergunta: veja o que se diz de schema e rights, e o log do servidor',
)
