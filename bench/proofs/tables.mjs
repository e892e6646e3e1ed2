/**
 * Full tables: the cost of claim, settle and idle poll beside millions of unrelated rows, over the cost on an empty
 * table. By turns on all tables, so noise affects each table alike; medians.
 */
import { createEngine, defineJob } from '../../dist/index.js'
import { grouped, median, round } from '../lib/figures.mjs'
import { openStatements } from '../lib/statements.mjs'

export const title =
  'with 5,000,000 finished rows, 1,000,000 jobs for tomorrow, or a paused queue of 1,000,000, statements cost at most 1.5 times those on an empty table'

const chunk = 50
const queues = ['bench', 'held']

/** All of them filled by one insert; `priority` of the ready jobs: behind those for tomorrow. */
const tables = {
  empty: { rows: 0 },
  finished: {
    rows: 5_000_000,
    fill: `insert into retoma.job (queue, kind, state, claim_rank, run_at, input, attempt, last_worker, result, started_at, created_at, finished_at)
      select 'bench', 'noop', 'succeeded', 9, now() - n * interval '1 second', '{}', 1, 'w-gone', 'null',
        now() - n * interval '1 second', now() - n * interval '1 second', now() - n * interval '1 second'
      from generate_series(1, $1::int) as n`,
  },
  tomorrow: {
    rows: 1_000_000,
    priority: 9,
    fill: `insert into retoma.job (queue, kind, state, claim_rank, run_at, input, created_at)
      select 'bench', 'noop', 'waiting', (array[1, 9, 19])[n % 3 + 1], now() + interval '1 day' + n * interval '1 millisecond', '{}', now()
      from generate_series(1, $1::int) as n`,
  },
  paused: {
    rows: 1_000_000,
    fill: `with held as (insert into retoma.queue (name, paused) values ('held', true)
        on conflict (name) do update set paused = true)
      insert into retoma.job (queue, kind, state, claim_rank, run_at, input, created_at)
      select 'held', 'noop', 'waiting', 9, now() - n * interval '1 millisecond', '{}', now()
      from generate_series(1, $1::int) as n`,
  },
}

export async function prove({ room, scale, say, atMost }) {
  const server = await room.server()
  const stands = []
  for (const [name, table] of Object.entries(tables)) stands.push(await open(room, server, name, table, scale))
  for (const { name, rows, seconds } of stands)
    if (rows > 0) say(`${name}: ${grouped(rows)} rows in ${round(seconds)} s`)

  const rounds = Math.max(60, Math.round(400 * scale))
  for (let turn = 0; turn < rounds + warmUp; turn++) {
    if (turn === rounds / 2) for (const stand of stands) await stand.database.sql('analyze')
    // Each turn starts with another table, because the order must not matter.
    for (let i = 0; i < stands.length; i++) await measure(stands[(turn + i) % stands.length], turn >= warmUp)
  }
  const [empty, ...full] = stands
  for (const { name, times } of stands)
    say(
      `${name.padEnd(8)} ${operations.map(operation => `${operation} ${median(times[operation]).toFixed(2)} ms`).join(', ')}`,
    )
  for (const { name, times } of full)
    for (const operation of operations)
      atMost(`${name}: ${operation}`, median(times[operation]) / median(empty.times[operation]), 1.5, ' ×')
}

const operations = ['claim', 'settle', 'poll']
/** Turns that are not counted: connections, plans and caches are made in them. */
const warmUp = 20

async function open(room, server, name, { rows: all, fill, priority = 4 }, scale) {
  const database = await server.database()
  const job = defineJob({ kind: 'noop', queue: 'bench', maxAttempts: 1, run: async () => {} })
  const engine = await createEngine({ databaseUrl: database.url, jobs: [job] })
  room.atEnd(() => engine.close())
  const rows = Math.round(all * scale)
  const at = performance.now()
  if (fill) await database.sql(fill, [rows])
  await database.sql('analyze')
  const seconds = (performance.now() - at) / 1000
  const statements = await openStatements(database.url, { queues, kinds: ['noop'] })
  room.atEnd(() => statements.close())
  const enqueue = () =>
    engine.enqueueMany(
      job,
      Array.from({ length: chunk }, () => ({})),
      { priority },
    )
  return { name, database, rows, seconds, statements, enqueue, times: { claim: [], settle: [], poll: [] } }
}

async function measure({ statements, enqueue, times }, counts) {
  const timed = async (operation, work) => {
    const at = performance.now()
    const value = await work()
    if (counts) times[operation].push(performance.now() - at)
    return value
  }
  await enqueue()
  const claimed = await timed('claim', () => statements.claim(chunk))
  if (claimed.length !== chunk) throw new Error(`${claimed.length} of ${chunk} ready jobs were claimed`)
  await timed('settle', () => statements.settle(claimed))
  await timed('poll', () => statements.poll())
}
