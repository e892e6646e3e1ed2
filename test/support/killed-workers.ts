/**
 * Worker processes that a test holds at a write and kills there. A trigger of the test takes the lock before the write; the test has
 * the lock, so that the worker waits until the test kills the process.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import pg from 'pg'
import { onTestFinished } from 'vitest'
import { until } from './engine.ts'

const key = 4711

/** The statement of a trigger, in PL/pgSQL. */
export const takeLock = `perform pg_advisory_xact_lock(${key})`

const waiting = `
  select a.pid from pg_locks l join pg_stat_activity a on a.pid = l.pid
  where l.locktype = 'advisory' and not l.granted and l.objid = ${key} and a.datname = current_database()`

interface WriteLock {
  isAwaited(): Promise<boolean>
  /** Ends the sessions of killed workers: PostgreSQL does not see the end of a client while the session waits. */
  endWaiting(): Promise<void>
  release(): Promise<void>
}

/** `triggers`: the SQL that makes the triggers of the test. */
export async function writeLock(databaseUrl: string, triggers: string): Promise<WriteLock> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  onTestFinished(() => client.end())
  await client.query(triggers)
  await client.query(`select pg_advisory_lock(${key})`)
  const isAwaited = async () => (await client.query(waiting)).rows.length > 0
  return {
    isAwaited,
    async endWaiting() {
      await client.query(`select pg_terminate_backend(w.pid) from (${waiting}) w`)
      await until(async () => !(await isAwaited()))
    },
    release: async () => void (await client.query(`select pg_advisory_unlock(${key})`)),
  }
}

/** Starts the script of a worker; the worker ends with the test, or with this process, at the end of its stdin. */
export function hire(script: string, environment: Record<string, string>, ...args: string[]): ChildProcess {
  const env = { ...process.env, LOG_LEVEL: 'silent', ...environment }
  const child = spawn(process.execPath, [script, ...args], { stdio: ['pipe', 'ignore', 'inherit'], env })
  onTestFinished(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    await killed(child)
  })
  return child
}

/** Resolves at the end of the process. */
export async function killed(child: ChildProcess, signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
  const end = new Promise<void>(resolve => child.once('close', () => resolve()))
  child.kill(signal)
  await end
}
