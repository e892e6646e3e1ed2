/** Reads deadlocks and lock waits of a second or more from the server. For servers with `logLocks`. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { once } from './room.mjs'

/** The default settings of the embedded server log neither. */
export const logLocks = { log_lock_waits: 'on', log_min_messages: 'warning' }

/** Both from the log and, for deadlocks, from the server's own count. */
export async function lockTrouble({ url, dataDir }) {
  const log = readFileSync(join(dataDir, 'postgres.log'), 'utf8')
  const [{ deadlocks }] = await once(url, 'select sum(deadlocks)::int as deadlocks from pg_stat_database')
  return {
    deadlocks: Math.max(deadlocks, [...log.matchAll(/deadlock detected/g)].length),
    waits: [...log.matchAll(/still waiting for \w+ on (?:relation|tuple|transaction)/g)].length,
    /** Log lines, with the statements of the deadlock or the wait. */
    examples: [...log.matchAll(/^.*(?:deadlock detected|still waiting for).*\n(?:.*\n){0,12}/gm)]
      .map(([text]) => text)
      .slice(0, 2),
  }
}
