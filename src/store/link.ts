/**
 * What lies between us and PostgreSQL: nothing, something that keeps a session for each connection, or a pooler that gives
 * every transaction another session (PgBouncer in transaction mode and its like). Asked by db.ts, once per pool.
 *
 * Invariant: asking leaves nothing behind in any session and takes some two seconds at most. What cannot be found out is
 * taken for a pooler: what works through one works everywhere, only slower.
 */
import { withDeadline } from '../lib/deadline.ts'

export type Link = 'sessions' | 'transactions'

/** What is asked of a connection: its queries, and the process that the server named when it was opened. */
export interface Probed {
  readonly processID: number | null
  query(text: string): Promise<{ rows: unknown[] }>
}

const rounds = 5
const patienceMs = 2000

/**
 * Without anything in between, the process that greeted us is the one that answers. A pooler greets in its own name; then
 * a second connection, while it is in a transaction, is served by the first one's process, or drives the first one to
 * another. Neither can happen where each connection has a session of its own. `another` opens that second connection.
 */
export async function probeLink(
  first: Probed,
  another: () => Promise<Probed & { end(): Promise<void> }>,
): Promise<Link> {
  if ((await processOf(first)) === first.processID) return 'sessions'
  const opened = another()
  const asking = opened.then(second => compare(first, second))
  const link = await withDeadline(asking, patienceMs, () => new Error('no answer')).catch((): Link => 'transactions')
  void opened.then(second => second.end()).catch(() => {})
  return link
}

/** More than once: on a busy pooler chance may give the same session back. */
async function compare(first: Probed, second: Probed): Promise<Link> {
  for (let round = 0; round < rounds; round++) if (await isShared(first, second)) return 'transactions'
  return 'sessions'
}

async function isShared(first: Probed, second: Probed): Promise<boolean> {
  const before = await processOf(first)
  // A pooler that goes round its sessions, or a busy one, shows itself here; one that gives out the last used, below.
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
