/**
 * Who is in: everybody who uses a server shares one lock of it, for as long as his connection lives. Who leaves gives his
 * share back and then tries for the whole: granted, nobody else is in, and nobody gets in until the server is gone.
 * Entered in start.ts, left in leave.ts.
 *
 * Invariant: deciding to stop and letting somebody in exclude each other. Of two that leave at once the second to give
 * his share back finds nobody, or the first one already stopping the server.
 */
import type pg from 'pg'
import { ask } from './connection.ts'

const presence = 7_236_842_003

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
