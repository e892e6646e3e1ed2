/**
 * Retoma beside its peers, in one run on one machine: `npm run bench` (or `node bench/run.mjs --jobs 50000 --rounds 5`).
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
    jobs: { type: 'string', default: '50000' },
    rounds: { type: 'string', default: '5' },
    concurrency: { type: 'string' },
    only: { type: 'string' },
    measure: { type: 'string' },
  },
})
const jobs = Number(asked.jobs)
const rounds = Number(asked.rounds)

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
    `\n${jobs} jobs, median of ${rounds} interleaved rounds; × is Retoma's figure over the peer's (for pickup the peer's over Retoma's)\n`,
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
      for (const measure of ['pickup', 'burnDown']) {
        if (!(each.measures ?? ['pickup', 'burnDown']).includes(measure)) continue
        if (asked.measure && asked.measure !== measure) continue
        Object.assign(row, await measured(server, redis, each, measure))
      }
      results.get(each.name).push(row)
      console.error(`round ${number}: ${each.name} ${JSON.stringify(row)}`)
    }
  }
  return results
}

async function measured(server, redis, each, measure) {
  const database = await server.database()
  await once(server.url, 'checkpoint')
  try {
    return await inChild('./child.mjs', {
      ...each,
      measure,
      url: each.mode === 'redis' ? redis : database.url,
      jobs: measure === 'pickup' ? (each.pickups ?? 300) : Math.round(jobs * (each.share ?? 1)),
      ...(asked.concurrency && each.name === 'retoma' ? { concurrency: Number(asked.concurrency) } : {}),
    })
  } finally {
    await database.drop()
  }
}
