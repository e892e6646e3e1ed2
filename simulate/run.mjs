/**
 * `npm run simulate`, or `npm run simulate -- --seed 42 --steps 1500 --runs 20`. Runs the set-up, then main.ts from source. The
 * exit code is 1 if an invariant broke.
 */
import { parseArgs } from 'node:util'
import { createJiti } from 'jiti'
import { giveUp } from '../scripts/lib/trouble.mjs'
import { setup } from '../scripts/setup.mjs'

const usage = 'usage: npm run simulate -- [--seed N] [--steps N] [--runs N] [--story]'

function asked() {
  try {
    const { values } = parseArgs({
      options: {
        seed: { type: 'string', default: String(Date.now() % 1_000_000) },
        steps: { type: 'string', default: '1500' },
        runs: { type: 'string', default: '20' },
        story: { type: 'boolean', default: false },
      },
    })
    const numbers = { seed: Number(values.seed), steps: Number(values.steps), runs: Number(values.runs) }
    if (Object.values(numbers).every(each => Number.isInteger(each) && each >= 0))
      return { ...numbers, story: values.story }
    console.error(usage)
  } catch (error) {
    console.error(`${error.message}\n${usage}`)
  }
  process.exit(2)
}

const given = asked()
await setup({ build: true }).catch(giveUp)
const { play } = await createJiti(import.meta.url).import('./main.ts')
process.exit((await play(given, line => console.log(line))) ? 0 : 1)
