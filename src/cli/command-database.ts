/**
 * Opens the database of a command: the database of DATABASE_URL, the `connection` of retoma.config, or the embedded PostgreSQL of this
 * folder. The command uses a running embedded server, or starts the server temporarily.
 *
 * Invariant: a read-only command never creates a data folder.
 *
 * The engine, the embedded PostgreSQL and maintenance are loaded on first use: they would take most of a command's start time, and a
 * command with wrong arguments or --help needs none of them.
 */
import { resolve } from 'node:path'
import type { EmbeddedPostgres } from '../embedded-postgres/index.ts'
import type { Engine, EngineOptions } from '../engine/create-engine.ts'
import type { ConnectionConfig } from '../engine/engine-options.ts'
import { RetomaError } from '../errors/errors.ts'
import { isEmbedded } from '../settings/index.ts'
import type { Context } from './command-context.ts'
import { listenForSignals, whenAborted } from './interrupt-signals.ts'

/** How to reach a database: one of the two is given. */
interface DatabasePlace {
  readonly databaseUrl?: string | undefined
  readonly connection?: ConnectionConfig | undefined
}

export interface Database {
  readonly place: DatabasePlace
  /** For a person: the folder, or the address without user and password. */
  readonly where: string
  readonly embedded: EmbeddedPostgres | undefined
  leave(): Promise<void>
}

export async function openDatabase(context: Context): Promise<Database> {
  const { settings, folder, log } = context
  const databaseUrl = settings.DATABASE_URL
  const connection = await context.connection()
  if (databaseUrl !== undefined || connection !== undefined) {
    const { targetOf } = await import('../maintenance/index.ts')
    const where = targetOf((connection ?? databaseUrl)!).address
    return { place: { databaseUrl, connection }, where, embedded: undefined, leave: async () => {} }
  }
  const { openEmbedded } = await import('../embedded-postgres/index.ts')
  const embedded = await openEmbedded({ dataDir: resolve(folder, settings.RETOMA_DATA_DIR), log })
  return { place: { databaseUrl: embedded.url }, where: embedded.folder, embedded, leave: () => embedded.leave() }
}

/** True if the database is the embedded PostgreSQL of this folder. */
export const isOwnDatabase = async ({ settings, connection }: Context): Promise<boolean> =>
  settings.DATABASE_URL === undefined && (await connection()) === undefined

/** Throws `no_database` in production if no database was chosen explicitly. */
export async function refuseInProduction(context: Context): Promise<void> {
  const isMeant = isEmbedded(process.env) || !(await isOwnDatabase(context))
  if (process.env.NODE_ENV === 'production' && !isMeant) throw new RetomaError('no_database', {})
}

/** The engine's database options. DATABASE_DIRECT_URL does not belong to the embedded database. */
export const databaseOf = ({ settings }: Context, { place, where, embedded }: Database) => ({
  ...place,
  databaseDirectUrl: embedded === undefined ? settings.DATABASE_DIRECT_URL : undefined,
  databaseName: where,
  schema: settings.RETOMA_SCHEMA,
})

export async function hasData(context: Context): Promise<boolean> {
  const { settings, folder } = context
  if (!(await isOwnDatabase(context))) return true
  const postgres = await import('../embedded-postgres/index.ts')
  return postgres.hasData(resolve(folder, settings.RETOMA_DATA_DIR))
}

export async function refuseWithoutData(context: Context): Promise<void> {
  if (await hasData(context)) return
  throw new RetomaError('no_data', { folder: resolve(context.folder, context.settings.RETOMA_DATA_DIR) })
}

/**
 * Runs `work` with the database and leaves the database as found. After a stop signal, cleans up and then ends by the same signal, so
 * that a loop of the shell ends too.
 */
export async function withDatabase<T>(
  context: Context,
  work: (database: Database, asked: AbortSignal) => Promise<T>,
): Promise<T> {
  const signals = listenForSignals()
  let database: Database | undefined
  try {
    database = await openDatabase(context)
    signals.asked.throwIfAborted()
    return await work(database, signals.asked)
  } finally {
    await database?.leave()
    signals.forget()
    if (signals.name !== undefined) await endBy(signals.name)
  }
}

/** The same with an engine. Does not migrate by default: a shared database is migrated only on request. */
export function withEngine<T>(
  context: Context,
  options: Pick<EngineOptions, 'jobs' | 'batches' | 'schedules' | 'guards' | 'migrate' | 'retention' | 'notify'>,
  work: (engine: Engine, asked: AbortSignal) => Promise<T>,
): Promise<T> {
  return withDatabase(context, async (database, asked) => {
    const { log } = context
    const { createEngineOn, openDb } = await import('../engine/create-engine.ts')
    const engine = await createEngineOn(openDb, {
      migrate: false,
      ...options,
      ...databaseOf(context, database),
      connections: 2,
      log,
    })
    try {
      return await Promise.race([work(engine, asked), refusalOnceAsked(asked)])
    } finally {
      await engine.close()
    }
  })
}

const refusalOnceAsked = (asked: AbortSignal): Promise<never> =>
  whenAborted(asked).then(() => {
    throw asked.reason
  })

async function endBy(name: NodeJS.Signals): Promise<never> {
  process.kill(process.pid, name)
  return new Promise(() => {})
}
