/**
 * A thousand batches of two items each. Two worker processes hold an item of every pair and end both at the same instant:
 * pair by pair, by tens, and many at once. Two concurrent outcomes, each invisible to the other, must still end the batch
 * exactly once.
 */
import { createEngine, defineBatch } from '../../dist/index.js'
import { now } from '../lib/clock.mjs'
import { grouped, part, round } from '../lib/figures.mjs'
import { toEnqueue } from '../lib/jobs.mjs'
import { lockTrouble, logLocks } from '../lib/lock-trouble.mjs'
import { until } from '../lib/until.mjs'
import { startWorker } from '../lib/worker.mjs'

export const title =
  '1,000 batches of two items settled by two workers at the same instant: each ends once, with one onComplete'

export async function prove({ room, scale, say, hold, atMost, atLeast }) {
  // Commits of 2 ms, as on a cloud disk, so two commits overlap even if the processes do not run at exactly the same
  // time.
  const server = await room.server({
    track_commit_timestamp: 'on',
    commit_delay: 2000,
    commit_siblings: 0,
    ...logLocks,
  })
  const database = await server.database()
  const batch = defineBatch({ name: 'pair', job: toEnqueue('paired'), onComplete: toEnqueue('done') })
  const engine = await createEngine({ databaseUrl: database.url, batches: [batch] })
  room.atEnd(() => engine.close())
  const pairs = Array.from({ length: Math.round(1000 * scale) }, (_, pair) => pair)
  for (const some of slices(pairs, 50))
    await Promise.all(
      some.map(pair =>
        engine.submit(
          batch,
          [0, 1].map(side => ({ pair, side })),
        ),
      ),
    )

  const arrived = [new Set(), new Set()]
  const hire = side =>
    startWorker(room, {
      url: database.url,
      jobs: [{ name: 'paired', side }, { name: 'done' }],
      // Room for all items of a side, and for the items of the other side to pass through.
      queues: { pairs: pairs.length + 200, done: 10 },
      heard: message => arrived[side].add(message.arrived),
    })
  const workers = await Promise.all([hire(0), hire(1)])
  await until(() => arrived.every(side => side.size === pairs.length), { what: 'both of every pair' })

  const third = Math.ceil(pairs.length / 3)
  const letGo = some => Promise.all(workers.map(worker => worker.ask('letGo', { pairs: some, at: now() + 5 })))
  for (const pair of pairs.slice(0, third)) await letGo([pair])
  for (const some of slices(pairs.slice(third, 2 * third), 10)) await letGo(some)
  await letGo(pairs.slice(2 * third))
  const released = performance.now()
  const isOpen = async () =>
    (await database.sql(`select from retoma.batch where finished_at is null limit 1`)).length > 0
  await until(async () => !(await isOpen()), { everyMs: 2, seconds: 60, what: 'the end of every batch' })
  const seen = performance.now() - released
  await until(
    async () => (await database.sql(`select from retoma.job where finished_at is null limit 1`)).length === 0,
    { seconds: 60, what: 'the end of every onComplete job' },
  )

  const rows = await database.sql(check)
  const simultaneous = rows.filter(row => row.overlapped).length
  const lags = rows.map(row => row.lag)
  say(
    `${grouped(rows.length)} batches; ${grouped(simultaneous)} pairs neither of which could see the other; from the later commit to the ` +
      `end of the batch p50 ${round(part(lags, 0.5), 1)}, p99 ${round(part(lags, 0.99), 1)}, most ${round(Math.max(...lags), 1)} ms`,
  )
  const none = (what, wrong) =>
    hold(`${what}: ${wrong.length}${wrong[0] ? `, such as ${wrong[0].id}` : ''}`, wrong.length === 0)
  none(
    'pairs that were not settled by two workers in two transactions',
    rows.filter(row => !row.apart),
  )
  // Pairs without any overlap prove nothing.
  atLeast('pairs whose outcomes did not see each other, of a hundred', (simultaneous / rows.length) * 100, 10)
  none(
    'batches that did not succeed, or not once',
    rows.filter(row => row.state !== 'succeeded' || row.completions !== 1 || row.items !== 2),
  )
  none(
    'batches without one onComplete job that ran once',
    rows.filter(row => row.completes !== 1 || row.ran !== 1),
  )
  // A tick would mend the batch after five seconds; a settle must not need the tick.
  atMost('the longest from the later commit to the end of its batch', Math.max(...lags), 1000, ' ms')
  atMost('the last batch seen as ended, after the last pair was let go', seen, 2000, ' ms')
  const { deadlocks, waits, examples } = await lockTrouble(server)
  say(`${waits} waits for a lock of a second or more`)
  hold(`deadlocks: ${deadlocks}${deadlocks > 0 ? `\n${examples.join('\n')}` : ''}`, deadlocks === 0)
  await Promise.all(workers.map(worker => worker.kill()))
}

// The finished_at of an outcome is the begin of the transaction. The outcome is invisible until the 2 ms of the commit
// are over, counted from the server's commit timestamp.
const check = `
  select b.id::text as id, b.state, b.completions, p.*, c.completes, c.ran,
    extract(epoch from pg_xact_commit_timestamp(b.xmin) - p.last)::float8 * 1000 as lag
  from retoma.batch b
    cross join lateral (
      select count(*)::int as items, count(distinct last_worker) = 2 and count(distinct xmin::text) = 2 as apart,
        max(pg_xact_commit_timestamp(xmin)) as last,
        max(finished_at) < min(pg_xact_commit_timestamp(xmin)) + interval '2 milliseconds' as overlapped
      from retoma.job j where j.batch_id = b.id
    ) p
    cross join lateral (
      select count(*)::int as completes, count(*) filter (where state = 'succeeded' and attempt = 1)::int as ran
      from retoma.job j where j.kind = 'done' and j.input ->> 'batch' = b.id::text
    ) c`

function* slices(list, size) {
  for (let from = 0; from < list.length; from += size) yield list.slice(from, from + size)
}
