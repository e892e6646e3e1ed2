/**
 * Who is in: everybody who uses a server shares one lock of it, for as long as his connection lives. Who leaves gives his
 * share back and then tries for the whole: granted, nobody else is in, and nobody gets in until the server is gone.
 * Entered in start.ts, left in leave.ts.
 *
 * Invariant: deciding to stop and letting somebody in exclude each other. Of two that leave at once the second to give
 * his share back finds nobody, or the first one already stopping the server. The share of a process that was killed
 * goes a moment later than the process; until then it counts as nobody's.
 */
import type pg from 'pg'
import { lockKeys } from '../lib/lock-keys.ts'
import { ask } from './connection.ts'
import { commandLine } from './processes.ts'

const { presence } = lockKeys

/** The connection of who is in says which process he is. */
export const nameOf = (pid: number) => `retoma keeper ${pid}`

/** False: the last one out is about to stop the server. */
export async function enter(client: pg.Client): Promise<boolean> {
  const { shared } = await ask(client, 'select pg_try_advisory_lock_shared($1) as shared', [presence])
  return shared === true
}

/** True: we were the last, and while this connection lives nobody comes in. */
export async function giveBack(client: pg.Client): Promise<boolean> {
  await ask(client, 'select pg_advisory_unlock_all()')
  const { alone } = await ask(client, 'select pg_try_advisory_lock($1) as alone', [presence])
  return alone === true
}

/** Whether any of those who have a share is a process that lives. A name that tells no process counts as one. */
export async function othersLive(client: pg.Client): Promise<boolean> {
  const { names } = await ask(
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
