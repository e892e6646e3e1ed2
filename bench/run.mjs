/**
 * Retoma beside its peers, in one run on one machine: `npm run bench` (or `node bench/run.mjs --jobs 10000,100000 --rounds 5`).
 * Each burn-down is done with and without failing jobs, by a worker that starts on the backlog, by one that is there already, and
 * by one that has worked off such a burst before.
 * Rounds are interleaved, each contender in a process and a database of its own; the table gives medians and ratios.
 * The PostgreSQL is the embedded one with the settings it ships with, fsync and synchronous_commit on.
 */
import { parseArgs } from 'node:util'
import { setup } from '../scripts/setup.mjs'
import { contenders } from './lib/contenders.mjs'
import { inChild, installPeers } from './lib/peers.mjs'
import { startRedis } from './lib/redis.mjs'
import { printTable } from './lib/table.mjs'

const { values: asked } = parseArgs({
  options: {
    jobs: { type: 'string', default: '10000,30000,100000' },
    failing: { type: 'string', default: 'yes,no' },
    start: { type: 'string', default: 'cold,idle,warm' },
    paced: { type: 'string', default: '200,800,2000' },
    rounds: { type: 'string', default: '5' },
    concurrency: { type: 'string' },
    only: { type: 'string' },
    measure: { type: 'string' },
  },
})
const startLabels = { cold: '', idle: ', worker idle', warm: ', second burst' }
const list = text => text.split(',').filter(Boolean)
const sizes = list(asked.jobs).map(Number)
const rounds = Number(asked.rounds)

// The start of every engine and worker is not part of the output.
process.env.LOG_LEVEL ??= 'warn'
await setup({ build: true })
installPeers()
const { once, openRoom } = await import('./lib/room.mjs')

const room = openRoom()
try {
  const server = await room.server()
  const redis = await startRedis(room)
  if (!redis) console.error('no redis-server on PATH: BullMQ on Redis is left out')
  const results = await race(server, redis)
  console.log(
    `\nmedian of ${rounds} interleaved rounds; × is Retoma's figure over the peer's (for pickup the peer's over Retoma's)\n`,
  )
  printTable(results)
} finally {
  await room.close()
}

/** Each contender's name to the figures of its rounds. */
async function race(server, redis) {
  const racing = contenders
    .filter(each => each.mode !== 'redis' || redis)
    .filter(
      each => !asked.only || each.name === 'retoma' || asked.only.split(',').some(only => each.name.includes(only)),
    )
  const results = new Map(racing.map(each => [each.name, []]))
  for (let number = 1; number <= rounds; number++) {
    for (const each of racing) {
      const row = {}
      for (const task of tasksOf(each)) {
        const figures = await measured(server, redis, each, task)
        for (const [name, figure] of Object.entries(figures)) row[`${name}${task.label}`] = figure
      }
      results.get(each.name).push(row)
      console.error(`round ${number}: ${each.name} ${JSON.stringify(row)}`)
    }
  }
  return results
}

/** The measurements of a contender in a round. */
function tasksOf({ measures = ['pickup', 'paced', 'burnDown'], pickups = 300, most = Number.POSITIVE_INFINITY }) {
  const wanted = measure => measures.includes(measure) && (!asked.measure || list(asked.measure).includes(measure))
  const tasks = []
  if (wanted('pickup')) tasks.push({ measure: 'pickup', jobs: pickups, label: '' })
  if (wanted('paced'))
    for (const rate of list(asked.paced).map(Number)) tasks.push({ measure: 'paced', rate, label: ` at ${rate}/s` })
  if (wanted('burnDown'))
    for (const jobs of sizes.filter(size => size <= most))
      for (const failing of list(asked.failing))
        for (const start of list(asked.start))
          tasks.push({
            measure: 'burnDown',
            jobs,
            failing: failing === 'yes',
            start,
            label: labelOf({ jobs, failing, start }),
          })
  return tasks
}

function labelOf({ jobs, failing, start }) {
  return ` ${jobs.toLocaleString('en')}${failing === 'yes' ? ', 1 % failing' : ''}${startLabels[start]}`
}

async function measured(server, redis, each, task) {
  const database = await server.database()
  await once(server.url, 'checkpoint')
  try {
    return await inChild('./child.mjs', {
      ...each,
      ...task,
      url: each.mode === 'redis' ? redis : database.url,
      ...(asked.concurrency && each.name === 'retoma' ? { concurrency: Number(asked.concurrency) } : {}),
    })
  } finally {
    await database.drop()
  }
}
