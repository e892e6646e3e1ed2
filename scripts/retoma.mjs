/**
 * Any command of this checkout: `npm run -s retoma -- jobs list`. Set-up first, then the command line in this very
 * process, so that a signal sent to us is a signal sent to it.
 */
import { inRoot } from './lib/paths.mjs'
import { giveUp } from './lib/trouble.mjs'
import { setup } from './setup.mjs'

await setup({ build: true }).catch(giveUp)
process.argv[1] = inRoot('dist', 'cli', 'main.js')
await import('../dist/cli/main.js')
