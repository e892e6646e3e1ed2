/**
 * `npm run check`, exactly as CI runs it: format and lint, types, unused code, import arrows, printed docs. All at once;
 * each with its seconds, and the output of those that fail.
 */
import { endChildren, run } from './lib/children.mjs'
import { inRoot, root } from './lib/paths.mjs'
import { giveUp } from './lib/trouble.mjs'
import { setup } from './setup.mjs'

const bin = (...parts) => inRoot('node_modules', ...parts)

const checks = {
  'format and lint (biome)': [bin('@biomejs', 'biome', 'bin', 'biome'), 'ci', '--colors=off', '.'],
  'types (tsc)': [bin('typescript', 'bin', 'tsc'), '--noEmit'],
  'types of the dashboard (tsc)': [bin('typescript', 'bin', 'tsc'), '--noEmit', '-p', 'web'],
  'types of the browser tests (tsc)': [bin('typescript', 'bin', 'tsc'), '--noEmit', '-p', 'test/web'],
  'unused code (knip)': [bin('knip', 'bin', 'knip.js')],
  'import arrows (vitest)': [bin('vitest', 'vitest.mjs'), 'run', '--config', 'test/architecture/vitest.config.ts'],
  'printed docs': [inRoot('scripts', 'docs.mjs'), '--check'],
}

// Built too: the configuration and the examples import the package by its name, and so its types.
await setup({ build: true, examples: true }).catch(giveUp)
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.once(signal, () => endChildren().then(() => process.exit(1)))
}

const passed = await Promise.all(
  Object.entries(checks).map(async ([name, args]) => {
    const began = performance.now()
    const { ok, output } = await run(process.execPath, args, { cwd: root })
    const seconds = ((performance.now() - began) / 1000).toFixed(1)
    console.log(`${ok ? '✓' : '✗'} ${name} ${seconds} s`)
    if (!ok) console.log(`${output}\n`)
    return ok
  }),
)
process.exitCode = passed.every(Boolean) ? 0 : 1
