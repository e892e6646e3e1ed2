/**
 * Steps, beside DBOS: `node bench/steps.mjs` (or `--rounds 5 --jobs 4000 --only retoma`). Jobs of five steps, 100 at once; and
 * one job of many steps alone, against a bare insert and commit on one connection. Each in a process and a database of its own,
 * rounds interleaved, on the embedded PostgreSQL as it ships: fsync and synchronous_commit on.
 */
import { parseArgs } from 'node:util'
import { setup } from '../scripts/setup.mjs'
import { median } from './lib/figures.mjs'
import { inChild, installPeers } from './lib/peers.mjs'

const { values: asked } = parseArgs({
  options: {
    jobs: { type: 'string', default: '4000' },
    rounds: { type: 'string', default: '5' },
    only: { type: 'string' },
  },
})
const rounds = Number(asked.rounds)
const jobs = Number(asked.jobs)

/** `share`: of the jobs, so that a slower one takes about as long. */
const contenders = [
  { name: 'retoma', share: 1 },
  { name: 'dbos', share: 0.1 },
  { name: 'bare insert', script: 'bare-insert', share: 1 },
].filter(each => !asked.only || asked.only.split(',').includes(each.name))

await setup({ build: true })
installPeers()
const { once, openRoom } = await import('./lib/room.mjs')

const room = openRoom()
const results = new Map(contenders.map(each => [each.name, []]))
try {
  const server = await room.server()
  for (let number = 1; number <= rounds; number++) {
    for (const each of contenders) {
      const database = await server.database()
      await once(server.url, 'checkpoint')
      const task = { script: each.script ?? each.name, url: database.url, jobs: Math.round(jobs * each.share) }
      const row = await inChild('./steps-child.mjs', task).finally(() => database.drop())
      results.get(each.name).push(row)
      console.error(`round ${number}: ${each.name} ${JSON.stringify(row)}`)
    }
  }
} finally {
  await room.close()
}
print()

function print() {
  const figure = (name, field) => {
    const all = (results.get(name) ?? []).map(row => row[field]).filter(value => value !== undefined)
    return all.length === 0 ? undefined : median(all)
  }
  const cell = value => value?.toLocaleString('en', { maximumFractionDigits: 2 }) ?? ''
  const over = (one, other) => (one === undefined || other === undefined ? '' : (one / other).toFixed(2))
  console.log(
    `\nmedian of ${rounds} interleaved rounds; × is Retoma's figure over that one's (for latency, that one's over Retoma's)\n`,
  )
  console.log('| | steps/s, 100 jobs of five at once | × | ms a step, alone | × |\n|---|---|---|---|---|')
  for (const name of results.keys()) {
    const [rate, latency] = [figure(name, 'rate'), figure(name, 'latency')]
    const ratios = [over(figure('retoma', 'rate'), rate), over(latency, figure('retoma', 'latency'))]
    console.log(`| ${name} | ${cell(rate)} | ${ratios[0]} | ${cell(latency)} | ${ratios[1]} |`)
  }
  const promises = [
    [
      "steps a second over DBOS's",
      over(figure('retoma', 'rate'), figure('dbos', 'rate')),
      ratio => ratio >= 20,
      'at least 20',
    ],
    [
      'a step alone over a bare insert and commit',
      over(figure('retoma', 'latency'), figure('bare insert', 'latency')),
      ratio => ratio <= 2,
      'at most 2',
    ],
  ]
  console.log()
  for (const [what, ratio, holds, bound] of promises)
    if (ratio !== '') console.log(`${holds(Number(ratio)) ? 'held' : 'NOT held'}: ${what}: ${ratio}, ${bound}`)
}
