/**
 * Tracks the processes that use a server: each process has a shared advisory lock for as long as its connection lives. A leaving process
 * releases the shared lock and then tries for the exclusive lock. If granted, no other process uses the server, and no process can enter
 * until the server has stopped. start-server.ts enters, leave-server.ts leaves.
 *
 * Invariant: the decision to stop and the entry of a process exclude each other. If two processes leave at once, the second to release
 * the shared lock finds no other process, or finds the first already stopping the server. The lock of a killed process is released a
 * moment after the process ends; until then the lock counts for nothing.
 */
import type pg from 'pg'
import { lockKeys } from '../lib/lock-keys.ts'
import { commandLine } from './platform/os-processes.ts'
import { queryWithDeadline } from './server-connection.ts'

const { presence } = lockKeys

/** The application name of a connection holds the pid of the process. */
export const nameOf = (pid: number) => `retoma keeper ${pid}`

/** False: the last process to leave is about to stop the server. */
export async function enterSharedUse(client: pg.Client): Promise<boolean> {
  const { shared } = await queryWithDeadline(client, 'select pg_try_advisory_lock_shared($1) as shared', [presence])
  return shared === true
}

/** True: this process was the last, and no process enters while this connection lives. */
export async function leaveSharedUse(client: pg.Client): Promise<boolean> {
  await queryWithDeadline(client, 'select pg_advisory_unlock_all()')
  const { alone } = await queryWithDeadline(client, 'select pg_try_advisory_lock($1) as alone', [presence])
  return alone === true
}

/** True if any lock belongs to a live process. A lock under a name without a pid counts as a live process. */
export async function othersLive(client: pg.Client): Promise<boolean> {
  const { names } = await queryWithDeadline(
    client,
    `select coalesce(array_agg(application_name), '{}') as names
     from pg_locks join pg_stat_activity using (pid)
     where locktype = 'advisory' and objsubid = 1 and granted
       and (classid::bigint << 32 | objid::bigint) = $1
       and pid <> pg_backend_pid()`,
    [presence],
  )
  for (const name of names as string[]) {
    const pid = Number(/^retoma keeper (\d+)$/.exec(name)?.[1])
    if (Number.isNaN(pid) || (await commandLine(pid)).join('') !== '') return true
  }
  return false
}
