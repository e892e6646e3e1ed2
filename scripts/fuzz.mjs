/**
 * The fuzzer of the HTTP routes for the given time: `npm run fuzz -- --seconds 600 --seed 1 --runs 200`. Each round has a
 * separate seed and sends `runs` requests to each route; the first failed round ends the run and prints the seed for a replay.
 */
import { spawnSync } from 'node:child_process'
import { parseArgs } from 'node:util'
import { inRoot } from './lib/paths.mjs'
import { giveUp } from './lib/trouble.mjs'
import { setup } from './setup.mjs'

const { values: asked } = parseArgs({
  options: {
    seconds: { type: 'string', default: '600' },
    seed: { type: 'string', default: '1' },
    runs: { type: 'string', default: '200' },
  },
})
const [seconds, first, runs] = [asked.seconds, asked.seed, asked.runs].map(Number)
if (![seconds, first, runs].every(Number.isInteger)) {
  console.error('usage: npm run fuzz -- [--seconds 600] [--seed 1] [--runs 200]')
  process.exit(2)
}
await setup({ build: true }).catch(giveUp)

const files = [
  'test/http/fuzz.test.ts',
  'apps/classifier/fuzz.test.ts',
  'apps/quotes/fuzz.test.ts',
  'apps/documents/fuzz.test.ts',
  'apps/snaps/fuzz.test.ts',
  'apps/planner/fuzz.test.ts',
]
const began = performance.now()
let seed = first
do {
  const env = { ...process.env, FUZZ_SEED: String(seed), FUZZ_RUNS: String(runs) }
  const args = [inRoot('node_modules/vitest/vitest.mjs'), 'run', '--testTimeout=0', ...files]
  const { status } = spawnSync(process.execPath, args, { stdio: 'inherit', env, cwd: inRoot('.') })
  if (status !== 0) {
    console.error(`\nplay it again: npm run fuzz -- --seconds 0 --seed ${seed} --runs ${runs}`)
    process.exit(1)
  }
  seed++
} while (performance.now() - began < seconds * 1000)
console.log(`\n${seed - first} rounds, nothing found`)
