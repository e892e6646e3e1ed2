/**
 * A batch whose workers are all killed in the middle, and which continues. The handlers keep a ledger outside the
 * database: a finished item must not run again, and only items in flight may start twice.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createEngine, defineBatch } from '../../dist/index.js'
import { grouped, round } from '../lib/figures.mjs'
import { toEnqueue } from '../lib/jobs.mjs'
import { recount } from '../lib/recount.mjs'
import { comesAbout, until, untilFinished } from '../lib/until.mjs'
import { startWorker } from '../lib/worker.mjs'

export const title =
  '2,000 items, all 4 workers SIGKILLed at 80 done: nothing that had finished runs again, in-flight ones at most twice'

const slots = 5

export async function prove({ room, scale, say, hold, atMost, atLeast }) {
  const server = await room.server()
  const database = await server.database()
  const ledger = join(room.folder, 'ledger')
  writeFileSync(ledger, '')
  const batch = defineBatch({ name: 'resumed', job: toEnqueue('noted'), onComplete: toEnqueue('done') })
  const engine = await createEngine({ databaseUrl: database.url, batches: [batch] })
  room.atEnd(() => engine.close())
  const task = {
    url: database.url,
    jobs: [{ name: 'noted', ledger }, { name: 'done' }],
    queues: { noted: slots, done: 1 },
  }
  const hire = () => Promise.all(Array.from({ length: 4 }, () => startWorker(room, task)))
  const total = Math.round(2000 * scale)
  const { id } = await engine.submit(
    batch,
    Array.from({ length: total }, (_, n) => ({ ms: 20 + ((n * 7) % 40) })),
  )

  // Kills at 80 of 2,000, and twice more later. All four workers begin together, so the first kill comes close to 80.
  const deaths = []
  for (const share of [0.04, 0.4, 0.8]) {
    await engine.batches.pause(id)
    const workers = await hire()
    await engine.batches.resume(id)
    await until(() => read(ledger).end.length >= total * share, { everyMs: 1, what: `${share} of all` })
    await Promise.all(workers.map(worker => worker.kill()))
    deaths.push(await remains(database, ledger, workers))
  }
  const [first] = deaths
  say(
    `killed at ${grouped(first.ended)} done, ${deaths
      .slice(1)
      .map(death => grouped(death.ended))
      .join(' and ')}; in flight then: ` + deaths.map(death => death.begun.size).join(', '),
  )
  const began = performance.now()
  const last = await hire()
  const done = await comesAbout(async () => (await engine.batch(id)).state === 'succeeded', {
    everyMs: 50,
    seconds: 60,
  })
  hold(`it succeeded, ${round((performance.now() - began) / 1000, 1)} s after the last start`, done)
  // Any other unfinished job runs now.
  await untilFinished(database, { seconds: 60 })
  await Promise.all(last.map(worker => worker.kill()))

  const { start } = read(ledger)
  const starts = new Map()
  for (const each of start) starts.set(each.id, (starts.get(each.id) ?? 0) + 1)
  const anew = deaths.flatMap(death => start.slice(death.starts).filter(each => death.finished.has(each.id)))
  hold(`items that ran again after they had finished: ${anew.length}`, anew.length === 0)
  const inFlight = item => deaths.filter(death => death.begun.has(item)).length
  const tooOften = [...starts].filter(([item, times]) => times > 1 + inFlight(item))
  hold(
    `items that started more often than they were in flight at a kill, and once: ${tooOften.length}`,
    tooOften.length === 0,
  )
  const most = Math.max(...deaths.map(death => death.begun.size))
  atMost(`items in flight at a kill, with 4 workers of ${slots}`, most, 4 * slots)
  atLeast('items that started again, so there was something to take up', start.length - starts.size, 1)
  const { succeeded, failed } = await engine.batch(id)
  hold(
    `every item started and succeeded: ${grouped(succeeded)} of ${grouped(total)}`,
    succeeded === total && failed === 0 && starts.size === total,
  )
  const { wrong } = await recount(database.sql)
  hold(`its counters equal a recount${wrong.length > 0 ? `: ${wrong}` : ''}`, wrong.length === 0)
  const [row] = await database.sql(
    `select count(*)::int as n, (select completions from retoma.batch) as completions from retoma.job where kind = 'done'`,
  )
  hold(`it ended once, with one onComplete: ${row.completions}, ${row.n}`, row.completions === 1 && row.n === 1)
  const [{ charged }] = await database.sql(`select sum(failures + crashes)::int as charged from retoma.job`)
  atMost('failures or crashes charged', charged, 0)
}

/** Returns the state after the death of the workers: the finished items, and the items in flight. */
async function remains(database, ledger, workers) {
  // A commit under way at the death of the client may still land.
  await until(
    async () =>
      (
        await database.sql(
          `select from pg_stat_activity where application_name = 'retoma' and state = 'active' and datname = current_database()`,
        )
      ).length === 0,
  )
  const rows = await database.sql(
    `select id::text as id, state, attempt, worker_id from retoma.job where batch_id is not null`,
  )
  const finished = new Set(rows.filter(row => row.state === 'succeeded').map(row => row.id))
  const gone = workers.map(worker => worker.id)
  const held = new Map(rows.filter(row => gone.includes(row.worker_id)).map(row => [row.id, row.attempt]))
  const { start, end } = read(ledger)
  const begun = start.filter(each => held.get(each.id) === each.attempt)
  return { finished, starts: start.length, ended: end.length, begun: new Set(begun.map(each => each.id)) }
}

/** The ledger's lines by what happened. */
function read(path) {
  const lines = { start: [], end: [] }
  for (const line of readFileSync(path, 'utf8').split('\n')) {
    const [what, id, attempt] = line.split(' ')
    lines[what]?.push({ id, attempt: Number(attempt) })
  }
  return lines
}
