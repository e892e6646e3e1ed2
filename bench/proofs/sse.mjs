/**
 * A thousand open streams of events: while a batch runs at a given pace, a thousand clients in a separate process follow the
 * batch over real sockets, on a server in another process. The pickup times are compared with a run without clients, by
 * turns.
 */
import { createEngine, defineBatch } from '../../dist/index.js'
import { now } from '../lib/clock.mjs'
import { grouped, part, round } from '../lib/figures.mjs'
import { startHelper } from '../lib/helper.mjs'
import { toEnqueue } from '../lib/jobs.mjs'
import { until, untilFinished } from '../lib/until.mjs'
import { startWorker } from '../lib/worker.mjs'

export const title =
  'with 1,000 clients on one batch paced at 2,000 jobs/s, pickup p95 is at most 1.5 times that without them'

const rate = 2000
const rounds = 3
/** The time to submit all items before the first item is due. */
const aheadMs = 4000

export async function prove({ room, scale, say, hold, atMost }) {
  const clients = Math.round(1000 * scale)
  const seconds = Math.max(4, Math.round(20 * scale))
  const server = await room.server()
  const database = await server.database()
  const noop = toEnqueue('noop')
  const batch = defineBatch({ name: 'paced', job: noop })
  const engine = await createEngine({ databaseUrl: database.url, batches: [batch] })
  room.atEnd(() => engine.close())
  const worker = await startWorker(room, { url: database.url, jobs: [{ name: 'noop' }], queues: { bench: 50 } })
  const used = []
  let port
  startHelper(room, 'serve', { url: database.url }, message => {
    if (message.port) port = message.port
    else used.push({ ...message, at: now() })
  })
  await until(() => port !== undefined && used.length > 0, { what: 'the server' })

  const waits = { without: [], with: [] }
  for (let turn = 0; turn < rounds; turn++) {
    for (const who of ['without', 'with']) {
      const found = await load(who === 'with' ? clients : 0)
      waits[who].push(...found.waits)
      if (found.heard) judge(found, { say, hold, clients, seconds })
    }
  }
  for (const [who, all] of Object.entries(waits))
    say(
      `${who} ${who === 'with' ? grouped(clients) : 'any'} clients: pickup p50 ${round(part(all, 0.5), 2)} ms, p95 ${round(part(all, 0.95), 2)} ms, ` +
        `p99 ${round(part(all, 0.99), 2)} ms (${grouped(all.length)} jobs)`,
    )
  atMost('pickup p95 with them over without', part(waits.with, 0.95) / part(waits.without, 0.95), 1.5, ' ×')

  /** Runs a batch at the given pace, with `count` clients from before the first item. */
  async function load(count) {
    let crowd
    let first
    const offset = now() - Date.now()
    async function* items() {
      if (count > 0) crowd = await gather(count)
      first = Date.now() + aheadMs
      for (let n = 0; n < rate * seconds; n++) yield { at: first + Math.round((n * 1000) / rate) + offset }
    }
    await engine.submit(batch, items(), { each: ({ at }) => ({ runAt: new Date(at - offset) }) })
    if (Date.now() > first) say(`too slow: the first was due ${Date.now() - first} ms before all were submitted`)
    await until(() => Date.now() >= first)
    const from = used.at(-1)
    await untilFinished(database)
    const to = used.at(-1)
    const heard = await crowd?.reported
    const share = (to.cpuMs - from.cpuMs) / (to.at - from.at)
    return { waits: await worker.ask('waits'), heard, share, rss: to.rss }
  }

  /** Starts clients of the newest batch. Resolves when all clients have received an event. */
  async function gather(count) {
    const [{ id }] = await database.sql('select max(id)::text as id from retoma.batch')
    const began = now()
    let begun = 0
    const address = `http://127.0.0.1:${port}/api/v1/batches/${id}/events`
    const crowd = startHelper(room, 'clients', { address, clients: count }, shown => {
      begun = shown.begun
    })
    await until(() => begun === count, { what: 'all streams' })
    say(`${grouped(count)} streams open within ${round((now() - began) / 1000, 1)} s`)
    return crowd
  }
}

function judge({ heard, share, rss }, { say, hold, clients, seconds }) {
  say(
    `${grouped(heard.progress)} progress events heard, ${round(heard.progress / clients / seconds, 1)} a second by each; ` +
      `the server used ${round(share * 100)} % of a core and ${round(rss / 2 ** 20)} MB`,
  )
  hold(
    `each was shown the states of the batch once and in order, and the end: ${heard.reported} and ${heard.ended} of ${clients}`,
    heard.reported === clients && heard.ended === clients && heard.broken === 0,
  )
}
