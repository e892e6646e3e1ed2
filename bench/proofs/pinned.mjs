/**
 * xmin pinned: an open transaction keeps every dead row and index entry, so claims walk among dead entries. Three
 * databases side by side: not pinned, pinned by a reader, pinned by an idle writer. In each database, a worker process
 * burns down a backlog in chunks, with vacuum analyze while the queue is paused between chunks; then, by turns, a paced
 * load.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { openDb } from '../../dist/database/db.js'
import { createEngine } from '../../dist/index.js'
import { silentLog } from '../../dist/lib/logging/log.js'
import { recoverOrphans } from '../../dist/recovery/sql/recover-jobs-of-dead-worker.js'
import { writeHeartbeat } from '../../dist/worker/sql/lease-heartbeat.js'
import { now } from '../lib/clock.mjs'
import { grouped, median, part, round } from '../lib/figures.mjs'
import { toEnqueue } from '../lib/jobs.mjs'
import { until, untilFinished } from '../lib/until.mjs'
import { startWorker } from '../lib/worker.mjs'

export const title =
  'xmin pinned: 500,000 jobs at 90 % of the first 50,000’s rate or more; at a paced load pickup p50 at most twice the unpinned one; counts and explanations within 50 ms'

const pins = {
  'not pinned': [],
  'pinned by a reader': ['begin isolation level repeatable read', 'select count(*) from retoma.kind'],
  'pinned by an idle writer': ['begin', 'select pg_current_xact_id()', 'create table mine (id int)'],
}
const chunks = 10
const warmUp = 20_000
/** Extra jobs for the time until the worker notices the pause of the queue. */
const surplus = 5000

export async function prove({ room, scale, say, atLeast, atMost }) {
  const server = await room.server()
  const stands = []
  for (const name of Object.keys(pins)) stands.push(await open(room, server, name))
  const chunk = Math.round(50_000 * scale)
  say(`jobs/s in each chunk of ${grouped(chunk)}: ${stands.map(stand => stand.name).join(', ')}`)
  await burnDown(stands, chunk, say)
  for (const { name, rates } of stands.slice(1)) {
    const all = chunks / rates.reduce((sum, rate) => sum + 1 / rate, 0)
    atLeast(`${name}: all ${chunks} chunks over the first`, all / rates[0], 0.9)
    atLeast(`${name}: the last three over the first`, median(rates.slice(-3)) / rates[0], 0.9)
  }
  for (const stand of stands) say(await upkeep(stand))
  await reads(stands, say, atMost, 'no limit')
  // The same counts for limited jobs, which use another index, whose entries are not in the order of time.
  for (const stand of stands) {
    await stand.engine.queues.setLimits('bench', { concurrency: 1000 })
    await enqueue(stand, chunk)
    await untilFinished(stand.database)
  }
  await reads(stands, say, atMost, 'a limit')
  for (const { engine } of stands) await engine.queues.setLimits('bench', {})
  const rate = await pace(stands, scale)
  for (const { name, waits } of stands)
    say(
      `${name}: at ${rate} jobs/s, pickup p50 ${round(part(waits, 0.5), 2)} ms, p99 ${round(part(waits, 0.99), 1)} ms`,
    )
  const [free, ...pinned] = stands
  for (const { name, waits } of pinned) atMost(`${name}: pickup p50`, median(waits) / median(free.waits), 2, ' ×')
}

async function open(room, server, name) {
  const database = await server.database()
  const noop = toEnqueue('noop')
  const engine = await createEngine({ databaseUrl: database.url, jobs: [noop] })
  room.atEnd(() => engine.close())
  const stand = { name, database, engine, noop, rates: [], waits: [], reports: [] }
  const heard = report => stand.reports.push(report)
  stand.worker = await startWorker(room, { url: database.url, jobs: [{ name: 'noop' }], queues: { bench: 50 }, heard })
  await enqueue(stand, warmUp)
  await untilFinished(database)
  const pin = await database.session()
  for (const text of pins[name]) await pin.query(text)
  return stand
}

/** Chunk by chunk in all databases, so a noisy minute affects each database alike. */
async function burnDown(stands, chunk, say) {
  for (const stand of stands) {
    await stand.engine.queues.pause('bench')
    await enqueue(stand, chunks * (chunk + surplus))
  }
  for (let i = 0; i < chunks; i++) {
    for (const stand of stands) stand.rates.push(await burnChunk(stand, chunk))
    say(stands.map(({ rates }) => grouped(rates[i]).padStart(8)).join(''))
  }
  for (const { database, engine } of stands) {
    await engine.queues.resume('bench')
    await untilFinished(database)
    await database.sql('vacuum analyze')
  }
}

