/**
 * Limits, checked by an auditor outside the engine: the handlers of eight worker processes report every start and end to
 * the auditor. Also measures the effect of a full key with 100,000 waiting jobs on the other keys.
 */
import { createEngine, seconds } from '../../dist/index.js'
import { startAuditor } from '../lib/auditor.mjs'
import { grouped, median, round } from '../lib/figures.mjs'
import { toEnqueue } from '../lib/jobs.mjs'
import { until, untilFinished } from '../lib/until.mjs'
import { mostInAnyWindow } from '../lib/window.mjs'
import { startWorker } from '../lib/worker.mjs'

export const title =
  'limits over 8 worker processes are never exceeded; a full key with 100,000 waiting slows the others by half at most'

/** `keys`: groups; `jobs`: in all; `ms`: how long each runs, at most; `slots` in each of the workers. */
const queues = {
  keys: { limits: { perGroup: { concurrency: 2 } }, keys: 50, jobs: 5000, ms: 20, slots: 10 },
  whole: { limits: { concurrency: 50 }, keys: 0, jobs: 5000, ms: 30, slots: 20 },
  both: { limits: { concurrency: 50, perGroup: { concurrency: 2 } }, keys: 40, jobs: 5000, ms: 20, slots: 20 },
  rate: { limits: { rate: { limit: 60, per: seconds(2) } }, keys: 0, jobs: 600, ms: 5, slots: 20 },
  'key-rate': { limits: { perGroup: { rate: { limit: 10, per: seconds(2) } } }, keys: 8, jobs: 800, ms: 5, slots: 20 },
  'high-rate': { limits: { rate: { limit: 600, per: seconds(2) } }, keys: 0, jobs: 6000, ms: 0, slots: 20 },
}

export async function prove(proof) {
  const server = await proof.room.server()
  for (const [name, queue] of Object.entries(queues)) await audit(proof, server, name, queue)
  await crowd(proof, server)
}

async function audit({ room, scale, say, hold, atMost, atLeast }, server, queue, { limits, keys, jobs, ms, slots }) {
  const database = await server.database()
  const auditor = await startAuditor(room)
  const job = toEnqueue('audited', { queue })
  const engine = await createEngine({ databaseUrl: database.url, jobs: [job], limits: { [queue]: limits } })
  const task = {
    url: database.url,
    jobs: [{ name: 'audited', queue }],
    queues: { [queue]: slots },
    audit: auditor.path,
  }
  const workers = await Promise.all(Array.from({ length: 8 }, () => startWorker(room, task)))
  const inputs = Array.from({ length: Math.round(jobs * scale) }, (_, i) => ({
    key: keys > 0 ? `k${(i * 31 + Math.floor(i / 7)) % keys}` : '',
    ms: (i * 7) % (ms + 1),
  }))
  const began = performance.now()
  await engine.enqueueMany(job, inputs, { each: ({ key }) => (key ? { groupKey: key } : {}) })
  await untilFinished(database)
  const took = (performance.now() - began) / 1000
  const { most, starts, running } = await auditor.report()
  say(`${queue}: ${grouped(starts.length)} starts in ${round(took, 1)} s`)
  hold(`${queue}: every job started and ended once`, starts.length === inputs.length && running === 0)

  const ofKeys = Math.max(0, ...Object.entries(most).flatMap(([name, n]) => (name.includes('/') ? [n] : [])))
  for (const [what, ran, limit] of [
    ['at once', most[queue], limits.concurrency],
    ['at once of one key', ofKeys, limits.perGroup?.concurrency],
  ]) {
    if (limit === undefined) continue
    atMost(`${queue}: ${what}`, ran, limit)
    // A load far below the limit proves nothing.
    if (scale === 1) atLeast(`${queue}: ${what}, so the limit was reached`, ran, Math.min(limit, 45))
  }
  const late = await longestWay(database, starts)
  for (const [what, rate, lists] of [
    ['starts', limits.rate, [starts]],
    ['starts of one key', limits.perGroup?.rate, Object.values(byKey(starts))],
  ]) {
    if (rate === undefined) continue
    // The auditor sees a start up to `late` ms after the claim, so two starts may look closer together by `late` ms.
    const window = rate.per - late
    hold(
      `${queue}: a start is seen within ${round(late)} ms, so windows of ${round(window)} ms can be judged`,
      window > rate.per / 2,
    )
    const seen = Math.max(
      ...lists.map(list =>
        mostInAnyWindow(
          list.map(each => each.at),
          window,
        ),
      ),
    )
    atMost(`${queue}: ${what} in any ${round(window)} ms`, seen, rate.limit)
  }
  await Promise.all(workers.map(worker => worker.kill()))
  await engine.close()
}

