/** Memory: a worker after a million jobs, and everything that `npm start` runs when there is nothing to do. */
import { createEngine } from '../../dist/index.js'
import { grouped, median } from '../lib/figures.mjs'
import { toEnqueue } from '../lib/jobs.mjs'
import { pssOf } from '../lib/pss.mjs'
import { until } from '../lib/until.mjs'
import { startWhole } from '../lib/whole.mjs'
import { startWorker } from '../lib/worker.mjs'

export const title = 'a worker after 1,000,000 no-op jobs stays flat under 150 MB; npm start idle takes under 400 MB'

const megabyte = 1e6
const backlog = 50_000

export async function prove(proof) {
  await worker(proof)
  await whole(proof)
}

async function worker({ room, scale, say, atMost }) {
  const total = 1_000_000 * scale
  const server = await room.server()
  const database = await server.database()
  const noop = toEnqueue('noop')
  const engine = await createEngine({ databaseUrl: database.url, jobs: [noop] })
  room.atEnd(() => engine.close())
  const reports = []
  const heard = report => reports.push(report)
  const one = await startWorker(room, { url: database.url, jobs: [{ name: 'noop' }], queues: { bench: 50 }, heard })
  const ran = () => reports.at(-1)?.ran ?? 0
  const input = Array.from({ length: 10_000 }, () => ({}))
  for (let sent = 0; sent < total; sent += input.length) {
    await until(() => sent - ran() < backlog)
    await engine.enqueueMany(noop, input)
  }
  await until(() => ran() >= total)
  const fifth = n => reports.filter(each => each.ran > (total / 5) * (n - 1) && each.ran <= (total / 5) * n)
  const rss = [1, 2, 3, 4, 5].map(n => median(fifth(n).map(each => each.rss)) / megabyte)
  say(`RSS in each fifth of ${grouped(total)} jobs, median: ${rss.map(each => each.toFixed(0)).join(', ')} MB`)
  atMost('its largest RSS', Math.max(...reports.map(each => each.rss)) / megabyte, 150, ' MB')
  atMost('its RSS in the last fifth over that in the second', rss[4] / rss[1], 1.1)
  await one.kill()
}

async function whole({ room, say, atMost }) {
  const started = await startWhole(room)
  const rows = await pssOf(started.pids())
  for (const { name, count, bytes } of rows) say(`${(bytes / megabyte).toFixed(0)} MB: ${count} × ${name}`)
  const sum = rows.reduce((all, each) => all + each.bytes, 0)
  atMost(
    'npm start idle, PostgreSQL and npm included (PSS: a shared page is split among its users)',
    sum / megabyte,
    400,
    ' MB',
  )
  await started.end()
}
