/**
 * A deploy: each of four worker processes gets SIGTERM and replaced, again and again, under load. What chaos/
 * shows of killed, stopped and cut-off workers is not repeated here.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { createEngine, seconds } from '../../dist/index.js'
import { grouped, median, round } from '../lib/figures.mjs'
import { toEnqueue } from '../lib/jobs.mjs'
import { untilFinished } from '../lib/until.mjs'
import { startWorker } from '../lib/worker.mjs'

export const title =
  'a rolling deploy of 4 workers under load hands everything back at once, loses nothing, charges nobody'

const grace = seconds(1)

export async function prove({ room, scale, say, hold, atMost, atLeast }) {
  const server = await room.server()
  const database = await server.database()
  const slow = toEnqueue('slow')
  const engine = await createEngine({ databaseUrl: database.url, jobs: [slow] })
  room.atEnd(() => engine.close())
  // 1 job in 50 ignores the signal and takes longer than the grace.
  const inputs = Array.from({ length: Math.round(20_000 * scale) }, (_, i) =>
    i % 50 === 0 ? { ms: 2500, deaf: true } : { ms: (i * 13) % 60 },
  )
  const hire = () => startWorker(room, { url: database.url, jobs: [{ name: 'slow' }], queues: { bench: 25 }, grace })
  const workers = await Promise.all(Array.from({ length: 4 }, hire))
  await engine.enqueueMany(slow, inputs)
  const goodbyes = []
  let held = 0
  for (let replaced = 0; (await isLeft(database)) && replaced < 100; replaced++) {
    const place = replaced % workers.length
    const old = workers[place]
    workers[place] = await hire()
    const at = performance.now()
    old.signal('SIGTERM')
    const { code } = await old.ended
    goodbyes.push(performance.now() - at)
    if (code !== 0) hold(`a worker ended with ${code}`, false)
    const rows = await database.sql('select from retoma.job where worker_id = $1', [old.id])
    held += rows.length
    await sleep(200)
  }
  await untilFinished(database)
  const [row] = await database.sql(
    `select count(*)::int as jobs, count(*) filter (where state = 'succeeded')::int as succeeded,
       count(*) filter (where attempt > 1)::int as again, coalesce(sum(failures + crashes), 0)::int as charged,
       (select count(*)::int from retoma.failure) as noted,
       count(*) filter (where (result ->> 'attempt')::int <> attempt)::int as foreign
     from retoma.job`,
  )
  say(
    `${grouped(row.jobs)} jobs, ${goodbyes.length} workers replaced, ${row.again} jobs begun again; a goodbye took ` +
      `${round(median(goodbyes))} ms (median), ${round(Math.max(...goodbyes))} ms at most`,
  )
  atLeast('jobs begun again, so there was something to release', row.again, 1)
  hold(
    `every job succeeded: ${row.succeeded} of ${inputs.length}`,
    row.succeeded === inputs.length && row.jobs === inputs.length,
  )
  hold(`no result of an attempt that had been released: ${row.foreign}`, row.foreign === 0)
  atMost('failures and crashes charged, or noted', row.charged + row.noted, 0)
  atMost('jobs still held by a worker that had said goodbye', held, 0)
  atMost('the longest goodbye, with a grace of 1 s', Math.max(...goodbyes) / 1000, 2, ' s')
  await Promise.all(workers.map(worker => worker.kill()))
}

async function isLeft(database) {
  const [{ left }] = await database.sql(`select exists (select from retoma.job where state = 'waiting') as left`)
  return left
}