async function burnChunk({ database, engine, reports }, chunk) {
  await database.sql('vacuum analyze')
  const from = reports.length
  const begun = reports.at(-1).ran
  await engine.queues.resume('bench')
  await until(() => reports.at(-1).ran >= begun + chunk, { everyMs: 5 })
  await engine.queues.pause('bench')
  const [first, last] = [reports[from], reports.find(each => each.ran >= begun + chunk)]
  await until(() => isIdle(database), { what: 'a paused worker at rest' })
  return ((last.ran - first.ran) / (last.at - first.at)) * 1000
}

/** Measures the reads of people and metrics on an idle queue, among all dead entries of the burn-down. */
async function reads(stands, say, atMost, limits) {
  const costs = new Map()
  for (const stand of stands) {
    await stand.engine.queues.pause('bench')
    await enqueue(stand, 100)
    const [{ id }] = await stand.database.sql(
      `select id::text as id from retoma.job where state = 'waiting' order by id desc limit 1`,
    )
    const asked = {
      queues: () => stand.engine.queues.list(),
      stats: () => stand.engine.metrics.stats(),
      'explain a queue': () => stand.engine.explain({ queue: 'bench' }),
      'explain a job': () => stand.engine.explain({ job: id }),
      workers: () => stand.engine.workers.list(),
    }
    for (const [name, ask] of Object.entries(asked)) {
      const times = []
      for (let i = 0; i < 11; i++) {
        const at = now()
        await ask()
        times.push(now() - at)
      }
      costs.set(`${name} ${stand.name}`, median(times))
    }
    say(
      `${stand.name}, ${limits}: ${Object.keys(asked)
        .map(name => `${name} ${round(costs.get(`${name} ${stand.name}`), 1)} ms`)
        .join(', ')}`,
    )
    await stand.engine.queues.resume('bench')
    await untilFinished(stand.database)
  }
  const [free, ...pinned] = stands
  for (const { name: stand } of pinned)
    for (const name of ['queues', 'stats', 'explain a queue', 'explain a job', 'workers']) {
      const [theirs, mine] = [costs.get(`${name} ${free.name}`), costs.get(`${name} ${stand}`)]
      atMost(`${stand}, ${limits}: ${name}, in ms (unpinned ${round(theirs, 1)})`, mine, Math.max(50, theirs * 5))
    }
}

/** Measures a heartbeat and a check of the watchdog. No bound, but a heartbeat has 4.5 s and a check 8 s. */
async function upkeep({ name, database, worker }) {
  const db = openDb({ url: database.url, log: silentLog })
  const cost = async work => {
    const times = []
    for (let i = 0; i < 5; i++) {
      const at = now()
      await work()
      times.push(now() - at)
    }
    return round(median(times), 1)
  }
  const beat = await cost(() => writeHeartbeat(db, { id: worker.id, memoryBytes: 0, inFlight: [] }, 30_000, null))
  const pass = await cost(() => recoverOrphans(db, 100, null))
  await db.close()
  return `${name}: a heartbeat takes ${beat} ms, the watchdog's check for orphans ${pass} ms`
}

/**
 * Measures the waits in each database, by turns of some seconds. Returns the rate: 800 jobs/s, or less on a slow
 * machine.
 */
async function pace(stands, scale) {
  const seconds = Math.max(2, Math.round(5 * scale))
  let rate = 800
  for (; rate > 50; rate /= 2) {
    const waits = await load(stands[0], rate, seconds)
    if (median(waits) < 50) break
  }
  for (let turn = 0; turn < 4; turn++) {
    for (const stand of stands) stand.waits.push(...(await load(stand, rate, seconds)))
  }
  return rate
}

/** How long each job waited from the call to enqueue until its handler began. */
async function load({ engine, noop, worker, database }, rate, seconds) {
  const sent = []
  const began = now()
  while (now() - began < seconds * 1000) {
    while (sent.length < ((now() - began) / 1000) * rate) sent.push(engine.enqueue(noop, { at: now() }))
    await sleep(1)
  }
  await Promise.all(sent)
  await untilFinished(database)
  return worker.ask('waits')
}

async function enqueue({ engine, noop }, jobs) {
  for (let left = jobs; left > 0; left -= 10_000)
    await engine.enqueueMany(
      noop,
      Array.from({ length: Math.min(left, 10_000) }, () => ({})),
    )
}

async function isIdle(database) {
  const [{ idle }] = await database.sql(`select not exists (select from retoma.job where state = 'running') as idle`)
  return idle
}
