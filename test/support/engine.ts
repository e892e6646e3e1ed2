/** Engines on the run's shared server, closed when the test ends, and ways to wait for them without sleeping. */
import pg from 'pg'
import { afterAll } from 'vitest'
import { type AnyJob, createEngine, type Engine, type EngineOptions, seconds } from '../../src/index.ts'
import { silentLog } from '../../src/lib/logging/log.ts'
import { type TestEngine, type TestEngineOptions, testEngine, type VirtualClock } from '../../src/testing/index.ts'
import { isOfApplication, migratedDatabase } from './database.ts'
import { emptyTables } from './store.ts'
import { onTestFinished } from './together.ts'

/** On a virtual clock. */
export const engineWith = (...jobs: AnyJob[]): Promise<TestEngine> => engineOf({ jobs })

/** The same, with further options of the engine. */
export async function engineOf(options: Omit<TestEngineOptions, 'databaseUrl'>): Promise<TestEngine> {
  const database = await borrowDatabase()
  const made = await testEngine({ ...options, databaseUrl: database.url })
  onTestFinished(async () => {
    await made.close()
    await database.giveBack()
  })
  return made
}

/** On the system clock, and on a database of its own unless one that `shareDatabase` answered is given. */
export async function liveEngine(
  jobs: AnyJob[],
  options: Omit<EngineOptions, 'jobs' | 'databaseUrl'> = {},
  shared?: string,
): Promise<{ engine: Engine; url: string }> {
  const { url, giveBack } = shared === undefined ? await borrowDatabase() : { url: shared, giveBack: async () => {} }
  const engine = await createEngine({ log: silentLog, ...options, jobs, databaseUrl: url })
  onTestFinished(async () => {
    await engine.close()
    await giveBack()
  })
  return { engine, url }
}

/** For several engines of one test; given back when they are closed. */
export async function shareDatabase(): Promise<string> {
  const { url, giveBack } = await borrowDatabase()
  onTestFinished(giveBack)
  return url
}

/** For tests that count connections. */
export const cleanerName = 'cleaner'

interface Spare {
  readonly url: string
  /** Empties the tables. A new connection would first read the catalog, which takes ten times as long. */
  readonly cleaner: pg.Pool
}

/** Databases of earlier tests of this file; those of applications have further tables. Gone with the server. */
const spareDatabases = { engine: [] as Spare[], application: [] as Spare[] }
afterAll(async () => {
  for (const spares of Object.values(spareDatabases))
    await Promise.all(spares.splice(0).map(({ cleaner }) => cleaner.end()))
})

/** Making a database takes a thousand files; emptying one takes a millisecond. */
export async function borrowDatabase(): Promise<{ url: string; giveBack: () => Promise<void> }> {
  const spares = spareDatabases[isOfApplication() ? 'application' : 'engine']
  const spare = spares.pop() ?? (await newDatabase())
  const giveBack = async () => {
    await spare.cleaner.query(emptyTables)
    spares.push(spare)
  }
  return { url: spare.url, giveBack }
}

async function newDatabase(): Promise<Spare> {
  const { url } = await migratedDatabase()
  const few = { max: 1, idleTimeoutMillis: 5000, allowExitOnIdle: true }
  const cleaner = new pg.Pool({ connectionString: url, application_name: cleanerName, ...few })
  // A test may end every connection to its database.
  cleaner.on('error', () => {})
  return { url, cleaner }
}

/**
 * Resolves once the condition holds; it is asked again whenever the event loop has gone round, and what takes longer every few
 * milliseconds: whoever asks all the time takes a core from what it waits for. The test's timeout ends it.
 */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (let round = 0; !(await condition()); round++)
    await new Promise(resolve => (round < 50 ? setImmediate(resolve) : setTimeout(resolve, round < 200 ? 5 : 20)))
}

/** Lets virtual time pass until the condition holds, in steps, so that loops can beat and tick in between. */
export async function timePasses(clock: VirtualClock, condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await clock.advance(seconds(0.5))
}

/** A promise to be resolved by hand: what a handler waits for, or tells. */
export interface Gate<T = void> {
  readonly passed: Promise<T>
  open(value: T): void
}

export function gate<T = void>(): Gate<T> {
  let open: (value: T) => void = () => {}
  const passed = new Promise<T>(resolve => {
    open = resolve
  })
  return { passed, open }
}

/** Resolves with the reason once the signal aborts. */
export const aborted = (signal: AbortSignal): Promise<unknown> =>
  new Promise(resolve => {
    if (signal.aborted) resolve(signal.reason)
    signal.addEventListener('abort', () => resolve(signal.reason), { once: true })
  })
