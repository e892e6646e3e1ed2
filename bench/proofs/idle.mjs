/** Counts the statements of an idle `npm start` with pg_stat_statements. */
import { setTimeout as sleep } from 'node:timers/promises'
import { once } from '../lib/room.mjs'
import { startWhole } from '../lib/whole.mjs'

export const title = 'an idle `up` sends at most about one statement a second'

export async function prove({ room, scale, say, atMost }) {
  const server = await room.server({ shared_preload_libraries: `'pg_stat_statements'` })
  await once(server.url, 'create extension pg_stat_statements')
  // The statements of the proof use another database and are not counted.
  const own = await server.database()
  await own.sql('create extension pg_stat_statements')
  const whole = await startWhole(room, server.dataDir)
  await own.sql('select pg_stat_statements_reset()')
  const seconds = Math.max(15, Math.round(120 * scale))
  await sleep(seconds * 1000)
  const rows = await own.sql(
    `select sum(calls)::int as calls, regexp_replace(left(ltrim(query, E' \\n'), 70), '\\s+', ' ', 'g') as query
     from pg_stat_statements
     where dbid <> (select oid from pg_database where datname = current_database())
     group by 2 order by 1 desc`,
  )
  for (const { calls, query } of rows) say(`${String(calls).padStart(4)} × ${query}`)
  const calls = rows.reduce((sum, row) => sum + row.calls, 0)
  atMost(`statements a second over ${seconds} s`, calls / seconds, 1.2)
  await whole.end()
}
