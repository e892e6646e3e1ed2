/** A database with millions of finished jobs, including a batch, with an engine and the HTTP API on a real socket. */
import { createApp } from '../../dist/http/index.js'
import { listen } from '../../dist/http/server.js'
import { createEngine, defineBatch, defineJob } from '../../dist/index.js'
import { grouped, round } from './figures.mjs'

const items = 2000

export async function openFinished(room, { rows, waiting = 0, say }) {
  const server = await room.server()
  const database = await server.database()
  const job = defineJob({ kind: 'noop', queue: 'bench', maxAttempts: 1, run: (_, input) => failSome(input) })
  const batch = defineBatch({ name: 'many', job })
  const engine = await createEngine({ databaseUrl: database.url, jobs: [job], batches: [batch] })
  room.atEnd(() => engine.close())
  const at = performance.now()
  await database.sql(
    `insert into retoma.job (queue, kind, state, claim_rank, run_at, input, attempt, last_worker, result, started_at, created_at, finished_at)
     select 'bench', 'noop', 'succeeded', 9, t, '{}', 1, 'w-gone', 'null', t, t, t
     from (select now() - n * interval '1 second' as t from generate_series(1, $1::int) as n) s`,
    [rows],
  )
  if (waiting > 0)
    await database.sql(
      `insert into retoma.job (queue, kind, state, claim_rank, run_at, input, created_at)
       select 'later', 'noop', 'waiting', 9, now() + interval '1 day' + n * interval '1 millisecond', '{}', now()
       from generate_series(1, $1::int) as n`,
      [waiting],
    )
  await engine.work({ queues: { bench: 20 } })
  const { id } = await engine.submit(
    batch,
    Array.from({ length: items }, (_, n) => ({ n })),
    { ref: ({ n }) => `A-${n}` },
  )
  await engine.wait({ batch: id })
  await database.sql('vacuum analyze retoma.job')
  say(`${grouped(rows)} finished, ${grouped(waiting)} waiting: ${round((performance.now() - at) / 1000)} s`)
  const door = await listen(createApp(engine), '127.0.0.1', 0)
  room.atEnd(() => door.close())
  return { database, engine, batch: id, url: `http://127.0.0.1:${door.port}` }
}

function failSome({ n }) {
  if (n % 10 === 0) throw new Error(`the ${n}th is bad`)
}

/** Milliseconds until the last byte of the answer is there. */
export async function timed(url) {
  const at = performance.now()
  const response = await fetch(url)
  await response.arrayBuffer()
  return { ms: performance.now() - at, status: response.status }
}
