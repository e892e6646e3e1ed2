/**
 * Ends a pool and waits until the server has closed the connections. The driver's `end` resolves as soon as it has begun
 * to close its idle connections. A server stopped in this moment sends an error to each connection, and the error would
 * look like a fault.
 *
 * Invariant: after the promise resolves, the server has no connection of the pool.
 */
import type pg from 'pg'

/** `alive`: the open connections of the pool. */
export async function endPool(pool: pg.Pool, alive: ReadonlySet<unknown>): Promise<void> {
  const gone = new Promise<void>(resolve => {
    pool.on('remove', () => {
      if (alive.size === 0) resolve()
    })
  })
  await pool.end()
  if (alive.size > 0) await gone
}
