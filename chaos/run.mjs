/**
 * `npm run chaos`, or some scenarios: `npm run chaos -- kill cut --jobs 5000`. Real processes, real signals, and a real
 * PostgreSQL with `fsync`. Each scenario prints the actions and the broken promises; the exit code is 1 if any promise
 * broke. All scenarios take about 20 minutes.
 */
import { parseArgs } from 'node:util'
import { giveUp } from '../scripts/lib/trouble.mjs'
import { setup } from '../scripts/setup.mjs'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { jobs: { type: 'string', default: '20000' }, seed: { type: 'string' } },
})
const names = [
  ...['kill', 'steps', 'stop', 'cut', 'restart'],
  ...['orphans', 'hung', 'loop', 'forever', 'poison', 'killall', 'outage', 'crowd'],
]
const unknown = positionals.filter(name => !names.includes(name))
const jobs = Number(values.jobs)
if (unknown.length > 0 || !Number.isInteger(jobs) || jobs < 1) {
  console.error(`usage: npm run chaos -- [${names.join(' | ')}]… [--jobs N] [--seed N]`)
  process.exit(2)
}

// The start of every engine and worker is not part of the output.
process.env.LOG_LEVEL ??= 'warn'
await setup({ build: true }).catch(giveUp)
const { perform } = await import('./lib/stage.mjs')

const seed = values.seed === undefined ? Date.now() % 1_000_000 : Number(values.seed)
let broken = 0
for (const name of names.filter(each => positionals.length === 0 || positionals.includes(each))) {
  const scenario = await import(`./scenarios/${name}.mjs`)
  broken += await perform(name, scenario, { jobs, seed })
}
console.log(broken === 0 ? '\nevery promise held' : `\n${broken} broken (seed ${seed})`)
process.exitCode = broken === 0 ? 0 : 1
