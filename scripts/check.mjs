/**
 * `npm run check`, exactly as in CI: format and lint, types, unused code, import arrows, printed docs. All checks run at
 * once; prints the seconds of each check, and the output of each failed check.
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

// The build is necessary: the configuration and the examples import the package by name, and need the types.
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
