/**
 * Detects a pooler between the engine and PostgreSQL: either each connection has its own session, or a pooler gives every
 * transaction another session (such as PgBouncer in transaction mode). db.ts runs the detection once per pool.
 *
 * Invariant: the detection leaves nothing behind in any session and takes about 2 s at most. An unclear result counts as
 * a pooler, because the pooler's way works everywhere, only slower.
 */
import { withDeadline } from '../lib/with-deadline.ts'

export type PoolerMode = 'sessions' | 'transactions'

/** The parts of a connection that the detection needs: queries, and the process id that the server sent at connect. */
export interface Probed {
  readonly processID: number | null
  query(text: string): Promise<{ rows: unknown[] }>
}

const rounds = 5
const waitLimitMs = 2000

/**
 * Without a pooler, the process that sent its id at connect also answers queries. A pooler sends an id of its own; then
 * either a second connection in a transaction is served by the first connection's process, or the transaction moves the
 * first connection to another process. Neither happens if each connection has its own session. `another` opens the second
 * connection.
 */
export async function detectPooler(
  first: Probed,
  another: () => Promise<Probed & { end(): Promise<void> }>,
): Promise<PoolerMode> {
  if ((await processOf(first)) === first.processID) return 'sessions'
  const opened = another()
  const asking = opened.then(second => compare(first, second))
  const link = await withDeadline(asking, waitLimitMs, () => new Error('no answer')).catch(
    (): PoolerMode => 'transactions',
  )
  void opened.then(second => second.end()).catch(() => {})
  return link
}

/** Compares several times: on a busy pooler, chance may return the same session. */
async function compare(first: Probed, second: Probed): Promise<PoolerMode> {
  for (let round = 0; round < rounds; round++) if (await isShared(first, second)) return 'transactions'
  return 'sessions'
}

async function isShared(first: Probed, second: Probed): Promise<boolean> {
  const before = await processOf(first)
  // This comparison detects a busy or round-robin pooler; the comparison below detects a pooler that reuses the last
  // session.
  if ((await processOf(first)) !== before) return true
  await second.query('begin')
  try {
    return (await processOf(second)) === before || (await processOf(first)) !== before
  } finally {
    await second.query('rollback')
  }
}

async function processOf(client: Probed): Promise<number> {
  const { rows } = await client.query('select pg_backend_pid() as id')
  return (rows[0] as { id: number }).id
}
