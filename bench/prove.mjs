/**
 * Proves the promises of the engine beyond speed on this machine: `npm run prove`, or some proofs with `npm run prove
 * -- --only pinned,tables`. Each proof prints figures and bounds; the exit code is 1 if a bound is broken. `--scale
 * 0.1` does a tenth of the work: for trying, not for proving.
 */
import { parseArgs } from 'node:util'
import { giveUp } from '../scripts/lib/trouble.mjs'
import { setup } from '../scripts/setup.mjs'
import { createVerdict } from './lib/verdict.mjs'

const names = [
  ...['pinned', 'tables', 'limits', 'fair', 'memory', 'idle', 'deploy'],
  ...['million', 'storm', 'pairs', 'resume', 'fivesteps'],
  ...['sse', 'http', 'ratelimit', 'metrics', 'reads', 'dashboard', 'upload', 'attack'],
  ...['classifier', 'classifier-turns', 'classifier-rerun', 'ocr', 'quotes', 'snaps', 'documents'],
]
const { values: asked } = parseArgs({ options: { only: { type: 'string' }, scale: { type: 'string', default: '1' } } })
const wanted = asked.only?.split(',') ?? names
const scale = Number(asked.scale)
if (wanted.some(name => !names.includes(name)) || !(scale > 0 && scale <= 1)) {
  console.error(`usage: npm run prove -- [--only ${names.join(',')}] [--scale 0.1]`)
  process.exit(2)
}

// The start of every engine and worker is not part of the output.
process.env.LOG_LEVEL ??= 'warn'
await setup({ build: true }).catch(giveUp)
const { openRoom } = await import('./lib/room.mjs')

const verdict = createVerdict()
for (const name of wanted) {
  const began = performance.now()
  const { title, prove } = await import(`./proofs/${name}.mjs`)
  console.log(`\n${name}: ${title}`)
  const room = openRoom()
  try {
    await prove({ room, scale, ...verdict })
  } catch (error) {
    verdict.hold(error.stack ?? String(error), false)
  }
  await room.close()
  console.log(`  (${((performance.now() - began) / 1000).toFixed(0)} s)`)
}
const { broken } = verdict
const partly = scale < 1 ? `, at ${scale} of the size that proves anything` : ''
console.log(broken === 0 ? `\nevery bound held${partly}` : `\n${broken} NOT held${partly}`)
process.exitCode = broken === 0 ? 0 : 1
