/**
 * Two tenants in the same queue: the first has 1,000,000 waiting jobs and running jobs; then ten jobs of the second arrive.
 * Measures the time from the enqueue to the start of the last of the ten, beside graphile-worker and pg-boss, each in a
 * separate process and database.
 */
import { grouped, round } from '../lib/figures.mjs'
import { inChild, installPeers } from '../lib/peers.mjs'

export const title = 'with 1,000,000 jobs of one tenant waiting, the ten jobs of another start within 2 s'

const contenders = [
  { name: 'retoma, fair turns', contender: 'retoma', fair: true },
  { name: 'retoma, without', contender: 'retoma', fair: false },
  { name: 'graphile-worker', contender: 'graphile' },
  { name: 'pg-boss', contender: 'pg-boss' },
  { name: 'pg-boss, groupConcurrency', contender: 'pg-boss', grouped: true },
]

export async function prove({ room, scale, say, hold, atMost }) {
  installPeers()
  const server = await room.server()
  for (const each of contenders) {
    const database = await server.database()
    const task = { ...each, url: database.url, waiting: Math.round(1_000_000 * scale), giveUpMs: 20_000 }
    const { startedMs, started, before, perSecond } = await inChild('./fair-child.mjs', task)
    const others = `${grouped(before)} jobs of the first tenant started meanwhile (${grouped(perSecond)}/s)`
    say(
      started === 10
        ? `${each.name}: the ten started within ${round(startedMs)} ms; ${others}`
        : `${each.name}: ${started} of the ten started within ${task.giveUpMs / 1000} s; ${others}`,
    )
    if (each.fair) {
      hold('all ten started', started === 10)
      atMost('the last of the ten started within', startedMs / 1000, 2, ' s')
    }
    await database.drop()
  }
}