/** Returns the longest time from the claim of a job to the auditor's report. */
async function longestWay(database, starts) {
  const rows = await database.sql(
    `select id::text, extract(epoch from started_at)::float8 * 1000 as at from retoma.job`,
  )
  const letThrough = new Map(rows.map(row => [row.id, row.at]))
  return starts.reduce((most, { id, at }) => Math.max(most, at - letThrough.get(id)), 0)
}

function byKey(starts) {
  const groups = {}
  for (const each of starts) {
    groups[each.key] ??= []
    groups[each.key].push(each)
  }
  return groups
}

/** Two databases by turns, one of them with a full key; the rate of the others in each. */
async function crowd({ room, scale, say, atLeast }, server) {
  const stands = [await openCrowd(room, server, 0), await openCrowd(room, server, Math.round(100_000 * scale))]
  const jobs = Math.round(10_000 * scale)
  for (let turn = 0; turn < 5; turn++) for (const stand of stands) stand.rates.push(await burnOthers(stand, jobs))
  const [alone, beside] = stands.map(({ rates }) => median(rates.slice(1)))
  say(
    `100 keys: ${grouped(alone)} jobs/s alone, ${grouped(beside)} beside a full key with ${grouped(stands[1].waiting)} waiting`,
  )
  atLeast('the others beside a full key, over alone', beside / alone, 0.5)
}

async function openCrowd(room, server, waiting) {
  const database = await server.database()
  const queue = 'crowd'
  const [noop, slow] = [toEnqueue('noop', { queue }), toEnqueue('slow', { queue })]
  const limits = { [queue]: { perGroup: { concurrency: 2 } } }
  const engine = await createEngine({ databaseUrl: database.url, jobs: [noop, slow], limits })
  room.atEnd(() => engine.close())
  const names = ['noop', 'slow'].map(name => ({ name, queue }))
  for (let i = 0; i < 2; i++) await startWorker(room, { url: database.url, jobs: names, queues: { [queue]: 25 } })
  if (waiting > 0) {
    // The key `full` sorts before the other keys, so every walk over the keys meets the full key.
    const groupKey = 'full'
    await engine.enqueueMany(slow, [{ ms: 3_600_000 }, { ms: 3_600_000 }], { groupKey })
    await until(async () => (await database.sql(`select from retoma.job where state = 'running'`)).length === 2)
    const inputs = Array.from({ length: waiting }, () => ({}))
    await engine.enqueueMany(noop, inputs, { groupKey })
    await database.sql('analyze')
  }
  return { database, engine, noop, waiting, rates: [] }
}

async function burnOthers({ database, engine, noop }, jobs) {
  const inputs = Array.from({ length: jobs }, (_, i) => ({ key: `k${i % 100}` }))
  const began = performance.now()
  await engine.enqueueMany(noop, inputs, { each: ({ key }) => ({ groupKey: key }) })
  await until(async () => {
    const [{ left }] = await database.sql(
      `select exists (select from retoma.job where queue = 'crowd' and state = 'waiting' and limited and limit_key > 'full')
        or exists (select from retoma.job where state = 'running' and limit_key > 'full') as left`,
    )
    return !left
  })
  return (jobs / (performance.now() - began)) * 1000
}
