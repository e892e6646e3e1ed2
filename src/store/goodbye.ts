/**
 * Ends a pool. The driver says that it has ended once it has begun to say goodbye to its idle connections; a server that is
 * stopped in that moment tells each of them so, and it would read like a fault.
 *
 * Invariant: when it has resolved, no connection of the pool is left on the server.
 */
import type pg from 'pg'

/** `alive`: the connections it has made and not yet seen the end of. */
export async function endPool(pool: pg.Pool, alive: ReadonlySet<unknown>): Promise<void> {
  const gone = new Promise<void>(resolve => {
    pool.on('remove', () => {
      if (alive.size === 0) resolve()
    })
  })
  await pool.end()
  if (alive.size > 0) await gone
}
