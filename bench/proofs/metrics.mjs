/** A scrape beside millions of finished jobs, and what it takes to count a million that wait. */
import { internalsOf } from '../../dist/engine/internals.js'
import { grouped, median } from '../lib/figures.mjs'
import { openFinished, timed } from '../lib/finished.mjs'

export const title =
  'with 5,000,000 finished and 1,000,000 waiting jobs a scrape of /metrics takes under 100 ms, and counting at most a twentieth of the time'

const rounds = 50

export async function prove({ room, scale, say, hold, atMost }) {
  const waiting = Math.round(1_000_000 * scale)
  const { database, engine, url } = await openFinished(room, { rows: Math.round(5_000_000 * scale), waiting, say })
  const times = []
  for (let i = 0; i < rounds; i++) {
    const { ms, status } = await timed(`${url}/metrics`)
    if (status !== 200) throw new Error(`/metrics answers ${status}`)
    times.push(ms)
  }
  times.sort((a, b) => a - b)
  say(`a scrape: median ${median(times).toFixed(1)} ms, slowest of ${rounds} ${times.at(-1).toFixed(1)} ms`)
  atMost('a scrape at the median', median(times), 100, ' ms')

  await database.sql(`update retoma.periodic_lease set since = '-infinity' where name = 'job_count_sample'`)
  const at = performance.now()
  await internalsOf(engine).sample()
  const took = performance.now() - at
  const [{ pause }] = await database.sql(
    `select extract(epoch from since - at)::float8 as pause from retoma.periodic_lease where name = 'job_count_sample'`,
  )
  say(`counting ${grouped(waiting)} that wait: ${took.toFixed(0)} ms; again after ${pause.toFixed(1)} s`)
  atMost('of the time', took / 1000 / pause, 0.06)
  const counted = (await engine.metrics.stats()).queues.find(each => each.queue === 'later')?.scheduled
  hold(`${grouped(counted ?? 0)} counted`, counted === waiting)
}
