/**
 * 10,000 quotes with simulated providers, over a server and five worker processes of 20 quotes each, as compose.yaml runs them. The
 * statistics are sampled while the quotes run, and the connections are counted by the database.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { grouped, round } from '../lib/figures.mjs'
import { startProgram } from '../lib/program.mjs'
import { until } from '../lib/until.mjs'

export const title =
  '10,000 quotes over 5 workers of 20: all end, by_checkpoint adds up to total_processing in every sample, under 50 connections'

const samples = 200

export async function prove({ room, scale, say, hold, atMost }) {
  const server = await room.server()
  const database = await server.database()
  const total = Math.round(10_000 * scale)
  const start = args => startProgram(room, database, args, { RETOMA_CONNECTIONS: '3' })
  const door = start(['serve'])
  await until(() => /http:\/\/[\d.]+:\d+/.test(door.reported()), { seconds: 120, what: 'the address of the server' })
  const [address] = /http:\/\/[\d.]+:\d+/.exec(door.reported())
  const ask = async (path, body) => {
    const init = body && { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
    const response = await fetch(`${address}${path}`, init)
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
    return response.json()
  }
  for (let n = 0; n < 5; n++) start(['worker', '--queues', 'quotes:20'])
  await until(async () => (await database.sql(`select from retoma.worker where dead_at is null`)).length === 5, {
    seconds: 120,
    what: 'five workers',
  })
  const quotes = Array.from({ length: total }, (_, n) => ({ description: n % 5 === 0 ? vehicle(n) : `cadeira ${n}` }))
  const began = performance.now()
  const { id } = await ask('/api/quotes/batch', { quotes })
  const status = () => ask(`/api/system/batch-status/${id}`)

  let most = 0
  let isOver = false
  const watch = (async () => {
    while (!isOver) {
      const [{ n }] = await database.sql(
        `select count(*)::int as n from pg_stat_activity where datname = current_database() and application_name <> 'bench'`,
      )
      most = Math.max(most, n)
      await sleep(50)
    }
  })()
  let taken = 0
  let wrong = 0
  let atWork = 0
  const sample = async () => {
    const { total_processing: all, by_checkpoint: parts } = await ask('/api/system/processing-stats')
    if (Object.values(parts).reduce((sum, n) => sum + n, 0) !== all) wrong++
    if (all > 0) atWork++
    taken++
  }
  // A sample for each share of the batch that is over, so that the samples are spread over the whole run.
  let last
  await until(
    async () => {
      last = await status()
      while (taken < Math.min(samples, Math.floor((last.percent * samples) / 100) + 1)) await sample()
      return last.status === 'DONE' || last.error > 0
    },
    { everyMs: 200, seconds: 3600 },
  )
  while (taken < samples) await sample()
  isOver = true
  await watch
  const seconds = (performance.now() - began) / 1000
  say(`${grouped(total)} quotes in ${round(seconds)} s: ${round(total / seconds, 1)} quotes a second`)
  const stats = await ask('/api/system/processing-stats')
  say(`a quote takes ${stats.avg_processing_time_seconds} s on average`)
  hold(`all are DONE: ${grouped(last.done)}`, last.done === total)
  hold(`samples whose by_checkpoint does not add up: ${wrong} of ${taken} (${atWork} while quotes ran)`, wrong === 0)
  hold(`stuck at the end: ${stats.stuck_count}`, stats.stuck_count === 0)
  atMost('connections at any moment', most, 49)
}

const models = ['Fiat Strada Volcano 1.3', 'Toyota Corolla XEi 2.0', 'Chevrolet Onix LT 1.0', 'VW Gol 1.0 Flex']
const vehicle = n => `${models[n % models.length]} ${2010 + (n % 15)}`
